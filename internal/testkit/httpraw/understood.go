package httpraw

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the script is part of this package
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// Request is what a server understood of a request that it read whole.
type Request struct {
	Method string `json:"method"`
	Target string `json:"target"` // as it was sent
	Body   []byte `json:"body"`
}

// Prefix reports whether the requests of a are the first requests of b.
func Prefix(a, b []Request) bool {
	return len(a) <= len(b) && slices.EqualFunc(a, b[:len(a)], func(a, b Request) bool {
		return a.Method == b.Method && a.Target == b.Target && bytes.Equal(a.Body, b.Body)
	})
}

// Log collects what the handlers of one server under test read, by connection. Its methods may be
// called by several goroutines.
type Log struct {
	mu  sync.Mutex
	all map[string][]Request // by the client's address
}

// Add notes a request of the client at from.
func (l *Log) Add(from string, r Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string][]Request{}
	}
	l.all[from] = append(l.all[from], r)
}

// Send sends message to the server at addr on a connection of its own, and returns what came back
// until the server closed it. from is the connection's address at the client. If the server has not
// closed the connection after a minute, that is an error.
func Send(ctx context.Context, addr string, message []byte) (answer []byte, from net.Addr, err error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("dial: %w", err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	_, _ = conn.Write(message) // a server may close at once
	_ = conn.(*net.TCPConn).CloseWrite()
	answer, err = io.ReadAll(conn)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() { //nolint:errorlint // net's own
		return answer, nil, fmt.Errorf("%q is not answered and not refused", message)
	}
	return answer, conn.LocalAddr(), nil // a reset is an end as well
}

// Understood sends message to the server at addr, whose handlers add to the log, and returns what
// they read.
func (l *Log) Understood(ctx context.Context, addr string, message []byte) ([]Request, error) {
	_, from, err := Send(ctx, addr, message)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	read := l.all[from.String()]
	delete(l.all, from.String())
	return read, nil
}

//go:embed llhttp.js
var script string

// ByLLHTTP returns what Node's HTTP server, with llhttp at its strict default, understands of each
// message.
func ByLLHTTP(ctx context.Context, messages [][]byte) ([][]Request, error) {
	var in bytes.Buffer
	for _, message := range messages {
		in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(message))))
		in.Write(message)
	}
	var problems bytes.Buffer
	node := exec.CommandContext(ctx, "node", "-e", script) //nolint:gosec // ours
	node.Stdin, node.Stderr = &in, &problems
	out, err := node.Output()
	if err != nil {
		return nil, fmt.Errorf("node: %w: %s", err, problems.Bytes())
	}
	var understood [][]Request
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var line struct {
			Seen []Request `json:"seen"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("node: %w", err)
		}
		understood = append(understood, line.Seen)
	}
	if len(understood) != len(messages) {
		return nil, fmt.Errorf("node understood %d of %d messages: %s", len(understood), len(messages), problems.Bytes())
	}
	return understood, nil
}
