package search

import (
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mintlake/mintlake/internal/pause"
)

// row is a token on its way into a segment.
type row struct {
	id, attr     uint32
	mint         mintKey
	classic      bool
	key          uint64
	seen         int64
	symbol, name string // normalised
	from         place  // where it is now; only of what merging moves
}

const (
	// buildTurn is how long a core is kept while requests wait for it.
	buildTurn = 300 * time.Microsecond
	// turnRows are rows, or texts, that take far less.
	turnRows = 16
)

// builder makes one segment of rows that come in the order of their symbols. Columns are filled as
// they come: a large segment has many of them.
type builder struct {
	segment *segment
	keys    []uint64
	seen    []int64
	classic []uint64 // bits
	from    []place  // only of what merging moves

	turn pause.Turn

	texts   *textSet // their numbers are provisional
	symText []uint32 // provisional, of the rows
	name    []uint32
}

func newBuilder(rows int) *builder {
	return &builder{
		segment: &segment{ids: make([]uint32, 0, rows), attrs: make([]uint32, 0, rows), mints: make([]byte, 0, rows*mintKeyLength), shortest: maxMintLength},
		keys:    make([]uint64, 0, rows), seen: make([]int64, 0, rows), classic: make([]uint64, (rows+63)/64), turn: pause.NewTurn(buildTurn),
		texts: newTextSet(rows), symText: make([]uint32, 0, rows), name: make([]uint32, 0, rows),
	}
}

// add is false when the segment is full and the row must go to the next.
func (b *builder) add(r *row) bool {
	s, slot := b.segment, len(b.keys)
	if slot == cap(b.keys) {
		return false
	}
	if slot%turnRows == 0 {
		b.turn.Next()
	}
	s.ids, s.attrs, s.mints = append(s.ids, r.id), append(s.attrs, r.attr), append(s.mints, r.mint[:]...)
	s.shortest = min(s.shortest, r.mint.length())
	b.keys, b.seen = append(b.keys, r.key), append(b.seen, r.seen)
	if r.classic {
		b.classic[slot/64] |= 1 << (slot % 64)
	}
	if r.from.serial != 0 {
		b.from = append(b.from, r.from)
	}
	b.symText = append(b.symText, b.number(r.symbol))
	b.name = append(b.name, b.number(r.name))
	return true
}

func (b *builder) number(text string) uint32 {
	if n := len(b.symText); n > 0 && b.texts.text(b.symText[n-1]) == text {
		return b.symText[n-1] // symbols come sorted
	}
	return b.texts.number(text)
}

// finish makes the segment and its first view.
func (b *builder) finish(serial uint32) *view {
	s := b.segment
	s.serial = serial
	final := b.numberTexts(s)
	for _, fill := range []func(){func() { b.fillSlots(s, final) }, func() { b.fillNames(s) }, s.fillHalves, s.fillBlocks} {
		b.turn.Next()
		fill()
	}
	return b.view(s)
}

// numberTexts gives the texts their numbers, by trigrams, and fills all that hangs on texts alone.
// It returns the final numbers of the provisional ones.
func (b *builder) numberTexts(s *segment) []uint32 {
	b.texts.table = nil // room for what follows
	n := b.texts.len()
	lists := gramNumbers{lists: make([]span, 0, n), counts: make([]uint16, 0, n)}
	s.grams = newGramTable(min(usualGrams*n, 4096)) // it grows where it must
	for i := range n {
		if i%turnRows == 0 {
			b.turn.Next()
		}
		lists.add(&s.grams, b.texts.text(uint32(i)))
	}
	lexical := textOrder(n, b.texts.text)
	order := byCount(lexical, lists.counts)
	final := make([]uint32, n)
	s.arena, s.offsets, s.gramCount = make([]byte, 0, len(b.texts.arena)+arenaSpare), make([]uint32, 1, n+1), make([]uint16, n)
	for number, i := range order {
		final[i] = uint32(number)
		s.arena = append(s.arena, b.texts.text(i)...)
		s.offsets = append(s.offsets, uint32(len(s.arena)))
		s.gramCount[number] = lists.counts[i]
	}
	s.arena = append(s.arena, make([]byte, arenaSpare)...)
	for number, count := range s.gramCount {
		for len(s.gramFirst) <= int(count) {
			s.gramFirst = append(s.gramFirst, uint32(number))
		}
	}
	s.fillPostings(order, &lists)
	isSymbol, isName := flagsOf(n, b.symText), flagsOf(n, b.name)
	s.symText.texts, s.nameText.texts = make([]uint32, 0, countTrue(isSymbol)), make([]uint32, 0, countTrue(isName))
	s.symRank = make([]uint32, n)
	for i := range s.symRank {
		s.symRank[i] = none
	}
	for _, i := range lexical {
		if isSymbol[i] {
			s.symRank[final[i]] = uint32(len(s.symText.texts))
			s.symText.texts = append(s.symText.texts, final[i])
		}
		if isName[i] {
			s.nameText.texts = append(s.nameText.texts, final[i])
		}
	}
	s.fillHeads(&s.symText)
	s.fillHeads(&s.nameText)
	return final
}

