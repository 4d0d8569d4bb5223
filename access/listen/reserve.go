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

// A connection in reserve has reserveTime to ask, and as long to take its one answer. Its head may
// have reserveHead bytes.
const (
	reserveTime = time.Second
	reserveHead = 4 << 10
)

// IsProbe reports whether a request may be answered on a connection in reserve.
func IsProbe(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz") && r.ContentLength == 0
}

// WithReserve returns a listener of the connections that admit admits. If admit returns nil and a
// function instead, the connection is beyond a limit, and in reserve: if it asks for /healthz or
// /readyz it is accepted after all, for this one answer. Otherwise the function refuses and closes
// it. If the reserve is full, the one that has been silent longest gives way. So neither those who
// hold all connections nor those who open more keep a probe from its answer.
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
	silent    []net.Conn // have not asked yet, in the order in which they came
	answering int
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

// hand passes on what Accept returns; false if nobody accepts any more.
func (r *reserve) hand(a accepted) bool {
	select {
	case r.accepted <- a:
		return true
	case <-r.done:
		return false
	}
}

// enter puts a connection in reserve. It returns false if there is no room.
func (r *reserve) enter(conn net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.silent)+r.answering >= Reserved {
		if len(r.silent) == 0 {
			return false
		}
		_ = r.silent[0].SetReadDeadline(time.Unix(1, 0)) // listen then refuses it
		r.silent = slices.Delete(r.silent, 0, 1)
	}
	r.silent = append(r.silent, conn)
	_ = conn.SetReadDeadline(time.Now().Add(reserveTime))
	return true
}

// listen reads the request of a connection in reserve.
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

// leave notes that a connection is not silent any more, and reports whether it is to be answered.
// One that had to give way is not.
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

// probe is a connection in reserve that has asked. The server reads one request, after which it
// closes. Nothing extends the connection's time.
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
