package decoder

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// process is one child. One goroutine uses it at a time.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies *os.File
	reader  *bufio.Reader
	exited  chan struct{}
	exit    error // valid when exited is closed
	uses    int
	idle    *time.Timer
}

// startProcess starts the executable that is running, as a decoder. It inherits no environment, no
// folder and no descriptors but its own pipes.
func startProcess(spec childSpec) (*process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	repliesRead, repliesWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe: %w", err)
	}
	// The link and not os.Executable's path: it leads to this very binary even when an upgrade has
	// replaced the file.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"mintlake-decoder"}
	cmd.Env = []string{childEnv + "=" + string(text), "GOTRACEBACK=none"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{repliesWrite}
	// A group of its own: Ctrl-C is for the parent, which decides when its decoders end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create pipe: %w", err), repliesRead.Close(), repliesWrite.Close())
	}
	p := &process{cmd: cmd, stdin: stdin, replies: repliesRead, reader: bufio.NewReader(repliesRead), exited: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	_ = repliesWrite.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), repliesRead.Close())
	}
	return p, nil
}

// run starts the child and waits for it on one thread: the kernel sends the death signal when the
// thread that started the child ends, and Go may end threads that are not locked.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.exit = p.cmd.Wait()
	close(p.exited)
}

// cpu is the processor time that the child has taken since its start. The clock of another process:
// clock_getcpuclockid(3).
func (p *process) cpu() time.Duration {
	var spent unix.Timespec
	if unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|2), &spent) != nil {
		return 0 // it is gone: its pipe says so
	}
	return time.Duration(spent.Nano())
}

// close ends the child: politely, for it has nothing to lose.
func (p *process) close() {
	_ = p.stdin.Close()
	p.kill()
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it is gone already
	<-p.exited
	_ = p.stdin.Close()
	_ = p.replies.Close()
}

// alive says that the child has not ended by itself.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Why an exchange ended without a reply.
var (
	errCPU  = errors.New("processor time is used up")
	errWall = errors.New("no answer in time")
	errDied = errors.New("the decoder ended")
)

// exchange sends a request and waits for the reply, within a budget of processor time from begun on
// and of wall time in all. After an error the child is of no more use.
func (p *process) exchange(asked *request, body []byte, cpu, wall time.Duration) (given reply, made []byte, err error) {
	p.uses++
	began := make(chan time.Duration, 1)
	done := make(chan struct{})
	var failed error // valid when done is closed
	go func() {
		defer close(done)
		failed = func() error {
			if err := send(p.stdin, asked, body); err != nil {
				return err
			}
			if mark, err := p.reader.ReadByte(); err != nil || mark != begun {
				return fmt.Errorf("%w: no beginning", errDied)
			}
			began <- p.cpu()
			made, err = receive(p.reader, &given)
			return err
		}()
	}()
	end := time.NewTimer(wall)
	defer end.Stop()
	look := time.NewTimer(2 * wall) // set when the decoding begins
	defer look.Stop()
	var baseline time.Duration
	for {
		select {
		case <-done:
			if failed != nil {
				p.kill()
				return reply{}, nil, errors.Join(errDied, failed, p.exit)
			}
			return given, made, nil
		case baseline = <-began:
			look.Reset(cpu)
		case <-look.C:
			left := baseline + cpu - p.cpu()
			if left > 0 && p.alive() {
				// one core at most: it cannot be used up sooner
				look.Reset(max(left, 5*time.Millisecond))
				continue
			}
			if p.alive() {
				p.kill()
				<-done
				return reply{}, nil, fmt.Errorf("%w: %s", errCPU, cpu)
			}
		case <-end.C:
			p.kill()
			<-done
			return reply{}, nil, fmt.Errorf("%w: %s", errWall, wall)
		}
	}
}
