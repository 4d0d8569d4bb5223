package listen

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A refused request that is still being sent is read on for this long and this far before its
// connection is closed: closing with unread bytes makes TCP throw away the response that says why.
const (
	lingerTime  = 2 * time.Second
	lingerBytes = 8 << 20
)

// CloseLate shuts down our half of the connection, reads on for a while, and closes it.
func CloseLate(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		_ = conn.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, conn, lingerBytes)
	}
	return conn.Close()
}

// Lingering returns a listener whose connections are *LingeringConn.
func Lingering(l net.Listener) net.Listener { return &lingering{l} }

type lingering struct{ net.Listener }

// Accept implements net.Listener.
func (l *lingering) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &LingeringConn{Conn: conn}, nil
}

// LingeringConn is closed late when Linger was called.
type LingeringConn struct {
	net.Conn

	linger atomic.Bool
}

// Linger notes that the client may still be sending what was refused. Close then calls CloseLate.
func (c *LingeringConn) Linger() { c.linger.Store(true) }

// Close implements net.Conn.
func (c *LingeringConn) Close() error {
	if c.linger.Swap(false) {
		return CloseLate(c.Conn)
	}
	return c.Conn.Close()
}
