package kafkatest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a broker in a process of its own.
type process struct {
	t       testing.TB
	dir     string
	command []string

	cmd   *exec.Cmd
	stdin io.Closer
	pid   int
}

// supervise is a shell script that runs its arguments, and kills that process when its own standard
// input ends. That also happens if the test binary is killed. It prints the process's id on its
// first line.
const supervise = `exec 3<&0; "$@" </dev/null >&2 3<&- & pid=$!; echo "$pid"
{ cat <&3; kill -9 $pid; } >/dev/null 2>&1 &
exec 3<&- </dev/null >/dev/null; wait $pid`

// newProcess starts a process that ends with the test.
func newProcess(t testing.TB, dir string, command []string) *process {
	t.Helper()
	p := &process{t: t, dir: dir, command: command}
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			p.printLog()
		}
	})
	p.Start()
	return p
}

// Start implements runner.
func (p *process) Start() {
	p.t.Helper()
	if p.cmd != nil {
		p.t.Fatal("start kafka: it runs already")
	}
	logFile, err := os.OpenFile(p.logName(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		p.t.Fatalf("start kafka: %v", err)
	}
	defer func() { _ = logFile.Close() }()
	cmd := exec.Command("sh", append([]string{"-c", supervise, "sh"}, p.command...)...) //nolint:gosec // our own command
	cmd.Stderr = logFile
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatalf("start kafka: %v", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatalf("start kafka: %v", err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatalf("start kafka: %v", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		p.t.Fatalf("start kafka: read process id: %v", err)
	}
	p.cmd, p.stdin = cmd, stdin
	if p.pid, err = strconv.Atoi(strings.TrimSpace(line)); err != nil {
		p.t.Fatalf("start kafka: %v", err)
	}
}

// Kill implements runner.
func (p *process) Kill() { p.end(syscall.SIGKILL) }

// Stop implements runner.
func (p *process) Stop() { p.end(syscall.SIGTERM) }

// Pause implements runner.
func (p *process) Pause() {
	p.t.Helper()
	_ = syscall.Kill(p.pid, syscall.SIGSTOP)
	// Kill returns before the signal has taken effect: wait until the kernel shows every thread
	// stopped.
	for deadline := time.Now().Add(2 * time.Minute); !p.stopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatal("pause kafka: it runs on")
		}
	}
}

// stopped reports whether no thread of the broker runs. It is also true if there is no /proc.
func (p *process) stopped() bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.pid))
	if err != nil {
		return true
	}
	for _, thread := range threads {
		if stat, err := os.ReadFile(thread); err == nil && !bytes.Contains(stat, []byte(") T ")) {
			return false
		}
	}
	return true
}

// Resume implements runner.
func (p *process) Resume() { _ = syscall.Kill(p.pid, syscall.SIGCONT) }

func (p *process) end(signal syscall.Signal) {
	if p.cmd == nil {
		return
	}
	_ = syscall.Kill(p.pid, signal)
	_ = p.cmd.Wait() // a signal is no failure
	_ = p.stdin.Close()
	p.cmd = nil
}

func (p *process) logName() string { return filepath.Join(p.dir, "broker.log") }

func (p *process) printLog() {
	text, err := os.ReadFile(p.logName())
	if err != nil {
		return
	}
	const most = 8 << 10
	if len(text) > most {
		text = text[len(text)-most:]
	}
	p.t.Logf("end of the broker's log:\n%s", text)
}

// run runs a command to its end and returns the last line it printed.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...) //nolint:gosec // our own commands
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}