// flagsOf says of each of n numbers whether it is listed.
func flagsOf(n int, listed []uint32) []bool {
	flags := make([]bool, n)
	for _, number := range listed {
		flags[number] = true
	}
	return flags
}

func countTrue(flags []bool) (count int) {
	for _, flag := range flags {
		if flag {
			count++
		}
	}
	return count
}

// gramNumbers are what texts are listed by: the numbers of their trigrams, marks and forks, text
// after text. They lie in pieces: one list of all would be there twice each time it grows, when a
// node needs the most room anyway.
type gramNumbers struct {
	pieces [][]uint32
	lists  []span   // of each text, places in all pieces; none lies in two
	counts []uint16 // of the trigrams alone
	sizes  []uint32 // how many texts have each number
	all    int      // numbers
	buf    []gram
}

// pieceNumbers are those of a piece, but where one text has more.
const pieceNumbers = 1 << 20

// usualGrams are as many as a text has.
const usualGrams = 14

// add is of the next text.
func (l *gramNumbers) add(table *gramTable, text string) {
	l.buf = appendGrams(l.buf[:0], text)
	l.counts = append(l.counts, uint16(len(l.buf)))
	l.buf = appendForks(appendMarks(l.buf, text, 1), 0, text)
	last := len(l.pieces) - 1
	if last < 0 || len(l.pieces[last])+len(l.buf) > pieceNumbers {
		l.pieces = append(l.pieces, make([]uint32, 0, min(pieceNumbers, usualGrams*(cap(l.lists)-len(l.lists)))))
		last++
	}
	piece := l.pieces[last]
	from := len(piece)
	for _, g := range l.buf {
		number := table.add(g)
		if int(number) == len(l.sizes) {
			l.sizes = append(l.sizes, 0)
		}
		l.sizes[number]++
		piece = append(piece, number)
	}
	l.pieces[last] = piece
	l.lists = append(l.lists, span{uint32(last*pieceNumbers + from), uint32(last*pieceNumbers + len(piece))})
	l.all += len(piece) - from
}

// of is a text's.
func (l *gramNumbers) of(text uint32) []uint32 {
	list := l.lists[text]
	if list.from == list.to {
		return nil
	}
	piece := list.from / pieceNumbers
	return l.pieces[piece][list.from-piece*pieceNumbers : list.to-piece*pieceNumbers]
}

func (s *segment) fillPostings(order []uint32, lists *gramNumbers) {
	first := make([]uint32, len(lists.sizes)+1)
	for i, size := range lists.sizes {
		first[i+1] = first[i] + size
	}
	s.grams.locate(first)
	next := lists.sizes
	copy(next, first)
	s.postings = make([]uint32, lists.all)
	for text, i := range order {
		for _, number := range lists.of(i) {
			s.postings[next[number]] = uint32(text)
			next[number]++
		}
	}
	for i := range next {
		if s.isDense(first[i+1] - first[i]) {
			s.denseFrom = append(s.denseFrom, first[i])
		}
	}
	s.dense = make([]uint64, len(s.denseFrom)*s.words())
	number := 0
	for i := range next {
		from, to := first[i], first[i+1]
		if !s.isDense(to - from) {
			continue
		}
		set := s.dense[number*s.words():]
		for _, t := range s.postings[from:to] {
			set[t/64] |= 1 << (t % 64)
		}
		number++
	}
}

