package listen

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Reserved is how many connections beyond its limits a listener keeps for probes.
const Reserved = 64

// A connection in reserve has reserveTime to send its request, and as long again to take the
// answer. The request may have reserveHead bytes.
const (
	reserveTime = time.Second
	reserveHead = 4 << 10
)

// IsProbe reports whether a request may be answered on a connection in reserve.
func IsProbe(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") && r.ContentLength == 0
}

// WithReserve returns a listener of the connections that admit admits. If admit returns the
// function refuse instead, the connection is beyond a limit. It is then held in reserve until its
// request is read. A request for /healthz or /readyz is a probe: the connection is accepted after
// all, for this one answer. Any other connection is given to refuse, which must close it. If the
// reserve is full, the connection that has sent no request for the longest time is refused. So a
// probe gets its answer, whoever holds all connections or opens more of them.
func WithReserve(l net.Listener, admit func(net.Conn) (admitted net.Conn, refuse func())) net.Listener {
	return &reserve{Listener: l, admit: admit, accepted: make(chan accepted), done: make(chan struct{})}
}

type accepted struct {
	conn net.Conn
	err  error
}

type reserve struct {
	net.Listener

	admit    func(net.Conn) (net.Conn, func())
	accepted chan accepted
	done     chan struct{}
	start    sync.Once
	stop     sync.Once

	mu        sync.Mutex
	silent    []net.Conn // have not sent a request yet, the oldest first
	answering int        // probes that are being answered
}

// Accept implements net.Listener.
func (r *reserve) Accept() (net.Conn, error) {
	r.start.Do(func() { go r.run() })
	select {
	case a := <-r.accepted:
		return a.conn, a.err
	case <-r.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (r *reserve) Close() error {
	r.stop.Do(func() { close(r.done) })
	return r.Listener.Close()
}

// run accepts connections until the listener is closed, and hands on those that are admitted.
func (r *reserve) run() {
	for {
		conn, err := r.Listener.Accept()
		if err != nil {
			if !r.hand(accepted{err: err}) {
				return
			}
			continue
		}
		admitted, refuse := r.admit(conn)
		switch {
		case refuse == nil:
			if !r.hand(accepted{conn: admitted}) {
				_ = admitted.Close()
			}
		case r.enter(conn):
			go r.listen(conn, refuse)
		default:
			refuse()
		}
	}
}

// hand gives a connection or an error to Accept. It returns false if the listener is closed.
func (r *reserve) hand(a accepted) bool {
	select {
	case r.accepted <- a:
		return true
	case <-r.done:
		return false
	}
}

// enter puts a connection in reserve. It returns false if the reserve is full of probes that are
// being answered.
func (r *reserve) enter(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.silent)+r.answering >= Reserved {
		if len(r.silent) == 0 {
			return false
		}
		_ = r.silent[0].SetReadDeadline(time.Unix(1, 0)) // ends its read, so listen refuses it
		r.silent = slices.Delete(r.silent, 0, 1)
	}
	r.silent = append(r.silent, conn)
	_ = conn.SetReadDeadline(time.Now().Add(reserveTime))
	return true
}

// listen reads the request of a connection in reserve. It hands a probe to Accept, and refuses any
// other connection.
func (r *reserve) listen(conn net.Conn, refuse func()) {
	request, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, reserveHead)))
	if !r.leave(conn, err == nil && IsProbe(request)) {
		refuse()
		return
	}
	until := time.Now().Add(reserveTime)
	_ = conn.SetDeadline(until)
	p := &probe{Conn: conn, until: until, leave: sync.OnceFunc(r.answered)}
	host := ""
	if request.Host != "" { // HTTP/1.0 needs none
		host = "Host: " + request.Host + "\r\n"
	}
	p.head.Reset(fmt.Sprintf("%s %s %s\r\n%sConnection: close\r\n\r\n", request.Method, request.URL.Path, request.Proto, host))
	if !r.hand(accepted{conn: p}) {
		_ = p.Close()
	}
}

// leave notes that the read of a connection's request has ended, and reports whether the connection
// is to be answered. It is not if its request is no probe, or if enter has made it give way.
func (r *reserve) leave(conn net.Conn, isProbe bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := slices.Index(r.silent, conn)
	if at < 0 {
		return false
	}
	r.silent = slices.Delete(r.silent, at, at+1)
	if isProbe {
		r.answering++
	}
	return isProbe
}

func (r *reserve) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answering--
}

// probe is a connection in reserve whose request is a probe. The server reads head, which is the
// request written anew with Connection: close, so it answers once and closes. No deadline that the
// server sets is later than until.
type probe struct {
	net.Conn

	head  strings.Reader
	until time.Time
	leave func()
}

// Read implements net.Conn.
func (p *probe) Read(b []byte) (int, error) {
	if p.head.Len() > 0 {
		return p.head.Read(b)
	}
	return p.Conn.Read(b)
}

func (p *probe) sooner(t time.Time) time.Time {
	if t.IsZero() || t.After(p.until) {
		return p.until
	}
	return t
}

// SetDeadline implements net.Conn.
func (p *probe) SetDeadline(t time.Time) error { return p.Conn.SetDeadline(p.sooner(t)) }

// SetReadDeadline implements net.Conn.
func (p *probe) SetReadDeadline(t time.Time) error { return p.Conn.SetReadDeadline(p.sooner(t)) }

// SetWriteDeadline implements net.Conn.
func (p *probe) SetWriteDeadline(t time.Time) error { return p.Conn.SetWriteDeadline(p.sooner(t)) }

// Close implements net.Conn.
func (p *probe) Close() error {
	defer p.leave()
	return p.Conn.Close()
}
