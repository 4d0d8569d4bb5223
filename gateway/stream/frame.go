package stream

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/keys"
)

// frameConn is a WebSocket's connection that two write to: the library, which answers pings and
// closes, and the session, which sends messages. Each write is one or more whole frames.
//
// The session writes its own frames because the library knows one slice a message: the JSON of a
// transaction is shared by all clients and the subscription's number before it is not. It also
// waits for the pong in Ping, which would hold up the messages behind it.
type frameConn struct {
	net.Conn
	mu sync.Mutex
	// closing is set before the close frame: no message may come after it.
	closing bool
	// lease counts what is sent as usage of its key; nil counts nothing.
	lease *keys.Lease
}

// Write implements net.Conn.
func (c *frameConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.Write(b)
}

// Frames of RFC 6455, section 5.2, whole and, as those of servers are, not masked.
const (
	frameText = 0x81
	framePing = 0x89
)

// appendFrame appends the header of a frame with a payload of n bytes.
func appendFrame(b []byte, kind byte, n int) []byte {
	switch {
	case n < 126:
		return append(b, kind, byte(n))
	case n < 1<<16:
		return binary.BigEndian.AppendUint16(append(b, kind, 126), uint16(n))
	}
	return binary.BigEndian.AppendUint64(append(b, kind, 127), uint64(n))
}

// scratch lends the bytes of messages for the time of one write, so that it is one system call.
// Nothing of it stays with a client.
var scratch = sync.Pool{New: func() any { return &frames{} }}

// framesSent is from how many bytes on frames are written without waiting for more; framesKept the
// largest buffer that goes back to the pool.
const (
	framesSent = 64 << 10
	framesKept = 256 << 10
)

// frames are whole frames, one after the other.
type frames struct{ bytes []byte }

func newFrames() *frames {
	f := scratch.Get().(*frames) // the pool has nothing else
	f.bytes = f.bytes[:0]
	return f
}

func (f *frames) release() {
	if cap(f.bytes) <= framesKept {
		scratch.Put(f)
	}
}

// add appends a frame of parts.
func (f *frames) add(kind byte, parts ...[]byte) {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	f.bytes = appendFrame(f.bytes, kind, n)
	for _, part := range parts {
		f.bytes = append(f.bytes, part...)
	}
}

// send writes a frame of parts within timeout.
func (c *frameConn) send(timeout time.Duration, kind byte, parts ...[]byte) error {
	f := newFrames()
	defer f.release()
	f.add(kind, parts...)
	return c.sendWhole(timeout, f.bytes)
}

func (c *frameConn) sendWhole(timeout time.Duration, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err // it ends the session and is not told
	}
	if _, err := c.Conn.Write(b); err != nil {
		return err
	}
	c.lease.Sent(len(b))
	return c.SetWriteDeadline(time.Time{})
}

// stop ends send; the library's frames may follow.
func (c *frameConn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
}

// frameBuffer is the size of the library's buffers for a connection: it reads small requests and
// writes control frames. net/http's have 4 KB each.
const frameBuffer = 512

// upgrader is a ResponseWriter whose connection, once hijacked, is a frameConn with small buffers.
type upgrader struct {
	http.ResponseWriter
	conn *frameConn
}

// Hijack implements http.Hijacker.
func (u *upgrader) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, both, err := http.NewResponseController(u.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err // the library adds what it was doing
	}
	u.conn = &frameConn{Conn: conn}
	reader := both.Reader
	if reader.Buffered() == 0 {
		reader = bufio.NewReaderSize(conn, frameBuffer)
	}
	return u.conn, bufio.NewReadWriter(reader, bufio.NewWriterSize(u.conn, frameBuffer)), nil
}
