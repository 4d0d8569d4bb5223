package stream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

const (
	// preface is how an HTTP/2 connection begins (RFC 9113, 3.4); no HTTP/1.1 method is PRI.
	preface = "PRI "
	// tlsHandshake is the first byte of a TLS connection (RFC 8446, 5.1). No HTTP method begins
	// with it.
	tlsHandshake = 22
)

// tlsRefused is the alert handshake_failure (RFC 8446, 6.2): a TLS client reports it, and does not
// wait for an answer.
var tlsRefused = []byte{21, 3, 3, 0, 2, 2, 40}

// splitter divides the connections of one listener between two servers, by their first bytes:
// HTTP/2 or HTTP/1.1, each plain or within TLS. It enforces the bounds of connections.
type splitter struct {
	from  net.Listener
	http1 *branch
	http2 *branch
	// tls is nil if connections are plain only.
	tls *tls.Config
	// patience is Config.beginTimeout.
	patience time.Duration
	// open bounds the accepted connections, refusals the refused ones whose clients are told the
	// reason.
	open, refusals *bounds
	metrics        *metrics
	done           chan struct{}
	once           sync.Once
}

func (s *Server) newSplitter(from net.Listener) *splitter {
	parts := &splitter{from: from, patience: s.cfg.beginTimeout, open: s.open, refusals: s.refusals, metrics: s.metrics, done: make(chan struct{})}
	if s.certificate != nil {
		// HTTP/1.1 is preferred, because gRPC clients offer HTTP/2 alone.
		parts.tls = s.certificate.Config("http/1.1", "h2")
	}
	parts.http1 = &branch{parts, make(chan net.Conn)}
	parts.http2 = &branch{parts, make(chan net.Conn)}
	return parts
}

// run accepts until the listener is closed.
func (s *splitter) run() error {
	for {
		conn, err := s.from.Accept()
		switch {
		case err == nil:
			s.take(conn)
		case errors.Is(err, net.ErrClosed):
			s.close()
			return nil
		default:
			// Too many open files, or a connection that was aborted: try again.
			select {
			case <-s.done:
				return nil
			case <-time.After(50 * time.Millisecond):
			}
		}
	}
}

// take takes over a new connection, or refuses it. A refused connection is sorted all the same, if
// refusals has room, so that it gets the reason in its own protocol. take does not wait.
func (s *splitter) take(conn net.Conn) {
	budget, why := s.open.enter(conn.RemoteAddr())
	if why == nil {
		go s.sort(s.peeked(conn, s.open, budget), s.patience)
		return
	}
	s.metrics.connectionsEnded.WithLabelValues(why.reason).Inc()
	budget, full := s.refusals.enter(conn.RemoteAddr())
	if full != nil {
		why.write(conn)
		_ = conn.Close()
		return
	}
	refused := s.peeked(conn, s.refusals, budget)
	refused.refused = why
	// A refused connection is closed even if the client reads no reason.
	time.AfterFunc(2*refusalTime, func() { _ = refused.Close() })
	go s.sort(refused, refusalTime)
}

// peeked wraps a connection. counted are the bounds that it counts for, nil for none.
func (s *splitter) peeked(conn net.Conn, counted *bounds, budget *budget) *peeked {
	return &peeked{Conn: conn, counted: counted, budget: budget, of: s, gone: make(chan struct{})}
}

// sort reads the first bytes of a connection and passes it on to the server that they are for. That
// server reads them again.
func (s *splitter) sort(conn *peeked, patience time.Duration) {
	if conn.pay(cost{frames: connectionFrames}) != nil {
		_ = conn.Close()
		return
	}
	sorted, to, reason := s.begin(conn, patience)
	if reason != "" {
		if conn.refused == nil {
			s.metrics.connectionsEnded.WithLabelValues(reason).Inc()
		}
		// A client that sent nothing has shown no protocol: it is answered in HTTP/1.1.
		if reason == endedSilent && len(sorted.head) == 0 {
			cmp.Or(conn.refused, errSilent).write(sorted)
		}
		_ = sorted.Close()
		return
	}
	select {
	case to.conns <- sorted:
	case <-s.done:
		_ = conn.Close()
	}
}

// begin returns the branch that a connection is for, or the reason why it is closed. sorted is conn
// itself or, if conn speaks TLS, the decrypted connection within it.
func (s *splitter) begin(conn *peeked, patience time.Duration) (sorted *peeked, to *branch, reason string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	until, _ := ctx.Deadline()
	if err := conn.SetDeadline(until); err != nil {
		return conn, nil, endedSilent
	}
	sorted = conn
	if first := conn.peek(1); len(first) == 1 && first[0] == tlsHandshake {
		if s.tls == nil {
			_, _ = conn.Write(tlsRefused) // the client may have left
			return conn, nil, endedNoTLS
		}
		secure := tls.Server(conn, s.tls)
		if secure.HandshakeContext(ctx) != nil {
			return conn, nil, endedHandshake
		}
		sorted = s.peeked(secure, nil, conn.budget)
		conn.budget = nil // sorted pays, for the decrypted bytes
	}
	first := string(sorted.peek(len(preface)))
	if len(first) < len(preface) || conn.SetDeadline(time.Time{}) != nil {
		return sorted, nil, endedSilent
	}
	if first == preface {
		sorted.traffic.http2 = true
		return sorted, s.http2, ""
	}
	return sorted, s.http1, ""
}

func (s *splitter) close() {
	s.once.Do(func() { close(s.done) })
	_ = s.from.Close()
}

// branch is the listener of one of the two servers. Closing one branch closes both, because the
// servers stop together.
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

// peeked is a connection whose first bytes were read already; Read returns them again.
type peeked struct {
	net.Conn
	head []byte
	// counted are the bounds that it counts for; nil for none.
	counted *bounds
	// refused is why the connection is refused; nil if it is not.
	refused *refusal
	// gone is closed when the connection is closed.
	gone    chan struct{}
	closing sync.Once
	// budget limits what the client sends; nil if there is no limit. Only Read uses traffic.
	budget  *budget
	traffic traffic
	of      *splitter
}

// peek returns the first n bytes, or as many as come. It must not be called after Read.
func (p *peeked) peek(n int) []byte {
	more := make([]byte, n-len(p.head))
	read, _ := io.ReadFull(p.Conn, more) // the next Read returns the error again
	p.head = append(p.head, more[:read]...)
	return p.head
}

// Read implements net.Conn. It returns the bytes that peek read first. It waits if the client sends
// faster than its budget allows.
func (p *peeked) Read(b []byte) (n int, err error) {
	if len(p.head) > 0 {
		n = copy(b, p.head)
		p.head = p.head[n:]
	} else {
		n, err = p.Conn.Read(b)
	}
	if p.budget != nil {
		if err := p.pay(p.traffic.count(b[:n])); err != nil {
			return 0, err
		}
	}
	return n, err
}

// RemoteAddr implements net.Conn. The address of a refused connection carries the reason of the
// refusal. A TLS connection has two peeked, one for the encrypted and one for the decrypted bytes.
// The second takes its address from the first, so it has the reason, too.
func (p *peeked) RemoteAddr() net.Addr {
	if p.refused != nil {
		return refusedAddr{p.Conn.RemoteAddr(), p.refused}
	}
	return p.Conn.RemoteAddr()
}

// Close implements net.Conn.
func (p *peeked) Close() error {
	p.closing.Do(func() {
		close(p.gone)
		if p.counted != nil {
			p.counted.Leave(p.Conn.RemoteAddr())
		}
	})
	return p.Conn.Close()
}
