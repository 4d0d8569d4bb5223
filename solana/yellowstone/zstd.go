package yellowstone

import (
	"bytes"
	"io"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
)

// Zstd is the name of the compression in grpc-encoding and grpc-accept-encoding.
const Zstd = "zstd"

const (
	// zstdWindow is the largest window that a received frame may ask for: the size that RFC 8878,
	// 3.1.1.1.2, recommends every decoder to support.
	zstdWindow = 8 << 20
	// zstdSent is the window of the frames that this process sends: few updates are larger.
	zstdSent = 256 << 10
	// zstdKept is the largest buffer that is put back into the pool.
	zstdKept = 256 << 10
)

// gRPC reads its table of compressors without a lock, so only init may write to it.
func init() { encoding.RegisterCompressor(newZstd(runtime.GOMAXPROCS(0))) }

// zstdCompressor adds zstd to gRPC: servers and clients of Yellowstone use it besides gzip. gRPC
// reads a whole message before it decompresses it, and stops at the receiver's largest message
// size. So a decoder is never used for long, and all streams share a few. That bounds the memory: a
// frame may ask for a window of 8 MiB, whatever it contains.
type zstdCompressor struct {
	encoder  *zstd.Encoder
	decoders chan *zstd.Decoder
	buffers  sync.Pool
}

func newZstd(decoders int) *zstdCompressor {
	// Neither constructor fails: the options are valid constants.
	encoder, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(zstdSent), zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true))
	c := &zstdCompressor{encoder: encoder, decoders: make(chan *zstd.Decoder, decoders), buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
	for range decoders {
		decoder, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderMaxMemory(zstdWindow))
		c.decoders <- decoder
	}
	return c
}

// Name implements encoding.Compressor.
func (c *zstdCompressor) Name() string { return Zstd }

// Compress implements encoding.Compressor.
func (c *zstdCompressor) Compress(w io.Writer) (io.WriteCloser, error) {
	buffer := c.buffers.Get().(*bytes.Buffer) // the pool has nothing else
	buffer.Reset()
	return &zstdWriter{buffer, c, w}, nil
}

// zstdWriter collects a message and compresses it in one call, so it needs no encoder of its own.
type zstdWriter struct {
	*bytes.Buffer
	of *zstdCompressor
	to io.Writer
}

// Close compresses and writes the message.
func (w *zstdWriter) Close() error {
	_, err := w.to.Write(w.of.encoder.EncodeAll(w.Bytes(), nil))
	if w.Cap() <= zstdKept {
		w.of.buffers.Put(w.Buffer)
	}
	return err
}

// Decompress implements encoding.Compressor. It waits for a free decoder.
func (c *zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	decoder := <-c.decoders
	if err := decoder.Reset(r); err != nil {
		c.decoders <- decoder
		return nil, err
	}
	return &zstdReader{decoder, c}, nil
}

// zstdReader returns its decoder to the pool when it is closed. gRPC closes it once.
type zstdReader struct {
	*zstd.Decoder
	of *zstdCompressor
}

// Close implements io.Closer.
func (r *zstdReader) Close() error {
	_ = r.Reset(nil) // frees the message
	r.of.decoders <- r.Decoder
	return nil
}
