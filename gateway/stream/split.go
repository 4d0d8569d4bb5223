package stream

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// preface is how an HTTP/2 connection begins (RFC 9113, 3.4); no HTTP/1.1 method is PRI.
const preface = "PRI "

// prefaceTimeout is how long a new connection may take to send its first bytes.
const prefaceTimeout = 10 * time.Second

// splitter gives the connections of one listener to two, by how they begin.
type splitter struct {
	from  net.Listener
	http1 *branch
	http2 *branch
	done  chan struct{}
	once  sync.Once
}

func newSplitter(from net.Listener) *splitter {
	s := &splitter{from: from, done: make(chan struct{})}
	s.http1 = &branch{s, make(chan net.Conn)}
	s.http2 = &branch{s, make(chan net.Conn)}
	return s
}

// run accepts until the listener is closed.
func (s *splitter) run() error {
	for {
		conn, err := s.from.Accept()
		switch {
		case err == nil:
			go s.sort(conn)
		case errors.Is(err, net.ErrClosed):
			s.close()
			return nil
		default:
			// Too many open files, an aborted connection: it passes.
			select {
			case <-s.done:
				return nil
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// sort reads the first bytes, which the server then reads again.
func (s *splitter) sort(conn net.Conn) {
	head := make([]byte, len(preface))
	_ = conn.SetReadDeadline(time.Now().Add(prefaceTimeout))
	if _, err := io.ReadFull(conn, head); err != nil {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	to := s.http1
	if string(head) == preface {
		to = s.http2
	}
	select {
	case to.conns <- &peeked{Conn: conn, head: head}:
	case <-s.done:
		_ = conn.Close()
	}
}

func (s *splitter) close() {
	s.once.Do(func() { close(s.done) })
	_ = s.from.Close()
}

// branch is one of the two listeners. Closing it closes both: the servers stop together.
type branch struct {
	splitter *splitter
	conns    chan net.Conn
}

// Accept implements net.Listener.
func (b *branch) Accept() (net.Conn, error) {
	select {
	case conn := <-b.conns:
		return conn, nil
	case <-b.splitter.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *branch) Close() error {
	b.splitter.close()
	return nil
}

// Addr implements net.Listener.
func (b *branch) Addr() net.Addr { return b.splitter.from.Addr() }

// peeked is a connection whose first bytes were read already.
type peeked struct {
	net.Conn
	head []byte
}

// Read gives the first bytes again, then goes on.
func (p *peeked) Read(b []byte) (int, error) {
	if len(p.head) > 0 {
		n := copy(b, p.head)
		p.head = p.head[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}
