package search

import (
	"math"
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// chunkSize is how many documents' keys are copied to change the volume of one.
	chunkSize = 256
	// unknownSeen stands for an unknown first_seen_at: it sorts last.
	unknownSeen = math.MaxInt64
	// noVolume is the bit of a key that is set if the volume is unknown.
	noVolume = 1 << 63
)

// orderKey returns a number that sorts tokens by volume descending (unknown last) and, where the
// volume is unknown, by first_seen_at ascending. Tokens with equal keys are then sorted by
// first_seen_at and by mint, see compareDocuments.
func orderKey(volume float64, known bool, seen int64) uint64 {
	if known {
		return math.MaxInt64 - math.Float64bits(volume)
	}
	return noVolume | uint64(max(seen, 0))
}

// segment is one state of a part of the index. It is immutable: the writer makes new states that
// share what did not change.
type segment struct {
	*columns
	// live has a bit for each document that is not a tombstone.
	live      []uint64
	liveCount int
	// classic are the live documents of the classic token program.
	classic      []uint64
	classicCount int
	// What the documents are sorted by, in chunks of chunkSize.
	keys []*[chunkSize]uint64
	seen []*[chunkSize]int64
	best []uint64 // the least key of a chunk's live documents
}

func (s *segment) key(doc uint32) uint64   { return s.keys[doc/chunkSize][doc%chunkSize] }
func (s *segment) seenAt(doc uint32) int64 { return s.seen[doc/chunkSize][doc%chunkSize] }

// newSegment returns the first state of columns that were just built.
func newSegment(c *columns, keys []uint64, seen []int64, classic []uint64) *segment {
	n := len(keys)
	chunks := (n + chunkSize - 1) / chunkSize
	s := &segment{
		columns: c, live: make([]uint64, (n+63)/64), liveCount: n, classic: classic[:(n+63)/64],
		keys: make([]*[chunkSize]uint64, chunks), seen: make([]*[chunkSize]int64, chunks), best: make([]uint64, chunks),
	}
	for i := range chunks {
		s.keys[i], s.seen[i], s.best[i] = new([chunkSize]uint64), new([chunkSize]int64), math.MaxUint64
	}
	for doc, key := range keys {
		chunk := doc / chunkSize
		s.keys[chunk][doc%chunkSize], s.seen[chunk][doc%chunkSize] = key, seen[doc]
		s.best[chunk] = min(s.best[chunk], key)
		s.live[doc/64] |= 1 << (doc % 64)
	}
	s.classicCount = countBits(s.classic, 0, uint32(n))
	return s
}

// location is where a document is: the serial of its segment and its number there. Serial 0: it is
// in no segment.
type location struct{ serial, doc uint32 }

// version is one state of the index.
type version struct {
	number     uint64
	segments   []*segment
	attributes []attributes // by number; grows only
	shorts     *shortCounts
	live       int
}

// draft is a new state of a segment under construction. own… mark the parts that are copies
// already, which it may change.
type draft struct {
	*segment
	ownBits bool
	ownKeys []bool // by chunk
	ownSeen []bool
	changed []bool // chunks whose best key must be computed again
}

func newDraft(s *segment) *draft {
	next := *s
	next.keys, next.seen, next.best = slices.Clone(s.keys), slices.Clone(s.seen), slices.Clone(s.best)
	return &draft{segment: &next, ownKeys: make([]bool, len(s.keys)), ownSeen: make([]bool, len(s.keys)), changed: make([]bool, len(s.keys))}
}

// remove makes a document a tombstone.
func (d *draft) remove(doc uint32) {
	if !d.ownBits {
		d.live, d.classic, d.ownBits = slices.Clone(d.live), slices.Clone(d.classic), true
	}
	d.changed[doc/chunkSize] = true
	d.liveCount--
	if hasBit(d.classic, doc) {
		d.classicCount--
	}
	d.live[doc/64] &^= 1 << (doc % 64)
	d.classic[doc/64] &^= 1 << (doc % 64)
}

// reorder gives a document another volume or time.
func (d *draft) reorder(doc uint32, key uint64, seen int64) {
	chunk, at := doc/chunkSize, doc%chunkSize
	if d.keys[chunk][at] != key {
		if !d.ownKeys[chunk] {
			clone := *d.keys[chunk]
			d.keys[chunk], d.ownKeys[chunk] = &clone, true
		}
		d.keys[chunk][at], d.changed[chunk] = key, true
	}
	if d.seen[chunk][at] != seen {
		if !d.ownSeen[chunk] {
			clone := *d.seen[chunk]
			d.seen[chunk], d.ownSeen[chunk] = &clone, true
		}
		d.seen[chunk][at] = seen
	}
}

// finish computes the best keys of the changed chunks.
func (d *draft) finish() *segment {
	for chunk, changed := range d.changed {
		if !changed {
			continue
		}
		best := uint64(math.MaxUint64)
		for at := range min(chunkSize, d.documents()-chunk*chunkSize) {
			if hasBit(d.live, uint32(chunk*chunkSize+at)) {
				best = min(best, d.keys[chunk][at])
			}
		}
		d.best[chunk] = best
	}
	return d.segment
}

// compareDocuments orders documents of equal keys: by first_seen_at ascending if byTime, then by
// mint.
func compareDocuments(a *segment, docA uint32, b *segment, docB uint32, byTime bool) int {
	if byTime {
		if seenA, seenB := a.seenAt(docA), b.seenAt(docB); seenA != seenB {
			if seenA < seenB {
				return -1
			}
			return 1
		}
	}
	return pubkey.Compare(a.mints[docA], b.mints[docB])
}
