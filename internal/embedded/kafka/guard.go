package kafka

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxRefusedBytes bounds the body of a request that is answered here and not by the broker. A
// longer one ends its connection.
const maxRefusedBytes = 1 << 20

// requestTimeout is how long a request may take to arrive whole. 100 MiB from this machine take
// well below a second.
const requestTimeout = 30 * time.Second

// guardRules is what every connection of a listener shares.
type guardRules struct {
	maxFrame uint32
	// rejected is told of each connection that is dropped.
	rejected func(reason error, remote net.Addr)
	// unsupported is told of each request that is answered with UNSUPPORTED_VERSION. May be nil.
	unsupported func(key int16, remote net.Addr)
	// durable holds answers back until what they tell is on disk. Nil holds none.
	durable *syncer
}

// passed is a request that the broker has and has not answered.
type passed struct {
	key    int16
	writes []partition // of a produce request
}

// hold returns when the answer to a request may leave: when what it acknowledges, or shows, is on
// disk. Had a reader seen a record that a power failure then takes away, its offset would stand
// behind the log's end, and the next records there would be skipped.
func (s *syncer) hold(key int16) error {
	switch key {
	case keyProduce, keyOffsetCommit, keyDeleteRecords, keyInitProducerID, keyDeleteGroups, keyOffsetDelete:
		return s.wait()
	case keyFetch:
		return s.waitToRead()
	default:
		return nil
	}
}

// guardListener stands between the network and the broker: it hands out connections that read
// whole, checked requests only, and none before open is called.
type guardListener struct {
	net.Listener

	rules guardRules

	opened   chan struct{}
	openOnce sync.Once
	closed   chan struct{}
	stopOnce sync.Once
}

func newGuardListener(inner net.Listener, rules guardRules) *guardListener {
	return &guardListener{Listener: inner, rules: rules, opened: make(chan struct{}), closed: make(chan struct{})}
}

// open lets connections in. Until then they wait in the kernel's queue: the broker listens before
// its rules for topics are in place.
func (l *guardListener) open() { l.openOnce.Do(func() { close(l.opened) }) }

// Accept implements net.Listener.
func (l *guardListener) Accept() (net.Conn, error) {
	select {
	case <-l.opened:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("accept kafka connection: %w", err)
	}
	return newGuardConn(conn, &l.rules), nil
}

// Close implements net.Listener.
func (l *guardListener) Close() error {
	l.stopOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// guardConn checks the head of every request before any byte of it is read by the broker. It relies
// on one reader and one writer at a time, and on one Write for each answer, which is what kfake
// does.
type guardConn struct {
	net.Conn

	rules *guardRules

	head    [lengthBytes + 4]byte
	unread  []byte // what the broker has not read yet of head, or of a request that was read whole
	body    uint32 // bytes behind unread that the broker has not read yet
	refused error

	mu      sync.Mutex
	waiting []passed   // oldest first
	changed *sync.Cond // waiting or closed changed
	closed  bool
}

func newGuardConn(conn net.Conn, rules *guardRules) *guardConn {
	c := &guardConn{Conn: conn, rules: rules}
	c.changed = sync.NewCond(&c.mu)
	return c
}

// Read implements net.Conn.
func (c *guardConn) Read(p []byte) (int, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	if len(p) == 0 {
		return 0, nil
	}
	for len(c.unread) == 0 && c.body == 0 {
		if err := c.nextRequest(); err != nil {
			return 0, err
		}
	}
	if len(c.unread) > 0 {
		n := copy(p, c.unread)
		c.unread = c.unread[n:]
		return n, nil
	}
	if uint64(len(p)) > uint64(c.body) {
		p = p[:c.body]
	}
	n, err := c.Conn.Read(p)
	c.body -= uint32(n)
	return n, err // an io.Reader passes on io.EOF as it is
}

// nextRequest reads the next head whole and checks it. A request that is answered here leaves
// nothing to read. A refused connection is closed here: the broker only sees its end.
func (c *guardConn) nextRequest() error {
	if err := c.readHead(); err != nil {
		return err
	}
	head, err := parseFrameHead(c.head, c.rules.maxFrame)
	if err == errUnknownKey && head.length <= maxRefusedBytes { //nolint:errorlint // parseFrameHead returns it as it is
		return c.answerUnsupported(head)
	}
	if err != nil {
		return c.refuse(err)
	}
	if head.key == keyProduce {
		return c.nextProduce(head)
	}
	c.unread = c.head[:]
	c.body = head.length - 4
	c.pass(passed{key: head.key})
	return nil
}

// readHead waits for a request and reads its head. A client may be silent between two requests, not
// inside one.
func (c *guardConn) readHead() error {
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err // for the broker it is a read that failed
	}
	if _, err := io.ReadFull(c.Conn, c.head[:1]); err != nil {
		return err // an io.Reader passes on io.EOF as it is
	}
	if err := c.SetReadDeadline(time.Now().Add(requestTimeout)); err != nil {
		return err // for the broker it is a read that failed
	}
	_, err := io.ReadFull(c.Conn, c.head[1:])
	return err // an io.Reader passes on io.EOF as it is
}

