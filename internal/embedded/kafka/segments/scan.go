package segments

import (
	"encoding/binary"
	"math/bits"
)

// pieceKind says what a part of a segment is.
type pieceKind uint8

const (
	// whole is a sound batch at the offset where it belongs.
	whole pieceKind = iota
	// header is a batch whose records are sound and whose header is not, where the checksum does
	// not cover it. The right header is known.
	header
	// flipped is a batch in which one bit is wrong; the checksum says which.
	flipped
	// lost is a part in which no batch can be read.
	lost
	// missing is a place between two sound batches where others were. It has no bytes.
	missing
	// torn is the end of the last segment that a crash cut off while it was written.
	torn
)

// piece is a part of a segment.
type piece struct {
	kind      pieceKind
	pos, size int64
	// batch is the batch as it should be; of whole, header and flipped ones.
	batch batch
	// from and to are the offsets of what is lost or missing, both included.
	from, to int64
}

// maxFound bounds a batch that is found by looking for it. Producers make batches of at most 1 MiB
// by default.
const maxFound = 8 << 20

// maxGap bounds how far the offset of a batch that is found may lie ahead.
const maxGap = 1 << 32

// segment is one segment's bytes and what its neighbours say.
type segment struct {
	data []byte
	// base is the offset that the file's name says.
	base int64
	// hint is the offset that follows the segment's last: the next segment's base, or the log's
	// known end. 0 where nobody knows.
	hint int64
	// last says that the segment is the partition's last: only there a crash may leave part of a
	// batch.
	last bool
}

// scan splits the segment into pieces. expect is the offset with which it should begin.
func (s *segment) scan(expect int64) []piece {
	var pieces []piece
	for pos := int64(0); pos < int64(len(s.data)); {
		found := s.next(pos, expect)
		for _, p := range found {
			pieces = append(pieces, p)
			pos = p.pos + p.size
			switch p.kind {
			case whole, header, flipped:
				expect = p.batch.next()
			case lost, missing:
				expect = max(expect, p.to+1)
			case torn:
				return pieces
			}
		}
	}
	return pieces
}

// sound is the batch at pos, if it is whole and its checksum holds.
func (s *segment) sound(pos int64) (batch, bool) {
	if pos < 0 || pos >= int64(len(s.data)) {
		return batch{}, false
	}
	size := sizeOf(s.data[pos:])
	if size == 0 || pos+size > int64(len(s.data)) || !sound(s.data[pos:pos+size]) {
		return batch{}, false
	}
	return read(s.data[pos:], pos, size), true
}

// next is what lies at pos: one piece, or a missing one and the batch behind it.
func (s *segment) next(pos, expect int64) []piece {
	b, ok := s.sound(pos)
	if !ok {
		return []piece{s.damaged(pos, expect)}
	}
	good := piece{kind: whole, pos: pos, size: b.size, batch: b}
	plain := s.data[pos+posMagic] == magic && b.epoch == 0
	switch {
	case b.base == expect && plain:
		return []piece{good}
	case b.base > expect && plain && s.behindGap(&b, expect):
		return []piece{{kind: missing, pos: pos, from: expect, to: b.base - 1}, good}
	}
	good.kind, good.batch.base, good.batch.epoch = header, expect, 0
	return []piece{good}
}

// behindGap says whether a batch that begins behind expect is at its place, with others missing
// before it; else its offset is wrong.
func (s *segment) behindGap(b *batch, expect int64) bool {
	if b.pos == 0 && b.base == s.base {
		return true
	}
	after := s.hint
	if follower, ok := s.sound(b.pos + b.size); ok {
		after = follower.base
	}
	switch after {
	case b.next():
		return true
	case expect + int64(b.delta) + 1:
		return false
	}
	return bits.OnesCount64(uint64(b.base^expect)) > 1
}

