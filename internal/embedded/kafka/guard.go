package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// DefaultMaxFrameBytes bounds one request: 100 MiB, the default of Apache Kafka's socket.request.max.bytes.
const DefaultMaxFrameBytes = 100 << 20

const (
	lengthBytes = 4
	// headerBytes is the part of every request header that all versions share: api key, api version, correlation id.
	headerBytes = 2 + 2 + 4
)

var (
	errFrameTooLong  = errors.New("frame is longer than the limit")
	errFrameTooShort = errors.New("frame is shorter than a request header")
	errUnknownKey    = errors.New("unknown api key")
	errBadVersion    = errors.New("version out of range")
)

// frameHead is what the guard looks at before it lets a request through.
type frameHead struct {
	length  uint32
	key     int16
	version int16
}

// parseFrameHead reads the first 8 bytes of a request (length, api key, version) and says whether the broker may see it. kfake
// allocates the length unchecked and panics, with the whole process, on a key that it does not know.
func parseFrameHead(b [lengthBytes + 4]byte, maxFrame uint32) (frameHead, error) {
	head := frameHead{
		length:  binary.BigEndian.Uint32(b[:4]),
		key:     int16(binary.BigEndian.Uint16(b[4:6])),
		version: int16(binary.BigEndian.Uint16(b[6:8])),
	}
	switch {
	case head.length > maxFrame:
		return head, errFrameTooLong
	case head.length < headerBytes:
		return head, errFrameTooShort
	}
	highest, known := allowedRequests[head.key]
	if !known {
		return head, errUnknownKey
	}
	// ApiVersions is the one request that may come in a version the broker does not know: it answers with those it does.
	if head.version < 0 || (head.version > highest && head.key != keyAPIVersions) {
		return head, errBadVersion
	}
	return head, nil
}

const (
	keyCreateTopics            int16 = 19
	keyAPIVersions             int16 = 18
	keyIncrementalAlterConfigs int16 = 44
)

// allowedRequests lists the requests that reach the broker with the highest version let through: what clients need to produce,
// consume, commit and administer topics, as https://kafka.apache.org/protocol numbers them. A request that is not here ends its
// connection. Transactions, share groups, quotas, access control and cluster administration are left out on purpose:
// Mintlake has no use for them, and each is code that bytes from outside would reach.
var allowedRequests = map[int16]int16{
	0:                          13, // Produce
	1:                          18, // Fetch
	2:                          11, // ListOffsets
	3:                          13, // Metadata
	8:                          10, // OffsetCommit
	9:                          10, // OffsetFetch
	10:                         6,  // FindCoordinator
	11:                         9,  // JoinGroup
	12:                         4,  // Heartbeat
	13:                         5,  // LeaveGroup
	14:                         5,  // SyncGroup
	15:                         6,  // DescribeGroups
	16:                         5,  // ListGroups
	keyAPIVersions:             4,
	keyCreateTopics:            7,
	20:                         6, // DeleteTopics
	21:                         2, // DeleteRecords
	22:                         5, // InitProducerId: idempotent producers of other clients
	23:                         4, // OffsetForLeaderEpoch
	32:                         4, // DescribeConfigs
	35:                         5, // DescribeLogDirs
	42:                         2, // DeleteGroups
	keyIncrementalAlterConfigs: 1,
	47:                         0, // OffsetDelete
	60:                         2, // DescribeCluster
	75:                         0, // DescribeTopicPartitions
}

// guardListener stands between the network and the broker: it hands out connections that read whole, checked requests only,
// and none before open is called.
type guardListener struct {
	net.Listener

	maxFrame uint32
	rejected func(reason error, remote net.Addr)

	opened   chan struct{}
	openOnce sync.Once
	closed   chan struct{}
	stopOnce sync.Once
}

func newGuardListener(inner net.Listener, maxFrame uint32, rejected func(error, net.Addr)) *guardListener {
	return &guardListener{Listener: inner, maxFrame: maxFrame, rejected: rejected, opened: make(chan struct{}), closed: make(chan struct{})}
}

// open lets connections in. Until then they wait in the kernel's queue: the broker listens before its rules for topics are in place.
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
	return &guardConn{Conn: conn, maxFrame: l.maxFrame, rejected: l.rejected}, nil
}

// Close implements net.Listener.
func (l *guardListener) Close() error {
	l.stopOnce.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// guardConn checks the head of every request before any byte of it is read by the broker. It relies on one reader at a time, which
// is what kfake does.
type guardConn struct {
	net.Conn

	maxFrame uint32
	rejected func(reason error, remote net.Addr)

	head    [lengthBytes + 4]byte
	unread  []byte // what of head the broker has not read yet
	body    uint32 // bytes of the request after head that the broker has not read yet
	refused error
}

// Read implements net.Conn.
func (c *guardConn) Read(p []byte) (int, error) {
	if c.refused != nil {
		return 0, c.refused
	}
	if len(p) == 0 {
		return 0, nil
	}
	if len(c.unread) == 0 && c.body == 0 {
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
	return n, err //nolint:wrapcheck // an io.Reader passes on io.EOF as it is
}

// nextRequest reads the next head whole and checks it. A refused connection is closed here: the broker only sees its end.
func (c *guardConn) nextRequest() error {
	if _, err := io.ReadFull(c.Conn, c.head[:]); err != nil {
		return err //nolint:wrapcheck // an io.Reader passes on io.EOF as it is
	}
	head, err := parseFrameHead(c.head, c.maxFrame)
	if err != nil {
		c.refused = io.EOF
		c.rejected(err, c.RemoteAddr())
		_ = c.Close()
		return c.refused
	}
	c.unread = c.head[:]
	c.body = head.length - 4
	return nil
}