func (b *builder) fillSlots(s *segment, final []uint32) {
	s.sym, s.name = b.symText, b.name
	s.symFirst = make([]uint32, len(s.symText.texts)+1)
	for slot := range s.sym {
		s.sym[slot], s.name[slot] = final[s.sym[slot]], final[s.name[slot]]
		s.symFirst[s.symRank[s.sym[slot]]+1]++
	}
	s.isSymbol = make([]uint64, s.words())
	for i, t := range s.symText.texts {
		s.isSymbol[t/64] |= 1 << (t % 64)
		s.symFirst[i+1] += s.symFirst[i]
	}
	mints := string(s.mints)
	s.mintOrder = textOrder(len(s.ids), func(slot uint32) string { return mints[slot*mintKeyLength : (slot+1)*mintKeyLength] })
}

func (b *builder) fillNames(s *segment) {
	s.nameFirst = make([]uint32, s.texts()+1)
	for _, name := range s.name {
		s.nameFirst[int(name)+1]++
	}
	s.nameOnce, s.nameMore = make([]uint64, s.words()), make([]uint64, s.words())
	for t := range s.texts() {
		switch s.nameFirst[t+1] {
		case 0:
		case 1:
			s.nameOnce[t/64] |= 1 << (t % 64)
		default:
			s.nameMore[t/64] |= 1 << (t % 64)
		}
		s.nameFirst[t+1] += s.nameFirst[t]
	}
	next := slices.Clone(s.nameFirst)
	s.nameSlots, s.nameSyms = make([]uint32, len(s.name)), make([]uint32, len(s.name))
	for slot, name := range s.name {
		s.nameSlots[next[name]], s.nameSyms[next[name]] = uint32(slot), s.sym[slot]
		next[name]++
	}
}

func (s *segment) fillHalves() {
	entries := make([]bucketEntry[edited], 0, 2*len(s.symText.texts))
	for _, t := range s.symText.texts {
		text := s.text(t)
		if len(text) == 0 {
			continue
		}
		runes := utf8.RuneCount(text)
		cut, e := cutAfter(text, runes/2), newEdited(t, sketchOf(text))
		entries = append(entries, bucketEntry[edited]{hashHalf(runes, true, text[:cut]), e}, bucketEntry[edited]{hashHalf(runes, false, text[cut:]), e})
	}
	s.halves = newBuckets(entries)
}

func (s *segment) fillBlocks() {
	var entries []bucketEntry[uint16]
	// seen is the last block, from 1, that has such a hash. A byte makes two entries at most, so
	// there will not be more buckets.
	seen := make([]uint16, bucketsFor(2*len(s.arena)))
	for t := range s.texts() {
		block := t / blockSize
		add := func(hash uint32) {
			if last := &seen[hash&uint32(len(seen)-1)]; *last != uint16(block+1) {
				*last = uint16(block + 1)
				entries = append(entries, bucketEntry[uint16]{hash, uint16(block)})
			}
		}
		previous := rune(-1)
		for text := s.text(uint32(t)); len(text) > 0; {
			r, size := utf8.DecodeRune(text)
			add(hashShort(-1, r))
			if previous >= 0 {
				add(hashShort(previous, r))
			}
			previous, text = r, text[size:]
		}
	}
	s.blocks = newBuckets(entries)
}

// hashShort is the hash of two runes, or with previous -1 of one.
func hashShort(previous, r rune) uint32 {
	return uint32((uint64(uint32(previous))<<32 | uint64(uint32(r))) * 0x9E3779B97F4A7C15 >> 40)
}

// cutAfter is the length of the first n runes.
func cutAfter(text []byte, n int) int {
	at := 0
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}