// damaged is what lies at pos, where no sound batch begins.
func (s *segment) damaged(pos, expect int64) piece {
	end, after := s.find(pos, expect)
	raw := s.data[pos:end]
	p := piece{pos: pos, size: end - pos}
	if sound(raw) { // its length was wrong
		p.kind, p.batch = header, read(raw, pos, p.size)
		p.batch.base, p.batch.epoch = expect, 0
		return p
	}
	if fixed := correct(raw, expect); fixed != nil {
		p.kind, p.batch = flipped, read(fixed, pos, p.size)
		return p
	}
	if after == 0 && s.last && isTorn(raw, expect) {
		p.kind = torn
		return p
	}
	p.kind, p.from, p.to = lost, expect, after-1
	if after == 0 {
		p.to = s.hint - 1
		if s.last {
			p.to = max(p.to, lastLost(raw, expect))
		}
	}
	return p
}

// margin is how many offsets are left out behind a log whose end is lost: readers may have been
// there already, and offsets are never given twice.
const margin = 1 << 20

// lastLost is the offset of the last record in raw, a damaged end of a log that begins at offset
// expect: as its header says, or high enough.
func lastLost(raw []byte, expect int64) int64 {
	if len(raw) >= headerBytes && sizeOf(raw) == int64(len(raw)) && counts(raw) {
		if b := read(raw, 0, int64(len(raw))); int64(binary.BigEndian.Uint32(raw[posCount:])) == int64(b.delta)+1 && int64(b.delta) < margin {
			return expect + int64(b.delta)
		}
	}
	return expect + margin
}

// find is where the damaged part at pos ends: where the next sound batch begins, with its offset;
// or at the segment's end, with 0.
func (s *segment) find(pos, expect int64) (end, base int64) {
	// Where its length says: the usual case, and no bytes inside a record can pretend to be a
	// batch.
	if size := sizeOf(s.data[pos:]); size > 0 {
		if b, ok := s.sound(pos + size); ok && s.follows(&b, expect) {
			return b.pos, b.base
		}
	}
	for at := pos + 1; at+headerBytes <= int64(len(s.data)); at++ {
		raw := s.data[at:]
		if raw[posMagic] != magic || raw[0] != 0 || raw[1] != 0 {
			continue
		}
		size := sizeOf(raw)
		if size == 0 || size > maxFound {
			continue
		}
		if offset := int64(binary.BigEndian.Uint64(raw)); offset <= expect || offset > expect+maxGap {
			continue
		}
		if b, ok := s.sound(at); ok && s.follows(&b, expect) && s.chains(&b) {
			return at, b.base
		}
	}
	return int64(len(s.data)), 0
}

func (s *segment) follows(b *batch, expect int64) bool {
	return b.base > expect && b.base <= expect+maxGap && s.data[b.pos+posMagic] == magic
}

// chains says that behind the batch comes the one that follows it, or the segment's end: bytes of a
// record that look like a batch do not.
func (s *segment) chains(b *batch) bool {
	if b.pos+b.size == int64(len(s.data)) {
		return true
	}
	follower, ok := s.sound(b.pos + b.size)
	return ok && follower.base == b.next() || !ok && s.last && b.pos+b.size+headerBytes > int64(len(s.data))
}

// pageBytes is the smallest unit in which file systems leave zeros where data was to be.
const pageBytes = 512

// isTorn says that raw, the end of a log, is part of a batch that was being written: the file ends
// before the batch does, or the rest is zeros.
func isTorn(raw []byte, expect int64) bool {
	zeros := len(raw)
	for zeros > 0 && raw[zeros-1] == 0 {
		zeros--
	}
	if zeros == 0 {
		return true
	}
	var base [8]byte
	binary.BigEndian.PutUint64(base[:], uint64(expect))
	for i := range min(len(raw), len(base), zeros) {
		if raw[i] != base[i] {
			return false // not the beginning of the batch that was to come
		}
	}
	if len(raw) < prefixBytes {
		return true
	}
	size := sizeOf(raw)
	if size == 0 {
		return zeros <= prefixBytes
	}
	if len(raw) > posMagic && raw[posMagic] != magic && zeros > posMagic {
		return false
	}
	return size > int64(len(raw)) || len(raw)-zeros >= pageBytes
}
