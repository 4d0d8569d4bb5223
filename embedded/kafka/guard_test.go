package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// frame is a request as it goes over the wire: length, key, version, correlation id, body.
func frame(key, version int16, body []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(headerBytes+len(body)))
	b = binary.BigEndian.AppendUint16(b, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, 7)
	return append(b, body...)
}

func TestEveryAllowedRequestIsKnownToTheBroker(t *testing.T) {
	for key, highest := range allowedRequests {
		request := kmsg.RequestForKey(key)
		require.NotNil(t, request, "key %d would panic", key)
		require.LessOrEqual(t, highest, request.MaxVersion(), "key %d (%s)", key, kmsg.NameForKey(key))
	}
}

func TestParseFrameHead(t *testing.T) {
	for name, test := range map[string]struct {
		bytes []byte
		err   error
	}{
		"metadata":                 {frame(3, 8, nil), nil},
		"the 14 bytes that panic":  {frame(4000, 0, []byte{0, 0}), errUnknownKey},
		"negative key":             {frame(-1, 0, nil), errUnknownKey},
		"transactions":             {frame(24, 0, nil), errUnknownKey},
		"version from the future":  {frame(3, 100, nil), errBadVersion},
		"negative version":         {frame(3, -1, nil), errBadVersion},
		"api versions from future": {frame(keyAPIVersions, 100, nil), nil},
		"four gigabytes":           {[]byte{0xff, 0xff, 0xff, 0xff, 0, 3, 0, 8}, errFrameTooLong},
		"one above the limit":      {[]byte{0, 0, 4, 1, 0, 3, 0, 8}, errFrameTooLong},
		"at the limit":             {[]byte{0, 0, 4, 0, 0, 3, 0, 8}, nil},
		"shorter than a header":    {[]byte{0, 0, 0, 7, 0, 3, 0, 8}, errFrameTooShort},
		"http":                     {[]byte("GET / HTTP/1.1"), errFrameTooLong},
	} {
		_, err := parseFrameHead([8]byte(test.bytes[:8]), 1024)
		require.ErrorIs(t, err, test.err, name)
	}
}

// guardedRead sends input through a guard and returns what the broker would read, and why the guard
// refused.
func guardedRead(t *testing.T, input []byte, maxFrame uint32) (out []byte, reason error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		conn := newGuardConn(server, &guardRules{maxFrame: maxFrame, rejected: func(err error, _ net.Addr) { reason = err }})
		go func() { _, _ = io.Copy(io.Discard, client) }()
		go func() {
			_, _ = client.Write(input)
			_ = client.Close()
		}()
		read := make(chan error, 1)
		go func() {
			var err error
			out, err = io.ReadAll(conn)
			read <- err
		}()
		synctest.Wait() // until all is read, or the guard waits for answers that do not come
		_ = conn.Close()
		if err := <-read; err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("read: %v", err)
		}
	})
	return out, reason
}

func TestGuardPassesWholeRequestsAndStopsAtABadOne(t *testing.T) {
	good := append(frame(3, 8, []byte("metadata")), frame(1, 7, bytes.Repeat([]byte("fetch"), 1000))...)
	out, reason := guardedRead(t, good, maxFrameBytes)
	require.NoError(t, reason)
	require.Equal(t, good, out)
	out, reason = guardedRead(t, append(bytes.Clone(good), frame(4, 100, []byte("panic"))...), maxFrameBytes)
	require.NoError(t, reason, "it waits for the broker's answers before its own")
	require.Equal(t, good, out, "no byte of the unknown request reaches the broker")
	out, reason = guardedRead(t, append(bytes.Clone(good), frame(3, 100, []byte("panic"))...), maxFrameBytes)
	require.ErrorIs(t, reason, errBadVersion)
	require.Equal(t, good, out, "no byte of the bad request reaches the broker")
}

// TestGuardEndsSlowRequests: a client may be silent for long between requests, but a request that
// has begun must arrive.
func TestGuardEndsSlowRequests(t *testing.T) {
	whole := frame(3, 8, []byte("metadata"))
	for _, arrives := range []int{1, 3, 7, 8, len(whole) - 1} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			defer client.Close()
			conn := newGuardConn(server, &guardRules{maxFrame: maxFrameBytes, rejected: func(error, net.Addr) {}})
			defer conn.Close()
			go func() {
				_, _ = client.Write(whole)
				time.Sleep(time.Hour)
				_, _ = client.Write(whole[:arrives])
			}()
			began := time.Now()
			out, err := io.ReadAll(conn)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
			require.Equal(t, whole, out[:len(whole)])
			require.Equal(t, time.Hour+requestTimeout, time.Since(began))
		})
	}
}

