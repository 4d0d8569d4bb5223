package segments

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// MarkerHeader is the header of the record that stands in for records that a repair could not bring
// back. Its value tells readers in words; no room can decode it, so it becomes a dead letter that
// names what was lost.
const MarkerHeader = "mintlake-lost"

// markersOf makes the batches that take the place of offsets from to to, both included: one record,
// at the last of them. Without it a reader whose offset lies behind the damage would skip what is
// written at these offsets later; and the log would not know what it has lost.
func markersOf(topic string, number int, from, to, ms int64) []byte {
	var raw []byte
	for from <= to {
		last := min(to, from+math.MaxInt32-1)
		raw = append(raw, marker(topic, number, from, last, ms)...)
		from = last + 1
	}
	return raw
}

func marker(topic string, number int, from, to, ms int64) []byte {
	delta := int32(to - from)
	record := kmsg.NewRecord()
	record.OffsetDelta = delta
	record.Value = fmt.Appendf(nil, "lost: the records of %s partition %d at offsets %d to %d were damaged on disk", topic, number, from, to)
	header := kmsg.NewHeader()
	header.Key, header.Value = MarkerHeader, fmt.Appendf(nil, "%d-%d", from, to)
	record.Headers = []kmsg.Header{header}
	body := record.AppendTo(nil)[1:] // without its length of 0
	records := append(binary.AppendVarint(nil, int64(len(body))), body...)

	raw := make([]byte, headerBytes, headerBytes+len(records))
	raw = append(raw, records...)
	setHeader(raw, from, 0)
	binary.BigEndian.PutUint32(raw[posLastDelta:], uint32(delta))
	binary.BigEndian.PutUint64(raw[posFirstTime:], uint64(ms))
	binary.BigEndian.PutUint64(raw[posMaxTime:], uint64(ms))
	// producer id, producer epoch and sequence: -1, there is none
	for i := posMaxTime + 8; i < posCount; i++ {
		raw[i] = 0xff
	}
	binary.BigEndian.PutUint32(raw[posCount:], 1)
	binary.BigEndian.PutUint32(raw[posCRC:], crc32.Checksum(raw[posAttributes:], castagnoli))
	return raw
}

// maxMarker bounds what is looked at for a marker.
const maxMarker = 1024

// marked says which offsets a batch stands in for, if it is a marker.
func marked(raw []byte) (from, to int64, ok bool) {
	if len(raw) > maxMarker || binary.BigEndian.Uint32(raw[posCount:]) != 1 {
		return 0, 0, false
	}
	_ = eachRecord(raw, func(record *kmsg.Record) {
		for _, h := range record.Headers {
			if h.Key == MarkerHeader {
				ok = true
			}
		}
	})
	b := read(raw, 0, int64(len(raw)))
	return b.base, b.next() - 1, ok
}
