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

// process is a child as its parent sees it. Only one goroutine may use it at a time.
type process struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	replies *os.File
	reader  *bufio.Reader
	exited  chan struct{}
	exit    error       // valid when exited is closed
	uses    int         // requests so far
	idle    *time.Timer // ends the child when it has been in the pool for long
}

// startProcess starts the running executable as a decoder. The child inherits no environment, and
// no file descriptors but its own pipes.
func startProcess(spec childSpec) (*process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	repliesRead, repliesWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create pipe: %w", err)
	}
	// Not os.Executable: this link leads to the running binary even if an upgrade has replaced the
	// file.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"mintlake-decoder"}
	cmd.Env = []string{childEnv + "=" + string(text), "GOTRACEBACK=none"}
	cmd.Dir = "/"
	cmd.ExtraFiles = []*os.File{repliesWrite}
	// A process group of its own: Ctrl-C reaches only the parent, which decides when its decoders
	// end.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create pipe: %w", err), repliesRead.Close(), repliesWrite.Close())
	}
	p := &process{cmd: cmd, stdin: stdin, replies: repliesRead, reader: bufio.NewReader(repliesRead), exited: make(chan struct{})}
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	_ = repliesWrite.Close() // the child has its own copy
	if err != nil {
		_ = stdin.Close() // Start closes it too when it fails, but run may have failed before Start
		return nil, errors.Join(fmt.Errorf("start: %w", err), repliesRead.Close())
	}
	return p, nil
}

// run starts the child and waits for its end, all on one locked thread. The kernel sends the death
// signal (Pdeathsig) when the thread that started the child ends, and Go may end threads that are
// not locked. PR_SET_NO_NEW_PRIVS takes the right to gain privileges from one thread and from the
// processes that it starts, so all threads of the child lack it. (The child itself could set it for
// one of its threads only.) As the thread has lost that right, run never unlocks it: Go then ends
// the thread together with run, and runs nothing else on it.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = p.cmd.Start()
	}
	started <- err
	if err != nil {
		return
	}
	p.exit = p.cmd.Wait()
	close(p.exited)
}

// cpu returns the processor time that the child has used. The ID of another process's clock is
// computed as clock_getcpuclockid(3) does.
func (p *process) cpu() time.Duration {
	var spent unix.Timespec
	if unix.ClockGettime(int32(^p.cmd.Process.Pid<<3|2), &spent) != nil {
		return 0 // the child has ended: the next read of its pipe fails
	}
	return time.Duration(spent.Nano())
}

// kill ends the child and waits for its end. The child has no state to lose.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if the child has ended already
	<-p.exited
	_ = p.stdin.Close()
	_ = p.replies.Close()
}

// alive reports whether the child is still running.
func (p *process) alive() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Reasons why an exchange ended without a reply.
var (
	errCPU  = errors.New("processor time is used up")
	errWall = errors.New("no answer in time")
	errDied = errors.New("the decoder ended")
)

// exchange sends a request and waits for the reply. cpu bounds the processor time after the child
// has sent the byte begun, wall the time of the whole exchange. After an error the child must not
// be used again.
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
	wallTimer := time.NewTimer(wall)
	defer wallTimer.Stop()
	cpuTimer := time.NewTimer(2 * wall) // later than wallTimer; reset when the decoding begins
	defer cpuTimer.Stop()
	var baseline time.Duration // the child's processor time at begun
	for {
		select {
		case <-done:
			if failed != nil {
				p.kill()
				return reply{}, nil, errors.Join(errDied, failed, p.exit)
			}
			return given, made, nil
		case baseline = <-began:
			cpuTimer.Reset(cpu)
		case <-cpuTimer.C:
			left := baseline + cpu - p.cpu()
			if left > 0 && p.alive() {
				// The child uses one core at most, so the timer may wait for left: the budget
				// cannot be used up sooner.
				cpuTimer.Reset(max(left, 5*time.Millisecond))
				continue
			}
			if p.alive() { // otherwise the goroutine's read fails, and done is closed next
				p.kill()
				<-done
				return reply{}, nil, fmt.Errorf("%w: %s", errCPU, cpu)
			}
		case <-wallTimer.C:
			p.kill()
			<-done
			return reply{}, nil, fmt.Errorf("%w: %s", errWall, wall)
		}
	}
}
