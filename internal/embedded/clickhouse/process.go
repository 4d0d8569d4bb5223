package chengine

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// process is one child.
type process struct {
	pid    int
	stdin  io.Closer
	status chan childStatus // one value, or closed without one
	told   func(childReport)
	exited chan struct{}
	exit   error // valid when exited is closed
	stderr *stderrLog
	cmd    *exec.Cmd
}

// startProcess starts the executable that is running, as the engine's child. files are inherited as
// descriptors from 3 on, with the status pipe in second place. told gets the child's reports, one
// at a time.
func startProcess(spec childSpec, listener, lock *os.File, log *slog.Logger, lines prometheus.Counter, told func(childReport)) (*process, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode child configuration: %w", err)
	}
	statusRead, statusWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create status pipe: %w", err)
	}
	stderrRead, stderrWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create stderr pipe: %w", err), statusRead.Close(), statusWrite.Close())
	}
	// The link and not os.Executable's path: it leads to this very binary even when an upgrade has
	// replaced the file.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"mintlake-embedded-clickhouse"}
	cmd.Env = childEnvironment(os.Environ(), string(text))
	cmd.Stdout, cmd.Stderr = stderrWrite, stderrWrite
	cmd.ExtraFiles = []*os.File{listener, statusWrite, lock}
	cmd.SysProcAttr = childAttributes()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create stdin pipe: %w", err), statusRead.Close(), statusWrite.Close(), stderrRead.Close(), stderrWrite.Close())
	}
	p := &process{stdin: stdin, status: make(chan childStatus, 1), told: told, exited: make(chan struct{}), cmd: cmd, stderr: newStderrLog(log, lines)}
	started := make(chan error, 1)
	go p.run(started, stderrRead)
	err = <-started
	_ = statusWrite.Close() // the child has its own
	_ = stderrWrite.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start child process: %w", err), statusRead.Close(), stderrRead.Close())
	}
	p.pid = cmd.Process.Pid
	go p.readStatus(statusRead)
	return p, nil
}

// run starts the child and waits for it on one thread: the kernel sends the death signal when the
// thread that started the child ends, and Go may end threads that are not locked.
func (p *process) run(started chan<- error, stderr *os.File) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		p.stderr.forward(stderr)
	}()
	p.exit = p.cmd.Wait()
	<-drained
	_ = stderr.Close()
	close(p.exited)
}

// readStatus reads the child's word about its start, then its reports until it ends.
func (p *process) readStatus(pipe *os.File) {
	defer func() { _ = pipe.Close() }() // read only
	lines := json.NewDecoder(pipe)
	var status childStatus
	if lines.Decode(&status) == nil { // an end without a line is a child that died
		p.status <- status
	}
	close(p.status)
	for {
		var report childReport
		if lines.Decode(&report) != nil {
			return
		}
		p.told(report)
	}
}

// stop asks the child to end and kills it when it has not within timeout.
func (p *process) stop(timeout time.Duration) {
	_ = p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(timeout):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only when it is gone already
	<-p.exited
}

// waitStatus waits for the child's word about its start.
func (p *process) waitStatus(ctx context.Context, timeout time.Duration) (childStatus, error) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case status, ok := <-p.status:
		if ok {
			return status, nil
		}
		<-p.exited
		return childStatus{}, fmt.Errorf("the engine's process ended: %w", p.exitError())
	case <-timer.C:
		return childStatus{}, fmt.Errorf("not ready within %s", timeout)
	case <-ctx.Done():
		return childStatus{}, ctx.Err()
	}
}

func (p *process) exitError() error {
	if p.exit != nil {
		return p.exit
	}
	return errors.New("exit status 0")
}

// stderrLog forwards the child's stderr to the log and remembers the line that explains a failed
// start.
type stderrLog struct {
	log   *slog.Logger
	lines prometheus.Counter

	mu        sync.Mutex
	last      string
	exception string
}

// stderrBurst is how many lines a second are logged; a crash prints hundreds. All are counted.
const stderrBurst = 50

func newStderrLog(log *slog.Logger, lines prometheus.Counter) *stderrLog {
	return &stderrLog{log: log, lines: lines}
}

func (s *stderrLog) forward(r io.Reader) {
	reader := bufio.NewReaderSize(r, 16<<10)
	var second time.Time
	budget, dropped := 0, 0
	for {
		line, isPrefix, err := reader.ReadLine()
		for isPrefix && err == nil { // the rest of a line that is too long
			_, isPrefix, err = reader.ReadLine()
		}
		if text := strings.TrimSpace(string(line)); text != "" {
			s.lines.Inc()
			s.remember(text)
			if now := time.Now(); now.Sub(second) > time.Second {
				if dropped > 0 {
					s.log.Warn("embedded clickhouse wrote more than is logged", "lines", dropped)
				}
				second, budget, dropped = now, stderrBurst, 0
			}
			if budget > 0 {
				budget--
				s.log.Warn("embedded clickhouse", "line", text)
			} else {
				dropped++
			}
		}
		if err != nil {
			return
		}
	}
}

func (s *stderrLog) remember(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = line
	if strings.Contains(line, "DB::") || strings.Contains(line, "Exception") {
		s.exception = line
	}
}

// explanation is the engine's own last line about an exception, else its last line.
func (s *stderrLog) explanation() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exception != "" {
		return s.exception
	}
	return s.last
}
