package yellowstone

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// zeros writes so many zeros.
func zeros(t *testing.T, w io.WriteCloser, size int) {
	t.Helper()
	part := make([]byte, 1<<20)
	for ; size > 0; size -= len(part) {
		_, err := w.Write(part)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
}

// serveFrame answers every call with one gRPC frame.
func serveFrame(t *testing.T, encoding string, length uint32, message []byte) *url.URL {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Encoding", encoding)
		w.Header().Set("Trailer", "Grpc-Status")
		head := binary.BigEndian.AppendUint32([]byte{1}, length)
		_, _ = w.Write(append(head, message...)) // the client may have left
		w.Header().Set("Grpc-Status", "0")
	}))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	require.NoError(t, err)
	return u
}

// TestAMessageThatExpandsIsRefused: the largest message counts what comes out of it, and a length
// that is only claimed costs nothing.
func TestAMessageThatExpandsIsRefused(t *testing.T) {
	const most = 4 << 20
	for _, size := range []int{most + 1<<20, 96 << 20} {
		var gzipped, zstandard bytes.Buffer
		zeros(t, gzip.NewWriter(&gzipped), size)
		z, err := zstd.NewWriter(&zstandard, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
		require.NoError(t, err)
		zeros(t, z, size)
		for encoding, message := range map[string][]byte{"gzip": gzipped.Bytes(), Zstd: zstandard.Bytes()} {
			requireTooLarge(t, fmt.Sprintf("%s of %d bytes", encoding, size), most, serveFrame(t, encoding, uint32(len(message)), message))
		}
	}
	for _, encoding := range []string{"gzip", Zstd} {
		requireTooLarge(t, "a claim, "+encoding, most, serveFrame(t, encoding, 1<<32-1, make([]byte, 100)))
	}
}

func requireTooLarge(t *testing.T, name string, most int, u *url.URL) {
	t.Helper()
	conn, err := Server{URL: u}.Connect(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(most), grpc.ForceCodecV2(RawCodec{})))
	require.NoError(t, err)
	defer conn.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	stream, err := pb.NewGeyserClient(conn).Subscribe(t.Context())
	require.NoError(t, err)
	_, err = stream.Recv()
	runtime.ReadMemStats(&after)
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%s: %v", name, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(12*most), name)
}
