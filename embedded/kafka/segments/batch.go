package segments

import (
	"encoding/binary"
	"hash/crc32"
)

// Positions of the fields in a record batch of version 2
// (https://kafka.apache.org/documentation/#recordbatch), big-endian.
const (
	posBase       = 0
	posLength     = 8
	posEpoch      = 12
	posMagic      = 16
	posCRC        = 17
	posAttributes = 21 // the checksum covers everything from here to the end
	posLastDelta  = 23
	posFirstTime  = 27
	posMaxTime    = 35
	posCount      = 57
	headerBytes   = 61

	prefixBytes = 12 // base offset and length, which the length does not count
	magic       = 2
	// maxBatch bounds the length of a batch. kfake takes a longer one for the end of the segment.
	maxBatch = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// batch is one record batch of a segment.
type batch struct {
	pos, size          int64 // position in the segment and length, in bytes
	base               int64 // offset of its first record
	delta              int32 // offset of its last record, counted from base
	epoch              int32
	firstTime, maxTime int64 // Unix milliseconds
	empty              bool  // it has no records
}

// next returns the offset behind the last record.
func (b *batch) next() int64 { return b.base + int64(b.delta) + 1 }

// sizeOf returns the size of the batch at the beginning of raw, as its own length field says; 0 if
// that size is impossible.
func sizeOf(raw []byte) int64 {
	if len(raw) < prefixBytes {
		return 0
	}
	length := int64(binary.BigEndian.Uint32(raw[posLength:]))
	if length < headerBytes-prefixBytes || length > maxBatch {
		return 0
	}
	return prefixBytes + length
}

// sound reports whether raw is one whole batch whose checksum holds and whose counts fit each
// other. The checksum does not cover base offset, length, epoch and version: the caller has to
// compare those with the neighbouring batches.
func sound(raw []byte) bool {
	return len(raw) >= headerBytes && binary.BigEndian.Uint32(raw[posCRC:]) == crc32.Checksum(raw[posAttributes:], castagnoli) && counts(raw)
}

// counts reports whether the number of records and the last offset fit each other. There may be
// fewer records than offsets.
func counts(raw []byte) bool {
	delta, count := int32(binary.BigEndian.Uint32(raw[posLastDelta:])), int32(binary.BigEndian.Uint32(raw[posCount:]))
	return delta >= 0 && count >= 0 && int64(count) <= int64(delta)+1
}

// read parses the header at the beginning of raw, which is at pos in the segment.
func read(raw []byte, pos, size int64) batch {
	return batch{
		pos: pos, size: size,
		base:      int64(binary.BigEndian.Uint64(raw[posBase:])),
		delta:     int32(binary.BigEndian.Uint32(raw[posLastDelta:])),
		epoch:     int32(binary.BigEndian.Uint32(raw[posEpoch:])),
		firstTime: int64(binary.BigEndian.Uint64(raw[posFirstTime:])),
		maxTime:   int64(binary.BigEndian.Uint64(raw[posMaxTime:])),
		empty:     binary.BigEndian.Uint32(raw[posCount:]) == 0,
	}
}

// setHeader writes the fields that the checksum does not cover: base offset, length, epoch and
// version.
func setHeader(raw []byte, base int64, epoch int32) {
	binary.BigEndian.PutUint64(raw[posBase:], uint64(base))
	binary.BigEndian.PutUint32(raw[posLength:], uint32(len(raw)-prefixBytes))
	binary.BigEndian.PutUint32(raw[posEpoch:], uint32(epoch))
	raw[posMagic] = magic
}
