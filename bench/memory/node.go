package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// node is a running `mintlake api`.
type node struct {
	command *exec.Cmd
	url     string
	log     *os.File
}

func startNode(ctx context.Context, o *options, b *backends) (*node, error) {
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(o.folder, "node.log"))
	if err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	n := &node{url: "http://" + addr, log: log}
	//nolint:gosec // the binary to measure
	n.command = exec.CommandContext(ctx, o.binary, "api", "--kafka-brokers", b.broker.Addr(), "--clickhouse-dsn", b.engine.DSN(),
		"--api-addr", addr, "--metrics-addr", "127.0.0.1:0", "--rate-limits-enabled=false", "--data-dir", nodeFolder(o))
	n.command.Stdout, n.command.Stderr = log, log
	if err := n.command.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	return n, nil
}

// nodeFolder is the node's data folder, in which it keeps its checkpoint.
func nodeFolder(o *options) string { return filepath.Join(o.folder, "node") }

func freeAddr(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}

// awaitReady waits until /readyz answers with 200. If the node ends before, the error has its log.
func (n *node) awaitReady(ctx context.Context) error {
	for {
		if response, err := http.Get(n.url + "/readyz"); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := n.command.Process.Signal(syscall.Signal(0)); err != nil || ctx.Err() != nil {
			text, _ := os.ReadFile(n.log.Name())
			return fmt.Errorf("the node is not ready: %w\n%.3000s", errEnded, text)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

var errEnded = fmt.Errorf("it ended")

func (n *node) stop() {
	_ = n.command.Process.Signal(os.Interrupt)
	_ = n.command.Wait()
	_ = n.log.Close()
}

// memory returns the node's resident memory, now and at its highest, in MiB.
func (n *node) memory() (now, highest int) {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(n.command.Process.Pid), "status"))
	for line := range strings.SplitSeq(string(text), "\n") {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			now = kib / 1024
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			highest = kib / 1024
		}
	}
	return now, highest
}

// processorTime returns the processor time that the node has used so far on all cores. Other
// processes do not change it, unlike the wall clock.
func (n *node) processorTime() time.Duration {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(n.command.Process.Pid), "stat"))
	_, fields, _ := strings.Cut(string(text), ") ")
	list := strings.Fields(fields)
	if len(list) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(list[11])
	system, _ := strconv.Atoi(list[12])
	return time.Duration(user+system) * (time.Second / 100) // Linux counts hundredths
}

// status is what the bench reads of GET /status.
type status struct {
	Freshness struct {
		P50   *int64 `json:"p50_ms"`
		P99   *int64 `json:"p99_ms"`
		Count uint64 `json:"count"`
	} `json:"freshness"`
	Root struct {
		Hash *string `json:"hash"`
	} `json:"root"`
	Checkpoint struct {
		Loaded  bool    `json:"loaded"`
		Bytes   *int64  `json:"bytes"`
		Refused *string `json:"refused"`
		Failed  *string `json:"failed"`
	} `json:"checkpoint"`
}

func (n *node) status() (s status, err error) {
	response, err := http.Get(n.url + "/status")
	if err != nil {
		return s, fmt.Errorf("read status: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read status: %w", err)
	}
	return s, nil
}
