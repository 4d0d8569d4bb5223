package kafka

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"

	"github.com/mintlake/mintlake/internal/recordbatch"
)

// zstdEncoder returns the one encoder of this process. It is safe for concurrent use.
//
// kafka-go's own encoders have windows of 8 MiB and lie in a pool, which garbage collection
// empties. And their frames do not tell the size of what they hold, so that readers grow their
// memory step by step. The fastest level takes two thirds of the time of the default level, and its
// batches of transactions are one percent larger.
var zstdEncoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
})

// zstdWindow is the size of zstd's window, in bytes. It holds a whole batch of the producer, see
// DefaultMaxRecordBytes.
const zstdWindow = 1 << 20

// zstdCodec compresses each batch of kafka-go as one frame. It decompresses as the Codec does.
type zstdCodec struct{ compress.Codec }

// NewWriter implements compress.Codec.
func (zstdCodec) NewWriter(w io.Writer) io.WriteCloser {
	return &zstdWriter{to: w, records: recordbatch.TakeBuffer(), out: recordbatch.TakeBuffer()}
}

// zstdWriter collects a batch, and writes it compressed when it is closed.
type zstdWriter struct {
	to           io.Writer
	records, out *bytes.Buffer
}

func (w *zstdWriter) Write(p []byte) (int, error) { return w.records.Write(p) }

func (w *zstdWriter) Close() error {
	defer recordbatch.GiveBuffer(w.records)
	defer recordbatch.GiveBuffer(w.out)
	encoder, err := zstdEncoder()
	if err != nil {
		return err
	}
	w.out.Grow(w.records.Len())
	_, err = w.to.Write(encoder.EncodeAll(w.records.Bytes(), w.out.AvailableBuffer()))
	return err
}
