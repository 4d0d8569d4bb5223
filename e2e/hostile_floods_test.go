package e2e

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// flood writes to connections from an address as fast as it can, and reads what comes back: of how
// many the server says that it has had enough.
func flood(t *testing.T, up *instance, from net.Addr, write func(*http2.Framer, uint32) error) (calmed int64) {
	t.Helper()
	var told atomic.Int64
	var all sync.WaitGroup
	for range most(20, 4) {
		conn, err := (&net.Dialer{LocalAddr: from, Timeout: hang}).DialContext(t.Context(), "tcp", up.hostPort("stream"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		_, err = io.WriteString(conn, http2.ClientPreface)
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(floodTime())))
		// Many frames a write: the attackers' own work must not be what others feel.
		frames := http2.NewFramer(bufio.NewWriterSize(conn, 64<<10), conn)
		require.NoError(t, frames.WriteSettings())
		all.Go(func() {
			for n := uint32(0); write(frames, n) == nil; n++ {
			}
		})
		all.Go(func() {
			for {
				frame, err := frames.ReadFrame()
				if err != nil {
					return
				}
				if away, ok := frame.(*http2.GoAwayFrame); ok && away.ErrCode == http2.ErrCodeEnhanceYourCalm {
					told.Add(1)
				}
			}
		})
	}
	all.Wait()
	return told.Load()
}

// slowed is a flood that must make the server slow its clients down. It goes on where a busy server
// has not read all of it yet.
func slowed(t *testing.T, up *instance, from net.Addr, write func(*http2.Framer, uint32) error) {
	t.Helper()
	before := up.metricOf(t, "mintlake_gateway_stream_floods_total")
	for deadline := time.Now().Add(hang); up.metricOf(t, "mintlake_gateway_stream_floods_total") <= before; {
		require.True(t, time.Now().Before(deadline), "the server slows nobody down")
		flood(t, up, from, write)
	}
}

func floodSettings(t *testing.T, up *instance, from net.Addr) {
	slowed(t, up, from, func(to *http2.Framer, _ uint32) error { return to.WriteSettings() })
}

func floodPings(t *testing.T, up *instance, from net.Addr) {
	ping := func(to *http2.Framer, _ uint32) error { return to.WritePing(false, [8]byte{1}) }
	for deadline := time.Now().Add(hang); flood(t, up, from, ping) == 0; {
		require.True(t, time.Now().Before(deadline), "the server does not say that it has had enough")
	}
}

// floodResets is the rapid reset of CVE-2023-44487.
func floodResets(t *testing.T, up *instance, from net.Addr) {
	var head bytes.Buffer
	encoder := hpack.NewEncoder(&head)
	for _, field := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", "/geyser.Geyser/GetVersion"}, {":authority", "127.0.0.1"},
		{"content-type", "application/grpc"}, {"te", "trailers"}} {
		// Sensitive, so that no table grows.
		require.NoError(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1], Sensitive: true}))
	}
	slowed(t, up, from, func(to *http2.Framer, n uint32) error {
		if err := to.WriteHeaders(http2.HeadersFrameParam{StreamID: 2*n + 1, BlockFragment: head.Bytes(), EndHeaders: true}); err != nil {
			return err
		}
		return to.WriteRSTStream(2*n+1, http2.ErrCodeCancel)
	})
}
