package search

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"sort"
)

const (
	// maxSlots bounds the tokens of a segment, so that merging one takes little time and room. A
	// query is looked up in each segment anew, mostly in memory that no cache holds: the fewer
	// there are, the quicker it is, and two million tokens are to make two, which two cores share
	// evenly. Building them takes the most room that a node ever needs.
	maxSlots = 1_100_000
	none     = math.MaxUint32
	// blockSize is how many texts share one entry of the index of short strings. Their number has
	// 16 bits.
	blockSize = 64
	// A list of more than one in denseShare of the texts, and of minDense, has a bitmap, too:
	// looking up in it is quick, and it is then little.
	denseShare = 64
	minDense   = 256
	// arenaSpare bytes follow the last text, so that eight bytes can be read at once from where any
	// text begins.
	arenaSpare = 8
)

// segment is an immutable part of the tokens: everything but what volumes and removals change. A
// slot is a token, in the order of the symbols; a text is a distinct normalised symbol or name, in
// the order of the number of its trigrams.
type segment struct {
	serial uint32
	// full says that there were more tokens than room: merging it again would gain nothing.
	full bool
	// Columns of the slots.
	ids, attrs []uint32
	mints      []byte
	sym, name  []uint32
	mintOrder  []uint32 // slots in the order of their mints
	shortest   int      // characters of the shortest mint
	// Columns of the texts.
	arena     []byte
	offsets   []uint32
	gramCount []uint16
	gramFirst []uint32 // the first text with at least so many trigrams
	symRank   []uint32 // the place among symText, or none
	// isSymbol are the texts that are symbols; nameOnce those that are the name of one slot,
	// nameMore of several.
	isSymbol, nameOnce, nameMore []uint64

	nameFirst []uint32 // where the slots of a name begin in nameSlots
	nameSlots []uint32
	nameSyms  []uint32 // the symbols of nameSlots
	// symText and nameText are the texts that are symbols, or names, sorted; symFirst is the first
	// slot of a symbol.
	symText, nameText sorted
	symFirst          []uint32

	grams     gramTable
	postings  []uint32        // ascending texts, gram by gram
	dense     []uint64        // bitmaps of the longest lists
	denseFrom []uint32        // where those lists begin
	halves    buckets[edited] // symbols by the hashes of their halves: see edits.go
	// blocks of texts by the hashes of the one and two runes that occur in them
	blocks buckets[uint16]
}

func (s *segment) slots() int { return len(s.ids) }
func (s *segment) texts() int { return len(s.gramCount) }

// words are those of a bitmap of the texts.
func (s *segment) words() int { return (s.texts() + 63) / 64 }

func (s *segment) text(t uint32) []byte { return s.arena[s.offsets[t]:s.offsets[int(t)+1]] }

// span is where a text lies in the arena, or slots among others.
type span struct{ from, to uint32 }

// needle is a text to look for, the first eight bytes as a number.
type needle struct {
	text        []byte
	first, mask uint64
}

func newNeedle(text string) needle {
	n := needle{text: []byte(text), mask: math.MaxUint64}
	var buf [arenaSpare]byte
	if length := copy(buf[:], text); length < len(buf) {
		n.mask = 1<<(8*length) - 1
	}
	n.first = binary.LittleEndian.Uint64(buf[:])
	return n
}

// contains says whether the text there has the needle in it. Most texts are so short that a search
// made for long ones would take several times as long.
func (s *segment) contains(text span, n *needle) bool {
	to := int(text.to) - len(n.text)
	for at := int(text.from); at <= to; at++ {
		if binary.LittleEndian.Uint64(s.arena[at:at+arenaSpare])&n.mask == n.first &&
			(len(n.text) <= arenaSpare || bytes.Equal(s.arena[at:at+len(n.text)], n.text)) {
			return true
		}
	}
	return false
}

func (s *segment) mint(slot uint32) []byte {
	return s.mints[int(slot)*mintKeyLength : (int(slot)+1)*mintKeyLength]
}

// findMint is the slot of the first mint that is not before key, as a place in mintOrder.
func (s *segment) findMint(key []byte) int {
	return sort.Search(len(s.mintOrder), func(i int) bool { return bytes.Compare(s.mint(s.mintOrder[i]), key) >= 0 })
}

// sorted is texts in their order.
type sorted struct {
	texts []uint32
	heads []uint64 // of each headStep-th text what it begins with: a search reads few texts
}

const headStep = 8

// headOf is the first eight bytes of a text as a number that compares as they do.
func headOf(text []byte) uint64 {
	var buf [8]byte
	copy(buf[:], text)
	return binary.BigEndian.Uint64(buf[:])
}

// fillHeads is for texts that are sorted.
func (s *segment) fillHeads(l *sorted) {
	l.heads = make([]uint64, 0, len(l.texts)/headStep+1)
	for i := 0; i < len(l.texts); i += headStep {
		l.heads = append(l.heads, headOf(s.text(l.texts[i])))
	}
}

// find is the place of the first text that is not before key.
func (s *segment) find(l *sorted, key []byte) int {
	head := headOf(key)
	from := sort.Search(len(l.heads), func(i int) bool { return l.heads[i] >= head })
	to := from
	for to < len(l.heads) && l.heads[to] == head { // seldom
		to++
	}
	from, to = max(0, from-1)*headStep, min(to*headStep, len(l.texts))
	return from + sort.Search(to-from, func(i int) bool { return bytes.Compare(s.text(l.texts[from+i]), key) >= 0 })
}

