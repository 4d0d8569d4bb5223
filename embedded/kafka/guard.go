package kafka

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxRefusedBytes bounds a request that the guard answers itself with UNSUPPORTED_VERSION. A longer
// one ends its connection.
const maxRefusedBytes = 1 << 20

// requestTimeout is how long a whole request may take to arrive. From this machine 100 MiB take
// less than a second.
const requestTimeout = 30 * time.Second

// guardRules are what all connections of a listener share.
type guardRules struct {
	maxFrame uint32
	// rejected is called for each request that the broker must not get.
	rejected func(reason error, remote net.Addr)
	// unsupported is called for each request that is answered with UNSUPPORTED_VERSION. May be nil.
	unsupported func(key int16, remote net.Addr)
	// durable holds each answer back until what it says is on disk. If it is nil, no answer is held
	// back.
	durable *syncer
}

// passedRequest is a request that was passed to the broker and that the broker has not answered.
type passedRequest struct {
	key int16
	// writes are the partitions that are settled with the answer: those of a produce request, and
	// those of earlier produce requests with acks=0.
	writes []partition
}

// hold waits until the answer to a request may leave: what the answer acknowledges, or shows to a
// reader, must be on disk. Otherwise a power cut could take away a record that a reader has seen.
// The reader's offset would then be behind the end of the log, and it would skip the next records.
func (s *syncer) hold(key int16) error {
	switch key {
	case keyProduce, keyOffsetCommit, keyInitProducerID, keyDeleteGroups, keyOffsetDelete:
		return s.wait()
	case keyFetch:
		return s.waitToRead()
	default:
		return nil
	}
}

// guardListener stands between the network and the broker. Its connections pass only checked
// requests to the broker, and it accepts none before open is called.
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

// open lets connections in. Until then they wait in the kernel's queue, because kfake listens
// before its rules for topics are set up.
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

// guardConn checks the head of every request, and the whole of a produce request, before the broker
// reads any byte of it. It relies on what kfake does: one reader and one writer at a time, and one
// Write for each answer.
type guardConn struct {
	net.Conn

	rules *guardRules

	head    [lengthBytes + 4]byte
	unread  []byte // what the broker has not read yet of head, or of a request that was read whole
	body    uint32 // bytes of the request behind unread: Read takes them from the connection
	refused error  // what Read returns from now on; nil while the connection is good

	mu      sync.Mutex
	waiting []passedRequest // oldest first
	// unanswered are the partitions that produce requests with acks=0 write to. The broker handles
	// a connection's requests in order. So when it answers a later request, it has written to these
	// partitions.
	unanswered map[partition]bool
	changed    *sync.Cond // waiting or closed changed
	closed     bool
}

func newGuardConn(conn net.Conn, rules *guardRules) *guardConn {
	c := &guardConn{Conn: conn, rules: rules, unanswered: make(map[partition]bool)}
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

// nextRequest reads and checks the next head. A request that is answered here leaves nothing for
// the broker to read. A connection that is refused is closed here; the broker only sees its end.
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
	if err := c.pass(passedRequest{key: head.key}); err != nil {
		return err
	}
	c.unread = c.head[:]
	c.body = head.length - 4 // key and version, 4 of these bytes, are in c.head
	return nil
}

// readHead waits for a request and reads its head. A client may pause between two requests for any
// time, but not within one.
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

// pass notes a request that the broker reads next and will answer. The answer also settles the
// partitions of earlier requests with acks=0. On a closed connection nothing would settle the
// request: then pass returns net.ErrClosed, and the caller must not let the broker read the
// request.
func (c *guardConn) pass(request passedRequest) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	if c.rules.durable != nil {
		c.rules.durable.begin(request.writes)
	}
	request.writes = slices.AppendSeq(request.writes, maps.Keys(c.unanswered))
	clear(c.unanswered)
	c.waiting = append(c.waiting, request)
	return nil
}

// passUnanswered is pass for a produce request with acks=0, which the broker does not answer.
func (c *guardConn) passUnanswered(writes []partition) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	for _, p := range writes {
		if c.unanswered[p] {
			continue // it is settled once for all these requests, so begin is called once
		}
		c.unanswered[p] = true
		if c.rules.durable != nil {
			c.rules.durable.begin([]partition{p})
		}
	}
	return nil
}

// settle tells the syncer that the broker has handled the requests, or never will.
func (c *guardConn) settle(requests ...passedRequest) {
	if c.rules.durable != nil {
		for _, request := range requests {
			c.rules.durable.end(request.writes)
		}
	}
}

// nextProduce reads a whole produce request and checks its batches. If one is bad, nextProduce
// answers the request itself, or ends the connection if acks is 0.
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
		var err error
		if request.Acks != 0 {
			err = c.pass(passedRequest{key: head.key, writes: partitionsOf(request)})
		} else {
			err = c.passUnanswered(partitionsOf(request))
		}
		if err == nil {
			c.unread = whole
		}
		return err
	case request.Acks == 0:
		// The client expects no answer. Only the end of the connection can tell it.
		return c.refuse(reason)
	default:
		c.rejected(reason)
		return c.answer(encodeAnswer(rest[:correlationBytes], refusal))
	}
}

// refuse ends the connection and counts the reason.
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

// answer writes an answer of the guard itself. It first waits until the broker has answered all
// earlier requests, because answers come in the order of the requests.
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

// Write implements net.Conn. p is the answer to the oldest request that waits. Write holds it back
// until everything that the answer acknowledges or shows is on disk.
func (c *guardConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	var request passedRequest
	if len(c.waiting) > 0 {
		request = c.waiting[0]
		c.waiting[0].writes = nil // settled below, so Close must not settle them again
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
	left := slices.Concat(c.waiting, []passedRequest{{writes: slices.Collect(maps.Keys(c.unanswered))}})
	c.waiting = nil
	clear(c.unanswered)
	c.mu.Unlock()
	c.settle(left...)
	c.changed.Broadcast()
	return c.Conn.Close()
}
