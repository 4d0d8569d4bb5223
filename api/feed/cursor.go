package feed

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// topics are the topics that the registry is made of. A cursor is a place in each of their
// partitions.
var topics = [...]string{schemas.TopicTokenEvents, schemas.TopicEnrichments}

// Offsets are places in partitions: for each partition the offset after the last record that was
// read.
type Offsets = map[kafka.TopicPartition]int64

// vector is Offsets in a fixed order: by topic as in topics, then by partition.
type vector [len(topics)][]int64

// ErrCursor is returned for a text that is not a cursor of a feed.
var ErrCursor = errors.New("not a cursor of this feed")

func vectorOf(offsets Offsets) (v vector) {
	for i, topic := range topics {
		for p := 0; ; p++ {
			offset, there := offsets[kafka.TopicPartition{Topic: topic, Partition: p}]
			if !there {
				break
			}
			v[i] = append(v[i], offset)
		}
	}
	return v
}

func (v *vector) offsets() Offsets {
	offsets := Offsets{}
	for i, topic := range topics {
		for p, offset := range v[i] {
			offsets[kafka.TopicPartition{Topic: topic, Partition: p}] = offset
		}
	}
	return offsets
}

// reaches returns whether v is at w or after it in every partition. A partition that v lacks counts
// as being at its beginning.
func (v *vector) reaches(w *vector) bool {
	for i := range w {
		for p, offset := range w[i] {
			if p >= len(v[i]) && offset > 0 || p < len(v[i]) && v[i][p] < offset {
				return false
			}
		}
	}
	return true
}

func (v *vector) equal(w *vector) bool {
	for i := range v {
		if !slices.Equal(v[i], w[i]) {
			return false
		}
	}
	return true
}

const (
	cursorVersion = 1 // the first byte of a cursor
	// maxPartitions bounds the partitions of one topic in a cursor.
	maxPartitions = 1024
)

// String returns the vector as a cursor: the version, for each topic the number of partitions and
// their offsets, and a checksum, in base64url.
func (v *vector) String() string {
	b := []byte{cursorVersion}
	for i := range v {
		b = binary.AppendUvarint(b, uint64(len(v[i])))
		for _, offset := range v[i] {
			b = binary.AppendUvarint(b, uint64(offset))
		}
	}
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads what String returns. The checksum finds cursors that were cut off or mistyped;
// it does not prevent forged ones.
func parseCursor(text string) (v vector, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 5 || b[0] != cursorVersion {
		return v, ErrCursor
	}
	body, sum := b[:len(b)-4], b[len(b)-4:]
	if crc32.ChecksumIEEE(body) != binary.BigEndian.Uint32(sum) {
		return v, ErrCursor
	}
	body = body[1:]
	next := func() int64 {
		n, size := binary.Uvarint(body)
		if size <= 0 || n > 1<<62 {
			err, body = ErrCursor, nil
			return 0
		}
		body = body[size:]
		return int64(n)
	}
	for i := range v {
		partitions := next()
		if partitions > maxPartitions {
			return v, ErrCursor
		}
		for range partitions {
			v[i] = append(v[i], next())
		}
	}
	if err != nil || len(body) != 0 {
		return v, ErrCursor
	}
	return v, nil
}
