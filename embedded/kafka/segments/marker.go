package segments

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// MarkerHeader is the key of the header that identifies a marker. A marker is a record in the place
// of records that a repair could not bring back. The record's value says in words what was lost. No
// room can decode it, so it becomes a dead letter with that text.
const MarkerHeader = "mintlake-lost"

// markersOf returns the marker batches for the offsets between from and to, both included. A batch
// has one record, at its last offset. Without markers these offsets would be used again, and a
// reader whose offset is behind the damage would skip the new records. The markers also record what
// was lost. number is the partition, ms the markers' time in Unix milliseconds.
func markersOf(topic string, number int, from, to, ms int64) []byte {
	var raw []byte
	for from <= to {
		last := min(to, from+math.MaxInt32-1)
		raw = append(raw, marker(topic, number, from, last, ms)...)
		from = last + 1
	}
	return raw
}

// marker returns one batch, for the offsets between from and to. Their difference must fit an
// int32.
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

	return newBatch(from, delta, ms, 1, records)
}

// newBatch returns a batch of no producer, with count encoded records. delta is the offset of its
// last record, counted from base, and ms is the time of all its records.
func newBatch(base int64, delta int32, ms int64, count uint32, records []byte) []byte {
	raw := make([]byte, headerBytes, headerBytes+len(records))
	raw = append(raw, records...)
	setHeader(raw, base, 0)
	binary.BigEndian.PutUint32(raw[posLastDelta:], uint32(delta))
	binary.BigEndian.PutUint64(raw[posFirstTime:], uint64(ms))
	binary.BigEndian.PutUint64(raw[posMaxTime:], uint64(ms))
	// Producer id, producer epoch and sequence are -1: there is no producer.
	for i := posMaxTime + 8; i < posCount; i++ {
		raw[i] = 0xff
	}
	binary.BigEndian.PutUint32(raw[posCount:], count)
	binary.BigEndian.PutUint32(raw[posCRC:], crc32.Checksum(raw[posAttributes:], castagnoli))
	return raw
}

// maxMarker bounds the size of a batch that may be a marker. Larger batches are not decoded to look
// for the header.
const maxMarker = 1024

// marked returns the offsets that a batch stands for, if it is a marker.
func marked(raw []byte) (from, to int64, ok bool) {
	if len(raw) > maxMarker || binary.BigEndian.Uint32(raw[posCount:]) != 1 {
		return 0, 0, false
	}
	// A batch that cannot be decoded is no marker.
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
