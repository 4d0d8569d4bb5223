package segments

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Header is a record's header.
type Header struct {
	Key   string
	Value []byte
}

// Record is one record of the log.
type Record struct {
	Topic      string
	Partition  int32
	Offset     int64
	Time       time.Time
	Key, Value []byte
	Headers    []Header
}

// controlBatch is an attribute: the batch has the end of a transaction and no records of producers.
const controlBatch = 1 << 5

// decompressor is safe for concurrent use.
var decompressor = kgo.DefaultDecompressor()

var errRecords = errors.New("records cannot be read")

// readable reports whether all records of the batch can be decoded.
func readable(raw []byte) bool {
	return eachRecord(raw, func(*kmsg.Record) {}) == nil
}

// eachRecord calls visit for each record of a good batch.
func eachRecord(raw []byte, visit func(*kmsg.Record)) error {
	attributes := binary.BigEndian.Uint16(raw[posAttributes:])
	records, err := decompressor.Decompress(raw[headerBytes:], kgo.CompressionCodecType(attributes&7))
	if err != nil {
		return fmt.Errorf("decompress batch: %w", err)
	}
	for range binary.BigEndian.Uint32(raw[posCount:]) {
		length, n := binary.Varint(records)
		if n <= 0 || length < 0 || int64(len(records)-n) < length {
			return errRecords
		}
		record := kmsg.NewRecord()
		if err := record.ReadFrom(records[:int64(n)+length]); err != nil {
			return fmt.Errorf("decode record: %w", err)
		}
		visit(&record)
		records = records[int64(n)+length:]
	}
	if len(records) > 0 {
		return errRecords
	}
	return nil
}

// recordOf converts a decoded record of batch b. The result shares the memory of in.
func recordOf(b *batch, in *kmsg.Record) Record {
	out := Record{Offset: b.base + int64(in.OffsetDelta), Time: time.UnixMilli(b.firstTime + in.TimestampDelta64), Key: in.Key, Value: in.Value}
	for _, h := range in.Headers {
		out.Headers = append(out.Headers, Header{Key: h.Key, Value: h.Value})
	}
	return out
}
