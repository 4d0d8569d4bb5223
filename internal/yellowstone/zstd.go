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
	// zstdWindow is the largest window that a frame may ask a reader to keep: what RFC 8878 in
	// 3.1.1.1.2 recommends each decoder to support.
	zstdWindow = 8 << 20
	// zstdSent is the window of what is written here: an update is seldom as large.
	zstdSent = 256 << 10
	// zstdKept is the largest buffer that goes back to the pool.
	zstdKept = 256 << 10
)

// gRPC looks compressions up in a table of its own, which it reads without a lock: only init may
// write to it.
func init() { encoding.RegisterCompressor(newZstd(runtime.GOMAXPROCS(0))) }

// zstdCompressor is the compression zstd, which Yellowstone's servers and clients have beside gzip.
// gRPC has read a message whole before it is decompressed, and stops at the largest message that
// the receiver takes. So a decoder is never held for long, and a few serve all streams: a frame may
// ask for a window of 8 MiB, whatever is in it.
type zstdCompressor struct {
	encoder  *zstd.Encoder
	decoders chan *zstd.Decoder
	buffers  sync.Pool
}

func newZstd(decoders int) *zstdCompressor {
	// Neither fails: the options are constants that the library takes.
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

// zstdWriter gathers a message: messages are small, and compressed at once they need no state of
// their own.
type zstdWriter struct {
	*bytes.Buffer
	of *zstdCompressor
	to io.Writer
}

// Close writes the message.
func (w *zstdWriter) Close() error {
	_, err := w.to.Write(w.of.encoder.EncodeAll(w.Bytes(), nil))
	if w.Cap() <= zstdKept {
		w.of.buffers.Put(w.Buffer)
	}
	return err
}

// Decompress implements encoding.Compressor. It waits for a decoder.
func (c *zstdCompressor) Decompress(r io.Reader) (io.Reader, error) {
	decoder := <-c.decoders
	if err := decoder.Reset(r); err != nil {
		c.decoders <- decoder
		return nil, err
	}
	return &zstdReader{decoder, c}, nil
}

// zstdReader gives its decoder back when it is closed, which gRPC does once.
type zstdReader struct {
	*zstd.Decoder
	of *zstdCompressor
}

// Close implements io.Closer.
func (r *zstdReader) Close() error {
	_ = r.Reset(nil) // it lets go of the message
	r.of.decoders <- r.Decoder
	return nil
}
