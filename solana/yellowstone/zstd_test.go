package yellowstone

import (
	"bytes"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/encoding"
)

func compressed(t *testing.T, c encoding.Compressor, message []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := c.Compress(&out)
	require.NoError(t, err)
	for half := len(message) / 2; ; half = len(message) { // gRPC writes a message in parts
		n, err := w.Write(message[:half])
		require.NoError(t, err)
		if message = message[n:]; len(message) == 0 {
			break
		}
	}
	require.NoError(t, w.Close())
	return out.Bytes()
}

// plain reads at most one byte more than most, as gRPC does.
func plain(c encoding.Compressor, frame []byte, most int64) ([]byte, error) {
	r, err := c.Decompress(bytes.NewReader(frame))
	if err != nil {
		return nil, err
	}
	defer r.(io.Closer).Close()
	return io.ReadAll(io.LimitReader(r, most+1))
}

func TestZstdMessagesComeBackWhole(t *testing.T) {
	c := encoding.GetCompressor(Zstd)
	require.NotNil(t, c, "gRPC knows it")
	random := make([]byte, 3<<20)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	messages := [][]byte{{}, []byte("a"), bytes.Repeat([]byte("again "), 1000), random}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, m := range messages {
				got, err := plain(c, compressed(t, c, m), 4<<20)
				if err != nil || !bytes.Equal(got, m) {
					t.Errorf("%d bytes came back as %d: %v", len(m), len(got), err)
				}
			}
		})
	}
	all.Wait()
}

// TestZstdReadsWhatOthersStream: a frame of a large window and without its length, as the
// library of the Rust clients streams it.
func TestZstdReadsWhatOthersStream(t *testing.T) {
	message := bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz"), 1<<18) // 9 MB
	var frame bytes.Buffer
	w, err := zstd.NewWriter(&frame, zstd.WithWindowSize(zstdWindow), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	_, err = w.Write(message)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	got, err := plain(newZstd(1), frame.Bytes(), 16<<20)
	require.NoError(t, err)
	require.True(t, bytes.Equal(message, got))
}

// TestZstdIsBounded: what a frame says of itself costs no more than a window for each decoder, and
// a decoder is good again after each of them.
func TestZstdIsBounded(t *testing.T) {
	c := newZstd(1)
	magic := []byte{0x28, 0xb5, 0x2f, 0xfd}
	bomb := compressed(t, c, make([]byte, 64<<20))
	for name, frame := range map[string][]byte{
		"no frame":                  []byte("plain"),
		"cut off":                   compressed(t, c, []byte("cut"))[:8],
		"a window of 2 GiB":         append(magic, 0x00, 21<<3, 1, 0, 0),
		"a segment of 2 GiB":        append(magic, 0xa0, 0, 0, 0, 0x80, 1, 0, 0),
		"a dictionary":              append(magic, 0x21, 9, 1, 1, 0, 0),
		"a window of 16 MiB":        append(magic, 0x00, 14<<3, 1, 0, 0),
		"a segment of 16 MiB":       append(magic, 0xa0, 0, 0, 0, 1, 1, 0, 0),
		"a block of a reserved one": append(magic, 0x20, 1, 7, 0, 0),
	} {
		_, err := plain(c, frame, 4<<20)
		require.Error(t, err, name)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := plain(c, bomb, 4<<20)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Len(t, got, 4<<20+1, "gRPC sees that it is too large")
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(48<<20), "not all of it was made")
	got, err = plain(c, compressed(t, c, []byte("still well")), 100)
	require.NoError(t, err)
	require.Equal(t, "still well", string(got))
}
