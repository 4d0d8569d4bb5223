package socket

import (
	"bufio"
	"encoding/binary"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/mintlake/mintlake/access/keys"
)

// frameConn is the connection of a WebSocket. Both the WebSocket library and the session write to
// it: the library answers pings and close frames, the session sends messages. Each write is one or
// more whole frames, so the frames of the two do not mix.
//
// The session writes its own frames because the library takes a message as one slice. A message of
// the transaction stream has two parts: the subscription's number, and the transaction's JSON,
// which all clients share. Also, the library's Ping waits for the pong, which would delay the
// messages behind it.
type frameConn struct {
	net.Conn
	mu sync.Mutex
	// closing is set before the close frame is sent: no message may follow it.
	closing bool
	// lease counts the bytes that the session sends as usage of the client's key; nil counts
	// nothing.
	lease *keys.Lease
}

// Write implements net.Conn.
func (c *frameConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Conn.Write(b)
}

// First byte of a frame (RFC 6455, section 5.2). All frames here are final and, as a server's must
// be, not masked.
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

// scratch pools the buffers in which the frames of one write are put together, so that the write is
// one system call. Clients hold no buffer between writes.
var scratch = sync.Pool{New: func() any { return &Frames{} }}

// framesSent is the size in bytes from which on a buffer is full. framesKept is the size of the
// largest buffer that goes back to the pool.
const (
	framesSent = 64 << 10
	framesKept = 256 << 10
)

// Frames is a buffer of whole frames, one after the other.
type Frames struct{ Bytes []byte }

// NewFrames returns an empty buffer. The caller calls Release.
func NewFrames() *Frames {
	f := scratch.Get().(*Frames) // the pool has nothing else
	f.Bytes = f.Bytes[:0]
	return f
}

// Release gives the buffer back.
func (f *Frames) Release() {
	if cap(f.Bytes) <= framesKept {
		scratch.Put(f)
	}
}

// Full returns whether the frames should be sent before more are added.
func (f *Frames) Full() bool { return len(f.Bytes) >= framesSent }

// Add appends a message that is the concatenation of parts.
func (f *Frames) Add(parts ...[]byte) { f.add(frameText, parts...) }

func (f *Frames) add(kind byte, parts ...[]byte) {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	f.Bytes = appendFrame(f.Bytes, kind, n)
	for _, part := range parts {
		f.Bytes = append(f.Bytes, part...)
	}
}

// send writes whole frames, within timeout.
func (c *frameConn) send(timeout time.Duration, b []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return net.ErrClosed
	}
	if err := c.SetWriteDeadline(time.Now().Add(timeout)); err != nil {
		return err // the connection is broken, so the client cannot be told
	}
	if _, err := c.Conn.Write(b); err != nil {
		return err
	}
	c.lease.Sent(len(b))
	return c.SetWriteDeadline(time.Time{})
}

// stop makes later sends fail. The library may still write its own frames.
func (c *frameConn) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closing = true
}

// frameBuffer is the size of the library's read and write buffer for a connection. Requests are
// small, and only control frames are written through it. The buffers of net/http have 4 KB each.
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
		return nil, nil, err // websocket.Accept wraps the error
	}
	u.conn = &frameConn{Conn: conn}
	reader := both.Reader
	if reader.Buffered() == 0 {
		reader = bufio.NewReaderSize(conn, frameBuffer)
	}
	return u.conn, bufio.NewReadWriter(reader, bufio.NewWriterSize(u.conn, frameBuffer)), nil
}
