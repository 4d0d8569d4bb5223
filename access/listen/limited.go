package listen

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mintlake/mintlake/access/proxies"
)

// Limits of a listener's open connections.
type Limits struct {
	// Most bounds all connections, MostOfOne those of one address. An IPv6 address counts as its
	// /64 network.
	Most, MostOfOne int
	// Proxies are trusted. Only Most bounds their connections, because they have many clients.
	Proxies proxies.List
	// Body returns the JSON body of a refusal. It may be called by several goroutines at once.
	// Default {"statusCode":…,"error":…,"message":…}.
	Body func(status int, message string) []byte
	// Refused is called for each connection that is refused. It may be nil.
	Refused func(status int)
}

// refusalsOpen bounds the refused connections that stay open until their client has read why.
// Further ones are closed without an answer.
const refusalsOpen = 64

// Limited returns a listener that refuses connections beyond limits. A refused connection gets a
// response over HTTP/1.1 with the status 503 or 429 and Retry-After, whatever it asks for, unless
// it is a probe: see WithReserve.
func Limited(l net.Listener, limits Limits) net.Listener {
	if limits.Body == nil {
		limits.Body = func(status int, message string) []byte {
			return fmt.Appendf(nil, `{"statusCode":%d,"error":%q,"message":%q}`, status, http.StatusText(status), message)
		}
	}
	bounds := &limited{limits: limits, open: NewConnections(limits.Most, limits.MostOfOne, limits.Proxies), refusals: make(chan struct{}, refusalsOpen)}
	return WithReserve(l, bounds.admit)
}

type limited struct {
	limits   Limits
	open     *Connections
	refusals chan struct{} // semaphore of refusalsOpen
}

// admit counts a connection and returns it, or returns the function that refuses and closes it.
func (l *limited) admit(conn net.Conn) (admitted net.Conn, refuse func()) {
	peer := conn.RemoteAddr()
	status, message := l.open.Enter(peer)
	if status == 0 {
		return &limitedConn{Conn: conn, leave: sync.OnceFunc(func() { l.open.Leave(peer) })}, nil
	}
	return nil, func() {
		if l.limits.Refused != nil {
			l.limits.Refused(status)
		}
		select {
		case l.refusals <- struct{}{}:
			go func() {
				defer func() { <-l.refusals }()
				Refuse(conn, status, l.limits.Body(status, message))
				_ = CloseLate(conn)
			}()
		default:
			_ = conn.Close()
		}
	}
}

// RetryAfter is the Retry-After header of a refusal, in seconds.
const RetryAfter = "5"

// Refuse sends an HTTP/1.1 response with a JSON body that says why a connection is refused, without
// reading a request. It may block for a second, but hardly ever does: the socket buffer of a new
// connection has room for the response.
func Refuse(conn net.Conn, status int, body []byte) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nRetry-After: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), RetryAfter, len(body), body)
}

// limitedConn is an admitted connection. It counts until it is closed.
type limitedConn struct {
	net.Conn

	leave func()
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite shuts down our half of the connection. net/http and CloseLate do that before they
// close it, so that a client which still sends gets the answer.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
