package segments

import (
	"encoding/binary"
	"math/bits"
)

// pieceKind says what a piece of a segment is.
type pieceKind uint8

const (
	// whole is a good batch at its offset.
	whole pieceKind = iota
	// header is a batch whose records are good, but whose header is wrong where the checksum does
	// not cover it. The right header is known.
	header
	// flipped is a batch with one wrong bit. The checksum shows which.
	flipped
	// lost is a range of bytes in which no batch can be read.
	lost
	// missing is a place before a good batch where other batches are gone. It has no bytes.
	missing
	// torn is the end of the last segment: part of a batch that a crash interrupted.
	torn
)

// piece is a batch of a segment, or a damaged place.
type piece struct {
	kind      pieceKind
	pos, size int64
	// batch is the batch as it should be. Only whole, header and flipped pieces have it.
	batch batch
	// from and to are the lost offsets of a lost or missing piece, both included.
	from, to int64
}

// maxFound bounds the size of a batch that is found behind damage. Producers make batches of at
// most 1 MiB by default.
const maxFound = 8 << 20

// maxGap bounds how many offsets can be missing before a batch that is found behind damage.
const maxGap = 1 << 32

// segment is the bytes of one segment, and what is known from its neighbours.
type segment struct {
	data []byte
	// base is the offset in the file's name.
	base int64
	// hint is the offset behind the segment's last record: the base of the next segment, or the
	// known end of the log. It is 0 if that is not known.
	hint int64
	// last says that this is the last segment of the partition. Only there a crash can leave part
	// of a batch.
	last bool
}

// scan splits the segment into pieces. expect is the offset at which it should begin.
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

// sound returns the batch at pos, if it is whole and its checksum holds.
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

// next returns the piece at pos. If batches are missing there, it returns a missing piece and the
// batch behind it.
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

// behindGap reports whether b, whose offset is above expect, has the right offset, so that batches
// before it are missing. Otherwise b's offset is wrong. The next batch decides: its offset fits
// either b's own offset or expect. If it fits neither, and b's offset differs from expect in one
// bit, b's offset is wrong.
func (s *segment) behindGap(b *batch, expect int64) bool {
	if b.pos == 0 && b.base == s.base { // the file's name has the same offset
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

// damaged returns the piece at pos, where no good batch begins.
func (s *segment) damaged(pos, expect int64) piece {
	end, after := s.find(pos, expect)
	raw := s.data[pos:end]
	p := piece{pos: pos, size: end - pos}
	if sound(raw) { // only its length field is wrong
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
	// No whole batch can be read here. The lost offsets go up to the next good batch. Without one,
	// they go up to the known end, or as far as the damaged end itself shows.
	p.kind, p.from, p.to = lost, expect, after-1
	if after == 0 {
		p.to = s.hint - 1
		if s.last {
			p.to = max(p.to, lastLost(raw, expect))
		}
	}
	return p
}

// margin is how many offsets are skipped if the end of a log is lost and its last offset is not
// known. Readers may have seen records there, and an offset must not be used twice.
const margin = 1 << 20

// lastLost returns the offset of the last record in raw, the damaged end of a log that begins at
// offset expect. It is computed from the header if that is plausible. Otherwise it is an offset
// that is safely higher.
func lastLost(raw []byte, expect int64) int64 {
	if len(raw) >= headerBytes && sizeOf(raw) == int64(len(raw)) && counts(raw) {
		if b := read(raw, 0, int64(len(raw))); int64(binary.BigEndian.Uint32(raw[posCount:])) == int64(b.delta)+1 && int64(b.delta) < margin {
			return expect + int64(b.delta)
		}
	}
	return expect + margin
}

// find returns where the damage at pos ends: the position and base offset of the next good batch.
// Without one, these are the end of the segment and 0.
func (s *segment) find(pos, expect int64) (end, base int64) {
	// The usual case: the next batch is where the length of the damaged one says. Then no bytes
	// inside a record can be taken for a batch.
	if size := sizeOf(s.data[pos:]); size > 0 {
		if b, ok := s.sound(pos + size); ok && s.follows(&b, expect) {
			return b.pos, b.base
		}
	}
	for at := pos + 1; at+headerBytes <= int64(len(s.data)); at++ {
		raw := s.data[at:]
		// A cheap test first: the magic byte, and an offset below 2^48.
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

// follows reports whether b can be the next good batch behind damage that begins at offset expect.
func (s *segment) follows(b *batch, expect int64) bool {
	return b.base > expect && b.base <= expect+maxGap && s.data[b.pos+posMagic] == magic
}

// chains reports whether b is followed by the batch with the next offset, or by the end of the
// segment. In the last segment b may also be followed by a torn batch that is shorter than a
// header. Bytes inside a record that look like a batch have no such neighbour.
func (s *segment) chains(b *batch) bool {
	if b.pos+b.size == int64(len(s.data)) {
		return true
	}
	follower, ok := s.sound(b.pos + b.size)
	return ok && follower.base == b.next() || !ok && s.last && b.pos+b.size+headerBytes > int64(len(s.data))
}

// pageBytes is the least number of zeros that a file system leaves in place of data that it did not
// write.
const pageBytes = 512

// isTorn reports whether raw, the end of a log, is part of a batch that was being written. Such a
// part begins like a batch at offset expect. Either the file ends before the batch does, or the
// rest of the file is zeros.
func isTorn(raw []byte, expect int64) bool {
	written := len(raw) // without the zeros at the end
	for written > 0 && raw[written-1] == 0 {
		written--
	}
	if written == 0 {
		return true
	}
	var base [8]byte
	binary.BigEndian.PutUint64(base[:], uint64(expect))
	for i := range min(len(raw), len(base), written) {
		if raw[i] != base[i] {
			return false // it does not begin with the next offset
		}
	}
	if len(raw) < prefixBytes {
		return true
	}
	size := sizeOf(raw)
	if size == 0 {
		return written <= prefixBytes
	}
	if len(raw) > posMagic && raw[posMagic] != magic && written > posMagic {
		return false
	}
	return size > int64(len(raw)) || len(raw)-written >= pageBytes
}