// prefixRange is the part of the texts that begin with prefix.
func (s *segment) prefixRange(l *sorted, prefix []byte) (from, to int) {
	from = s.find(l, prefix)
	step := 1
	to = from
	// gallop: most ranges are short
	for to < len(l.texts) && bytes.HasPrefix(s.text(l.texts[to]), prefix) {
		to += step
		step *= 2
	}
	low := from + max(0, to-from-step/2)
	to = min(to, len(l.texts))
	return from, low + sort.Search(to-low, func(i int) bool { return !bytes.HasPrefix(s.text(l.texts[low+i]), prefix) })
}

// withGrams is the first text with at least so many trigrams.
func (s *segment) withGrams(count int) int {
	if count >= len(s.gramFirst) {
		return s.texts()
	}
	return int(s.gramFirst[count])
}

// list is ascending texts, with a bitmap of them where they are many.
type list struct {
	texts []uint32
	set   []uint64
}

// list is the texts that have the trigram.
func (s *segment) list(g gram) list {
	e := s.grams.find(g)
	found := list{texts: s.postings[e.from : e.from+e.length]}
	if s.isDense(e.length) {
		number, _ := slices.BinarySearch(s.denseFrom, e.from)
		found.set = s.dense[number*s.words() : (number+1)*s.words()]
	}
	return found
}

// isDense says that a list of so many texts has a bitmap.
func (s *segment) isDense(length uint32) bool {
	return length > minDense && int(length)*denseShare > s.texts()
}

// has looks a text up.
func (l *list) has(t uint32) bool {
	if l.set != nil {
		return l.set[t/64]>>(t%64)&1 != 0
	}
	at := lowerBound(l.texts, t)
	return at < len(l.texts) && l.texts[at] == t
}

// gramTable finds the postings of trigrams by open addressing. While it is built it gives trigrams
// numbers.
type gramTable struct {
	entries []gramEntry
	count   int
}

// gramEntry lies in one line of the cache. Its key is the trigram plus one, 0 is free.
type gramEntry struct {
	key uint64
	// from is where the postings begin, and while the table is built the trigram's number.
	from, length uint32
}

func newGramTable(capacity int) gramTable {
	size := 16
	for size*3 < capacity*4 {
		size *= 2
	}
	return gramTable{entries: make([]gramEntry, size)}
}

// find is the entry of a trigram, or the free one where it would be.
func (t *gramTable) find(g gram) *gramEntry {
	mask := len(t.entries) - 1
	for at := int(hashGram(g)) & mask; ; at = (at + 1) & mask {
		if e := &t.entries[at]; e.key == uint64(g)+1 || e.key == 0 {
			return e
		}
	}
}

// add is the number of the trigram, a new one where it has none.
func (t *gramTable) add(g gram) uint32 {
	if (t.count+1)*4 > len(t.entries)*3 {
		t.grow()
	}
	e := t.find(g)
	if e.key == 0 {
		*e = gramEntry{key: uint64(g) + 1, from: uint32(t.count)}
		t.count++
	}
	return e.from
}

func (t *gramTable) grow() {
	old := t.entries
	t.entries = make([]gramEntry, 2*len(old))
	for _, e := range old {
		if e.key != 0 {
			*t.find(gram(e.key - 1)) = e
		}
	}
}

// locate ends the numbering: the postings of a number are from first[number] to first[number+1].
func (t *gramTable) locate(first []uint32) {
	for i := range t.entries {
		if e := &t.entries[i]; e.key != 0 {
			e.from, e.length = first[e.from], first[e.from+1]-first[e.from]
		}
	}
}

func hashGram(g gram) uint32 { return uint32(uint64(g) * 0x9E3779B97F4A7C15 >> 32) }

// buckets are lists by hash, without the keys: what is looked up is among what is found, which is
// to be verified.
type buckets[T uint16 | edited] struct {
	mask  uint32
	first []uint32
	items []T
}

// bucketEntry is what goes into buckets.
type bucketEntry[T uint16 | edited] struct {
	hash uint32
	item T
}

// maxBuckets are made at most.
const maxBuckets = 1 << 18

// bucketsFor is how many buckets are made for so many entries: a power of two.
func bucketsFor(entries int) int {
	size := 1
	for size < entries && size < maxBuckets {
		size *= 2
	}
	return size
}

// newBuckets counts and fills. The items of a bucket keep their order.
func newBuckets[T uint16 | edited](entries []bucketEntry[T]) buckets[T] {
	size := bucketsFor(len(entries))
	b := buckets[T]{mask: uint32(size - 1), first: make([]uint32, size+1), items: make([]T, len(entries))}
	for _, e := range entries {
		b.first[e.hash&b.mask+1]++
	}
	for i := range size {
		b.first[i+1] += b.first[i]
	}
	next := append([]uint32(nil), b.first[:size]...)
	for _, e := range entries {
		at := e.hash & b.mask
		b.items[next[at]] = e.item
		next[at]++
	}
	return b
}

func (b *buckets[T]) list(hash uint32) []T {
	at := hash & b.mask
	return b.items[b.first[at]:b.first[at+1]]
}
