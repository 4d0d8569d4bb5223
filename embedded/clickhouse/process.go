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

// process is a child as its parent sees it.
type process struct {
	pid    int
	life   io.Closer        // the child ends when it is closed
	status chan childStatus // gets one value, or is closed without one if the child died before
	report func(childReport)
	exited chan struct{}
	exit   error // valid when exited is closed
	stderr *stderrLog
	cmd    *exec.Cmd
}

// startProcess starts the child process in which the engine runs. The child runs the same
// executable as this process. Its descriptors from 3 on are listener, the writing end of the status
// pipe, lock, and the reading end of the life pipe. The child ends when this process closes the
// other end of the life pipe, or dies. report is called with each of the child's reports, one at a
// time.
func startProcess(spec childSpec, listener, lock *os.File, log *slog.Logger, lines prometheus.Counter, report func(childReport)) (*process, error) {
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
	lifeRead, lifeWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create life pipe: %w", err), statusRead.Close(), statusWrite.Close(), stderrRead.Close(), stderrWrite.Close())
	}
	// Not os.Executable: this link leads to the running binary even if an upgrade has replaced the
	// file.
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{"mintlake-embedded-clickhouse"}
	cmd.Env = childEnvironment(os.Environ(), string(text))
	cmd.Stdout, cmd.Stderr = stderrWrite, stderrWrite
	// Standard input stays /dev/null. The engine is a command-line client inside: now and then it
	// looks there for more rows of an INSERT, and an open pipe would hold the INSERT for ever.
	cmd.ExtraFiles = []*os.File{listener, statusWrite, lock, lifeRead}
	cmd.SysProcAttr = childAttributes()
	p := &process{life: lifeWrite, status: make(chan childStatus, 1), report: report, exited: make(chan struct{}), cmd: cmd, stderr: newStderrLog(log, lines)}
	started := make(chan error, 1)
	go p.run(started, stderrRead)
	err = <-started
	_ = statusWrite.Close() // the child has its own
	_ = stderrWrite.Close()
	_ = lifeRead.Close()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start child process: %w", err), statusRead.Close(), stderrRead.Close(), lifeWrite.Close())
	}
	p.pid = cmd.Process.Pid
	go p.readStatus(statusRead)
	return p, nil
}

// run starts the child and waits for it, all on one locked thread. The kernel sends the death
// signal (Pdeathsig) when the thread that started the child ends, and Go may end threads that are
// not locked.
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
	_ = p.life.Close()
	<-drained
	_ = stderr.Close()
	close(p.exited)
}

// readStatus reads the child's status of its start, then its reports until it ends.
func (p *process) readStatus(pipe *os.File) {
	defer func() { _ = pipe.Close() }() // read only
	lines := json.NewDecoder(pipe)
	var status childStatus
	if lines.Decode(&status) == nil { // else the child died without a status
		p.status <- status
	}
	close(p.status)
	for {
		var report childReport
		if lines.Decode(&report) != nil {
			return
		}
		p.report(report)
	}
}

// stop asks the child to end, and kills it after timeout.
func (p *process) stop(timeout time.Duration) {
	_ = p.life.Close()
	select {
	case <-p.exited:
	case <-time.After(timeout):
		p.kill()
	}
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill() // fails only if it has ended already
	<-p.exited
}

// waitStatus waits for the child's status of its start.
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

// exitError says how the child ended. exited must be closed.
func (p *process) exitError() error {
	if p.exit != nil {
		return p.exit
	}
	return errors.New("exit status 0")
}

// stderrLog copies the child's stderr to the log, and remembers the line that explains a failed
// start.
type stderrLog struct {
	log   *slog.Logger
	lines prometheus.Counter

	mu        sync.Mutex
	last      string
	exception string
}

// stderrBurst is how many lines are logged in a second. A crash prints hundreds of lines. The
// metric counts all of them.
const stderrBurst = 50

func newStderrLog(log *slog.Logger, lines prometheus.Counter) *stderrLog {
	return &stderrLog{log: log, lines: lines}
}

// forward logs and counts the lines of r until its end. Lines of more than 16 KiB are cut.
func (s *stderrLog) forward(r io.Reader) {
	reader := bufio.NewReaderSize(r, 16<<10)
	var second time.Time
	budget, dropped := 0, 0
	for {
		line, isPrefix, err := reader.ReadLine()
		for isPrefix && err == nil { // skip the rest of a long line
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

// explanation returns the last line about an exception, or else the last line.
func (s *stderrLog) explanation() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.exception != "" {
		return s.exception
	}
	return s.last
}
