package stream

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/mintlake/mintlake/solana/yellowstone"
)

// zeros writes 96 MiB of them.
func zeros(t *testing.T, w io.WriteCloser) {
	t.Helper()
	part := make([]byte, 1<<20)
	for range 96 {
		_, err := w.Write(part)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
}

// TestAnExpandingMessageIsRefused: a gRPC message of a client counts decompressed.
func TestAnExpandingMessageIsRefused(t *testing.T) {
	f := start(t, Config{})
	var gzipped, zstandard bytes.Buffer
	zeros(t, gzip.NewWriter(&gzipped))
	z, err := zstd.NewWriter(&zstandard, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	zeros(t, z)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	for encoding, message := range map[string][]byte{"gzip": gzipped.Bytes(), yellowstone.Zstd: zstandard.Bytes(), "br": {1}} {
		for _, method := range []string{"Subscribe", "GetSlot", "Ping"} {
			frame := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(message))), message...)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+f.Addr()+"/geyser.Geyser/"+method, bytes.NewReader(frame))
			require.NoError(t, err)
			request.Header.Set("Content-Type", "application/grpc")
			request.Header.Set("Te", "trailers")
			request.Header.Set("Grpc-Encoding", encoding)
			request.Header.Set("X-Token", f.key)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			answer, err := client.Do(request)
			require.NoError(t, err)
			_, _ = io.Copy(io.Discard, answer.Body)
			require.NoError(t, answer.Body.Close())
			runtime.ReadMemStats(&after)
			code := answer.Trailer.Get("Grpc-Status") + answer.Header.Get("Grpc-Status")
			require.Contains(t, []string{fmt.Sprint(int(codes.ResourceExhausted)), fmt.Sprint(int(codes.Unimplemented))}, code, "%s, %s", encoding, method)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12*maxRequestBytes+32<<20), "%s, %s", encoding, method)
		}
	}
}

// TestACodedRequestIsRefused: no body is read, whatever it claims to be.
func TestACodedRequestIsRefused(t *testing.T) {
	f := start(t, Config{})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for coding, want := range map[string]int{"gzip": 415, "br": 415, "zstd": 415, "deflate": 415, "GZIP, br": 415, "x": 415, "identity": 0, "": 0} {
			request, err := http.NewRequestWithContext(t.Context(), method, "http://"+f.Addr()+"/status", strings.NewReader("x"))
			require.NoError(t, err)
			request.Header.Set("Content-Encoding", coding)
			answer, err := http.DefaultClient.Do(request)
			require.NoError(t, err)
			require.NoError(t, answer.Body.Close())
			if want == 0 {
				require.NotEqual(t, http.StatusUnsupportedMediaType, answer.StatusCode)
			} else {
				require.Equal(t, want, answer.StatusCode, "%s %s", method, coding)
			}
		}
	}
}

// TestADeflatedMessageIsRefused: permessage-deflate is not offered, and a client that deflates all
// the same, 96 MiB into one frame, is cut off.
func TestADeflatedMessageIsRefused(t *testing.T) {
	f := start(t, Config{})
	conn, err := net.Dial("tcp", f.Addr())
	require.NoError(t, err)
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /?apiKey=%s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n", f.key, f.Addr())
	require.NoError(t, err)
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusSwitchingProtocols, answer.StatusCode)
	require.Empty(t, answer.Header.Get("Sec-Websocket-Extensions"))

	var deflated bytes.Buffer
	w, err := flate.NewWriter(&deflated, flate.BestSpeed)
	require.NoError(t, err)
	zeros(t, w)
	// final, deflated, text; masked, eight bytes of length
	frame := []byte{0x80 | 0x40 | 0x01, 0x80 | 127}
	frame = binary.BigEndian.AppendUint64(frame, uint64(deflated.Len()))
	frame = append(append(frame, 0, 0, 0, 0), deflated.Bytes()...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = conn.Write(frame) // the server may close before all is sent
	_, _ = io.Copy(io.Discard, in)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2*maxMessageBytes))
}
