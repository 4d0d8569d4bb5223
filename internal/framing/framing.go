// Package framing refuses HTTP/1 requests for which two readers could disagree where the request
// ends.
//
// The servers that we use are lenient, each in its own way: net/http and fasthttp end a line at a
// bare LF, join folded lines, and net/http reads chunks beside a Content-Length and ignores
// Transfer-Encoding in HTTP/1.0. A proxy in front that reads such a request otherwise takes a part
// of one client's body for the next request on the connection. That attack is called request
// smuggling.
//
// In: the bytes of a connection, before the server parses them. Out: the same bytes, or an error in
// the place of the first line that is not as in RFC 9112; the server then answers 400 and closes.
// Guarantees: what passes is one sequence of requests for every reader. Once a connection switches
// to another protocol (101), its bytes pass unread. Memory: at most one line of a connection.
package framing

import (
	"bytes"
	"errors"
	"net"
	"sync/atomic"
)

// Listener returns a listener whose connections refuse ambiguous requests, and lines of more than
// 64 KiB.
func Listener(l net.Listener) net.Listener { return LongLines(l, usualLine) }

// LongLines is Listener for lines of up to longest bytes.
func LongLines(l net.Listener, longest int) net.Listener { return &listener{l, longest} }

type listener struct {
	net.Listener

	longest int
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, scanner: scanner{longest: l.longest}}, nil
}

// conn is a connection whose requests are scanned as the server reads them.
type conn struct {
	net.Conn

	scanner scanner // used by Read only
	bad     error   // why nothing more is read
	// unscanned is set when what the client sends is no request any more: the server has answered
	// 101, or has sent all that it will, and only drops what comes.
	unscanned atomic.Bool
}

// Read implements net.Conn. It returns the bytes before the end of the first bad line, and then an
// error.
func (c *conn) Read(p []byte) (int, error) {
	if c.unscanned.Load() {
		return c.Conn.Read(p)
	}
	if c.bad != nil {
		return 0, c.bad
	}
	n, err := c.Conn.Read(p)
	if c.unscanned.Load() { // Write or CloseWrite has set it while this Read waited
		return n, err
	}
	if n, c.bad = c.scanner.scan(p[:n]); c.bad != nil && n == 0 {
		return 0, c.bad
	}
	return n, err
}

// Write implements net.Conn. After the answer 101, nothing is scanned. The client does not send in
// the new protocol before it has read that answer, so no byte of it has been scanned.
func (c *conn) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("HTTP/1.1 101 ")) {
		c.unscanned.Store(true)
	}
	return c.Conn.Write(p)
}

// CloseWrite ends what we send. Servers do that before they close, so that a client which still
// sends gets the answer.
func (c *conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	c.unscanned.Store(true)
	return half.CloseWrite()
}