// TestProduceWithoutAnAnswer: a request with acks=0 leaves the marks of others alone. Its partition
// counts as being written until the broker answers the connection's next request, or it closes.
func TestProduceWithoutAnAnswer(t *testing.T) {
	written := partition{"t", 0}
	durable := newSyncer(t.TempDir())
	durable.begin([]partition{written}) // a request of another connection
	underWay := func() int {
		durable.mu.Lock()
		defer durable.mu.Unlock()
		return durable.underWay[written]
	}
	open := func(input []byte) *guardConn {
		client, server := net.Pipe()
		t.Cleanup(func() { _ = client.Close() })
		conn := newGuardConn(server, &guardRules{maxFrame: maxFrameBytes, rejected: func(error, net.Addr) {}, durable: durable})
		go func() { _, _ = client.Write(input) }()
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, err := io.ReadFull(conn, make([]byte, len(input)))
		require.NoError(t, err)
		return conn
	}
	silent := produceFrame(t, 8, 0, goodBatch())
	conn := open(append(bytes.Clone(silent), silent...))
	require.Equal(t, 2, underWay(), "one mark of the connection, however many requests")
	require.NoError(t, conn.Close())
	require.Equal(t, 1, underWay())
	require.True(t, durable.dirty[written])

	conn = open(append(bytes.Clone(silent), frame(3, 8, []byte("metadata"))...))
	require.Equal(t, 2, underWay())
	_, err := conn.Write([]byte("an answer"))
	require.NoError(t, err)
	require.Equal(t, 1, underWay())
	require.NoError(t, conn.Close())
	require.Equal(t, 1, underWay(), "settled once")
}

// TestAPartitionNamedTwice: it counts as being written once, so that readers need not wait for it
// for ever.
func TestAPartitionNamedTwice(t *testing.T) {
	for name, acks := range map[string]int16{"answered": -1, "unanswered": 0} {
		t.Run(name, func(t *testing.T) {
			durable := newSyncer(t.TempDir())
			client, server := net.Pipe()
			defer client.Close()
			conn := newGuardConn(server, &guardRules{maxFrame: maxFrameBytes, rejected: func(error, net.Addr) {}, durable: durable})
			input := produceFrame(t, 8, acks, goodBatch(), goodBatch())
			go func() { _, _ = client.Write(input) }()
			_, err := io.ReadFull(conn, make([]byte, len(input)))
			require.NoError(t, err)
			require.NotEmpty(t, durable.underWay)
			require.NoError(t, conn.Close())
			require.Empty(t, durable.underWay)
		})
	}
}

// closing is a connection that is closed while its last byte is read.
type closing struct {
	net.Conn
	input io.Reader
	close func()
}

func (c *closing) Read(p []byte) (int, error) {
	n, err := c.input.Read(p)
	if err == io.EOF {
		return 0, net.ErrClosed
	}
	c.close()
	return n, nil
}

func (c *closing) SetReadDeadline(time.Time) error { return nil }

// TestARequestAsItsConnectionCloses: the broker does not get it, as nothing would settle what it
// writes.
func TestARequestAsItsConnectionCloses(t *testing.T) {
	for name, input := range map[string][]byte{
		"answered": produceFrame(t, 8, -1, goodBatch()), "unanswered": produceFrame(t, 8, 0, goodBatch()), "metadata": frame(3, 8, []byte("metadata")),
	} {
		t.Run(name, func(t *testing.T) {
			durable := newSyncer(t.TempDir())
			client, server := net.Pipe()
			defer client.Close()
			var conn *guardConn
			whole := bytes.NewReader(input)
			inner := &closing{Conn: server, input: whole, close: func() {
				if whole.Len() == 0 || name == "metadata" {
					_ = conn.Close()
				}
			}}
			conn = newGuardConn(inner, &guardRules{maxFrame: maxFrameBytes, rejected: func(error, net.Addr) {}, durable: durable})
			_, err := conn.Read(make([]byte, len(input)))
			require.ErrorIs(t, err, net.ErrClosed)
			require.Empty(t, durable.underWay)
			require.Empty(t, conn.waiting)
		})
	}
}

// FuzzGuard: whatever comes, the broker reads requests of the input in their order, and each is one
// that it knows.
func FuzzGuard(f *testing.F) {
	f.Add(frame(3, 8, []byte("metadata")))
	f.Add(append(frame(18, 3, nil), frame(0, 7, []byte("x"))...))
	f.Add(append(frame(18, 3, nil), produceFrame(f, 8, -1, goodBatch())...))
	f.Add(frame(4000, 0, []byte{0, 0}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, 0, 0, 4, 0, 3})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxFrame = 1 << 16
		out, _ := guardedRead(t, input, maxFrame)
		at := 0
		for rest := out; len(rest) > 0; {
			require.GreaterOrEqual(t, len(rest), 8, "the broker never sees part of a head")
			head, err := parseFrameHead([8]byte(rest[:8]), maxFrame)
			require.NoError(t, err)
			require.NotNil(t, kmsg.RequestForKey(head.key))
			request := rest[:min(4+int(head.length), len(rest))]
			found := bytes.Index(input[at:], request)
			require.GreaterOrEqual(t, found, 0, "what the broker reads was sent, in this order")
			at += found + len(request)
			rest = rest[len(request):]
		}
	})
}
