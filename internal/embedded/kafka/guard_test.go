package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

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

// guardedRead sends input through a guard and returns what the broker would read, and why the guard refused.
func guardedRead(t testing.TB, input []byte, maxFrame uint32) ([]byte, error) {
	t.Helper()
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	var reason error
	conn := &guardConn{Conn: server, maxFrame: maxFrame, rejected: func(err error, _ net.Addr) { reason = err }}
	go func() {
		_, _ = client.Write(input)
		_ = client.Close()
	}()
	out, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("read: %v", err)
	}
	return out, reason
}

func TestGuardPassesWholeRequestsAndStopsAtABadOne(t *testing.T) {
	good := append(frame(3, 8, []byte("metadata")), frame(0, 7, bytes.Repeat([]byte("produce"), 1000))...)
	out, reason := guardedRead(t, good, DefaultMaxFrameBytes)
	require.NoError(t, reason)
	require.Equal(t, good, out)
	out, reason = guardedRead(t, append(bytes.Clone(good), frame(4000, 0, []byte("panic"))...), DefaultMaxFrameBytes)
	require.ErrorIs(t, reason, errUnknownKey)
	require.Equal(t, good, out, "no byte of the bad request reaches the broker")
}

// FuzzGuard: whatever comes, the broker reads a prefix of it, cut at a request, and each request in it is one that it can parse the head of.
func FuzzGuard(f *testing.F) {
	f.Add(frame(3, 8, []byte("metadata")))
	f.Add(append(frame(18, 3, nil), frame(0, 7, []byte("x"))...))
	f.Add(frame(4000, 0, []byte{0, 0}))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Add([]byte{0, 0, 0, 4, 0, 3})
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, input []byte) {
		const maxFrame = 1 << 16
		out, reason := guardedRead(t, input, maxFrame)
		require.True(t, bytes.HasPrefix(input, out))
		rest := out
		for len(rest) > 0 {
			require.GreaterOrEqual(t, len(rest), 8, "the broker never sees part of a head")
			head, err := parseFrameHead([8]byte(rest[:8]), maxFrame)
			require.NoError(t, err)
			require.NotNil(t, kmsg.RequestForKey(head.key))
			size := 4 + int(head.length)
			if size > len(rest) {
				require.NoError(t, reason, "the client hung up in the middle of a request")
				return
			}
			rest = rest[size:]
		}
		if reason == nil {
			require.Less(t, len(input)-len(out), 8, "only part of a head is kept back")
		}
	})
}
