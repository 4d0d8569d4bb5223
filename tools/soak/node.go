package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// node is a running `mintlake up`.
type node struct {
	command                         *exec.Cmd
	api, metrics, kafka, clickhouse string
	stopping                        sync.Once
	ended                           chan struct{}
}

// start runs every room on free ports and waits for the addresses. Its log goes to
// OUT/mintlake.log.
func start(ctx context.Context, o *options, source string) (*node, error) {
	log, err := os.OpenFile(filepath.Join(o.out, "mintlake.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own
	args := []string{"up", "--data-dir", o.dataDir, "--source", source}
	for _, address := range []string{"api", "swap", "rpc", "stream", "metrics", "kafka", "clickhouse"} {
		args = append(args, "--"+address+"-addr", "127.0.0.1:0")
	}
	command := exec.Command(o.mintlake, append(args, o.args...)...)
	command.Stderr = log
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	n := &node{command: command, ended: make(chan struct{})}
	addresses := make(chan string, 1)
	go func() {
		defer close(n.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "addresses "); ok {
				addresses <- text
			}
		}
		_, _ = io.Copy(io.Discard, out)
		_ = command.Wait() // how it ended is in the log
	}()
	select {
	case text := <-addresses:
		n.take(text)
		return n, nil
	case <-n.ended:
		return nil, errors.New("mintlake did not start, see mintlake.log in " + o.out)
	case <-time.After(3 * time.Minute):
	case <-ctx.Done():
	}
	n.stop()
	return nil, errors.New("mintlake did not say where it listens")
}

// take reads name=url pairs.
func (n *node) take(text string) {
	for pair := range strings.FieldsSeq(text) {
		name, url, _ := strings.Cut(pair, "=")
		switch name {
		case "api":
			n.api = url
		case "metrics":
			n.metrics = url
		case "kafka":
			n.kafka = url
		case "clickhouse":
			n.clickhouse = url
		}
	}
}

func (n *node) pid() int { return n.command.Process.Pid }

// engine returns the id of the process of the embedded ClickHouse, or 0 if there is none.
func (n *node) engine() int {
	// Glob fails only for a malformed pattern.
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", n.pid()))
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue
		}
		for child := range strings.FieldsSeq(string(text)) {
			name, err := os.ReadFile("/proc/" + child + "/cmdline")
			if err == nil && strings.HasPrefix(string(name), "mintlake-embedded-clickhouse") {
				pid, _ := strconv.Atoi(child) // the kernel writes digits
				return pid
			}
		}
	}
	return 0
}

// stop ends the node, by force after a minute.
func (n *node) stop() {
	n.stopping.Do(func() {
		_ = n.command.Process.Signal(syscall.SIGTERM) // fails only when it is gone
		select {
		case <-n.ended:
		case <-time.After(time.Minute):
			_ = n.command.Process.Kill()
			<-n.ended
		}
	})
}
