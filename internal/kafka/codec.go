package kafka

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/segmentio/kafka-go/compress"

	"github.com/mintlake/mintlake/internal/recordbatch"
)

// kafka-go decompresses batches without a bound, and reads its table of codecs without a lock, so
// only init may write to it.
func init() {
	for i, codec := range compress.Codecs {
		if codec != nil {
			compress.Codecs[i] = boundedCodec{codec}
		}
	}
	zstd := &compress.Codecs[compress.Zstd]
	*zstd = zstdCodec{*zstd}
}

// boundedCodec decompresses batches of at most recordbatch.MaxBytes bytes and
// recordbatch.MaxRecords records. In place of a larger batch it gives a placeholder: one record
// with the batch's last offset and the header tooLargeHeader, so that readers go on after the
// batch. It compresses as the Codec does.
type boundedCodec struct{ compress.Codec }

// mostPlaces is the most records of a batch that a placeholder may stand for. kafka-go allocates
// memory for as many records as the batch's header says. A batch with more is an error.
const mostPlaces = 4 << 20

// tooLargeHeader marks the record that stands for a batch that was too large to read.
const tooLargeHeader = "mintlake-batch-too-large"

// NewReader implements compress.Codec. It reads the whole batch before it returns, because kafka-go
// compares the checksum of what was read.
func (c boundedCodec) NewReader(r io.Reader) io.ReadCloser {
	buffer := recordbatch.TakeBuffer()
	defer recordbatch.GiveBuffer(buffer)
	if _, err := buffer.ReadFrom(r); err != nil {
		return failing{err}
	}
	codec, decompressed := byte(c.Code()), recordbatch.TakeBuffer()
	records, err := recordbatch.Decompress(codec, buffer.Bytes(), decompressed)
	if errors.Is(err, recordbatch.ErrTooLong) || err == nil && recordbatch.Many(records) {
		var last, count int64
		last, count, err = recordbatch.Last(codec, buffer.Bytes())
		if err == nil && count > mostPlaces {
			err = fmt.Errorf("%w: %d records", recordbatch.ErrTooLong, count)
		}
		records = placeholder(last)
	}
	if err != nil {
		return failing{err}
	}
	return &batchReader{Reader: bytes.NewReader(records), buffer: decompressed}
}

// batchReader reads the records of a batch from buffer. After Close, buffer is used for another
// batch.
type batchReader struct {
	*bytes.Reader
	buffer *bytes.Buffer
}

func (r *batchReader) Close() error {
	if r.buffer != nil {
		recordbatch.GiveBuffer(r.buffer)
	}
	r.Reader, r.buffer = bytes.NewReader(nil), nil // a late Read must not see another batch
	return nil
}

// placeholder encodes the record that stands for a batch. It has no key and no value. delta is the
// distance of its offset from the batch's first offset.
func placeholder(delta int64) []byte {
	body := binary.AppendVarint([]byte{0, 0}, delta) // attributes, and the delta of the timestamp
	body = binary.AppendVarint(body, -1)             // key
	body = binary.AppendVarint(body, -1)             // value
	body = binary.AppendVarint(body, 1)              // headers
	body = append(binary.AppendVarint(body, int64(len(tooLargeHeader))), tooLargeHeader...)
	body = binary.AppendVarint(body, -1)
	return append(binary.AppendVarint(nil, int64(len(body))), body...)
}

// standsForBatch reports whether a record is a placeholder.
func (r *Record) standsForBatch() bool {
	return len(r.Headers) == 1 && r.Headers[0].Key == tooLargeHeader && r.Key == nil && r.Value == nil
}

// failing is a reader whose Read always fails with err.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (failing) Close() error { return nil }

// tooLarge counts and logs the batches of a fetch that were too large to read. ends are their last
// offsets.
func (f *fetcher) tooLarge(tp TopicPartition, ends []int64) {
	for _, end := range ends {
		f.metrics.batchesTooLarge.WithLabelValues(f.consumer, tp.Topic).Inc()
		f.log.warn("a kafka batch is left out: it is too large when it is decompressed, so nothing of Mintlake's wrote it", "topic", tp.Topic,
			"partition", tp.Partition, "last_offset", end, "most_bytes", strconv.Itoa(recordbatch.MaxBytes))
	}
}