// pass notes a request that the broker reads next and answers.
func (c *guardConn) pass(request passed) {
	c.mu.Lock()
	c.waiting = append(c.waiting, request)
	c.mu.Unlock()
	if c.rules.durable != nil {
		c.rules.durable.begin(request.writes)
	}
}

// settle notes that the broker has done a request.
func (c *guardConn) settle(requests ...passed) {
	if c.rules.durable != nil {
		for _, request := range requests {
			c.rules.durable.end(request.writes)
		}
	}
}

// nextProduce reads a produce request whole and checks its batches.
func (c *guardConn) nextProduce(head frameHead) error {
	whole := make([]byte, lengthBytes+int(head.length))
	copy(whole, c.head[:])
	rest := whole[len(c.head):]
	if _, err := io.ReadFull(c.Conn, rest); err != nil {
		return err // an io.Reader passes on io.EOF as it is
	}
	request, _ := readRequest(head, rest[correlationBytes:]).(*kmsg.ProduceRequest)
	if request == nil {
		return c.refuse(errUnreadable)
	}
	refusal, reason := checkProduce(request)
	switch {
	case reason == nil:
		// The broker does not answer a request without acknowledgement; what it writes is on disk
		// with the next that has one.
		if request.Acks != 0 {
			c.pass(passed{key: head.key, writes: partitionsOf(request)})
		} else {
			c.settle(passed{key: head.key, writes: partitionsOf(request)})
		}
		c.unread = whole
		return nil
	case request.Acks == 0:
		return c.refuse(reason)
	default:
		c.rejected(reason)
		return c.answer(encodeAnswer(rest[:correlationBytes], refusal))
	}
}

// refuse ends the connection for a reason that is counted.
func (c *guardConn) refuse(reason error) error {
	c.refused = io.EOF
	c.rejected(reason)
	_ = c.Close()
	return c.refused
}

func (c *guardConn) rejected(reason error) { c.rules.rejected(reason, c.RemoteAddr()) }

// answerUnsupported reads the rest of a request that the broker does not serve and answers it.
func (c *guardConn) answerUnsupported(head frameHead) error {
	rest := make([]byte, head.length-4)
	if _, err := io.ReadFull(c.Conn, rest); err != nil {
		return err // an io.Reader passes on io.EOF as it is
	}
	if c.rules.unsupported != nil {
		c.rules.unsupported(head.key, c.RemoteAddr())
	}
	return c.answer(unsupportedAnswer(head, rest))
}

// answer writes an answer of the guard's own, after the broker has answered everything before it:
// answers keep the order of the requests.
func (c *guardConn) answer(payload []byte) error {
	c.mu.Lock()
	for len(c.waiting) > 0 && !c.closed {
		c.changed.Wait()
	}
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.refused = io.EOF
		return c.refused
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, lengthBytes+len(payload)), uint32(len(payload)))
	if _, err := c.Conn.Write(append(frame, payload...)); err != nil {
		return err // for the broker it is a read that failed
	}
	return nil
}

func partitionsOf(request *kmsg.ProduceRequest) []partition {
	var all []partition
	for i := range request.Topics {
		for j := range request.Topics[i].Partitions {
			all = append(all, partition{request.Topics[i].Topic, request.Topics[i].Partitions[j].Partition})
		}
	}
	return all
}

// Write implements net.Conn: it writes the answer to the oldest request, once what it tells is on
// disk.
func (c *guardConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	var request passed
	if len(c.waiting) > 0 {
		request = c.waiting[0]
		c.waiting[0].writes = nil // Close settles what is left
	}
	c.mu.Unlock()
	c.settle(request)
	if c.rules.durable != nil {
		if err := c.rules.durable.hold(request.key); err != nil {
			_ = c.Close()
			return 0, err
		}
	}
	n, err := c.Conn.Write(p)
	c.mu.Lock()
	if len(c.waiting) > 0 {
		c.waiting = c.waiting[1:]
	}
	c.mu.Unlock()
	c.changed.Broadcast()
	return n, err
}

// Close implements net.Conn.
func (c *guardConn) Close() error {
	c.mu.Lock()
	c.closed = true
	left := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	c.settle(left...)
	c.changed.Broadcast()
	return c.Conn.Close()
}
