package search

import (
	"slices"
	"unicode/utf8"
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

// builder makes one segment of rows that come in the order of their symbols.
type builder struct {
	rows    []row
	numbers map[string]uint32 // text to its provisional number
	texts   []string
	symText []uint32 // provisional, of the rows
	name    []uint32
}

func newBuilder(rows int) *builder {
	return &builder{
		rows: make([]row, 0, rows), numbers: make(map[string]uint32, rows), symText: make([]uint32, 0, rows), name: make([]uint32, 0, rows),
	}
}

// add is false when the segment is full and the row must go to the next.
func (b *builder) add(r *row) bool {
	if len(b.rows) == maxSlots || len(b.texts)+2 > maxTexts {
		return false
	}
	b.rows = append(b.rows, *r)
	b.symText = append(b.symText, b.number(r.symbol))
	b.name = append(b.name, b.number(r.name))
	return true
}

func (b *builder) number(text string) uint32 {
	if n := len(b.symText); n > 0 && b.texts[b.symText[n-1]] == text {
		return b.symText[n-1] // symbols come sorted
	}
	number, ok := b.numbers[text]
	if !ok {
		number = uint32(len(b.texts))
		b.numbers[text] = number
		b.texts = append(b.texts, text)
	}
	return number
}

// finish makes the segment and its first view.
func (b *builder) finish(serial uint32) *view {
	s := &segment{serial: serial}
	final := b.numberTexts(s)
	b.fillSlots(s, final)
	b.fillNames(s)
	s.fillHalves()
	s.fillBlocks()
	return b.view(s)
}

// numberTexts gives the texts their numbers, by trigrams, and fills all that hangs on texts alone. It returns the final
// numbers of the provisional ones.
func (b *builder) numberTexts(s *segment) []uint16 {
	n := len(b.texts)
	gramLists, ends, counts := make([]gram, 0, 14*n), make([]uint32, n), make([]uint16, n)
	size := 0
	for i, text := range b.texts {
		from := len(gramLists)
		gramLists = appendGrams(gramLists, text)
		counts[i] = uint16(len(gramLists) - from)
		gramLists = appendForks(appendMarks(gramLists, text, 1), from, text)
		ends[i] = uint32(len(gramLists))
		size += len(text)
	}
	gramsOf := func(i uint32) []gram {
		if i == 0 {
			return gramLists[:ends[0]]
		}
		return gramLists[ends[i-1]:ends[i]]
	}
	lexical := textOrder(n, func(i uint32) string { return b.texts[i] })
	order := byCount(lexical, counts)
	final := make([]uint16, n)
	s.arena, s.offsets, s.gramCount = make([]byte, 0, size+arenaSpare), make([]uint32, 1, n+1), make([]uint16, n)
	for number, i := range order {
		final[i] = uint16(number)
		s.arena = append(s.arena, b.texts[i]...)
		s.offsets = append(s.offsets, uint32(len(s.arena)))
		s.gramCount[number] = counts[i]
	}
	s.arena = append(s.arena, make([]byte, arenaSpare)...)
	for number, count := range s.gramCount {
		for len(s.gramFirst) <= int(count) {
			s.gramFirst = append(s.gramFirst, uint32(number))
		}
	}
	s.fillPostings(order, gramsOf, len(gramLists))
	isSymbol, isName := make([]bool, n), make([]bool, n)
	for i := range b.rows {
		isSymbol[b.symText[i]], isName[b.name[i]] = true, true
	}
	s.symRank = make([]uint16, n)
	for i := range s.symRank {
		s.symRank[i] = none
	}
	for _, i := range lexical {
		if isSymbol[i] {
			s.symRank[final[i]] = uint16(len(s.symText))
			s.symText = append(s.symText, final[i])
		}
		if isName[i] {
			s.nameText = append(s.nameText, final[i])
		}
	}
	s.symText, s.nameText = slices.Clip(s.symText), slices.Clip(s.nameText)
	return final
}

func (s *segment) fillPostings(order []uint32, gramsOf func(uint32) []gram, total int) {
	s.grams = newGramTable(min(total, 4096))
	numbers := make([]uint32, 0, total)
	var counts []uint32
	for _, i := range order {
		for _, g := range gramsOf(i) {
			number := s.grams.add(g)
			if int(number) == len(counts) {
				counts = append(counts, 0)
			}
			counts[number]++
			numbers = append(numbers, number)
		}
	}
	s.grams.first = make([]uint32, len(counts)+1)
	for i, count := range counts {
		s.grams.first[i+1] = s.grams.first[i] + count
	}
	next := counts
	copy(next, s.grams.first)
	s.postings = make([]uint16, total)
	at := 0
	for text, i := range order {
		for range gramsOf(i) {
			number := numbers[at]
			s.postings[next[number]] = uint16(text)
			next[number]++
			at++
		}
	}
	s.dense = map[uint32][]uint64{}
	for i := range counts {
		from, to := s.grams.first[i], s.grams.first[i+1]
		if to-from <= denseTexts {
			continue
		}
		set := make([]uint64, (s.texts()+63)/64)
		for _, t := range s.postings[from:to] {
			set[t/64] |= 1 << (t % 64)
		}
		s.dense[from] = set
	}
}

func (b *builder) fillSlots(s *segment, final []uint16) {
	n := len(b.rows)
	s.ids, s.attrs, s.mints = make([]uint32, n), make([]uint32, n), make([]byte, n*mintKeyLength)
	s.sym, s.name = make([]uint16, n), make([]uint16, n)
	s.symFirst = make([]uint32, len(s.symText)+1)
	s.shortest = maxMintLength
	for slot := range b.rows {
		r := &b.rows[slot]
		s.ids[slot], s.attrs[slot] = r.id, r.attr
		copy(s.mints[slot*mintKeyLength:], r.mint[:])
		s.sym[slot], s.name[slot] = final[b.symText[slot]], final[b.name[slot]]
		s.symFirst[s.symRank[s.sym[slot]]+1]++
		s.shortest = min(s.shortest, r.mint.length())
	}
	s.isSymbol = make([]uint64, (s.texts()+63)/64)
	for i, t := range s.symText {
		s.isSymbol[t/64] |= 1 << (t % 64)
		s.symFirst[i+1] += s.symFirst[i]
	}
	mints := string(s.mints)
	s.mintOrder = textOrder(n, func(slot uint32) string { return mints[slot*mintKeyLength : (slot+1)*mintKeyLength] })
}

func (b *builder) fillNames(s *segment) {
	s.nameFirst = make([]uint32, s.texts()+1)
	for _, name := range s.name {
		s.nameFirst[int(name)+1]++
	}
	s.nameOnce, s.nameMore = make([]uint64, (s.texts()+63)/64), make([]uint64, (s.texts()+63)/64)
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
	s.nameSlots, s.nameSyms = make([]uint32, len(s.name)), make([]uint16, len(s.name))
	for slot, name := range s.name {
		s.nameSlots[next[name]], s.nameSyms[next[name]] = uint32(slot), s.sym[slot]
		next[name]++
	}
}

func (s *segment) fillHalves() {
	entries := make([]bucketEntry, 0, 2*len(s.symText))
	for _, t := range s.symText {
		text := s.text(t)
		if len(text) == 0 {
			continue
		}
		runes := utf8.RuneCount(text)
		cut := cutAfter(text, runes/2)
		entries = append(entries, bucketEntry{hashHalf(runes, true, text[:cut]), t}, bucketEntry{hashHalf(runes, false, text[cut:]), t})
	}
	s.halves = newBuckets(entries)
}

func (s *segment) fillBlocks() {
	var entries []bucketEntry
	// seen is the last block, from 1, that has such a hash. A byte makes two entries at most, so there will not be more buckets.
	seen := make([]uint16, bucketsFor(2*len(s.arena)))
	for t := range s.texts() {
		block := t / blockSize
		add := func(hash uint32) {
			if last := &seen[hash&uint32(len(seen)-1)]; *last != uint16(block+1) {
				*last = uint16(block + 1)
				entries = append(entries, bucketEntry{hash, uint16(block)})
			}
		}
		previous := rune(-1)
		for text := s.text(uint16(t)); len(text) > 0; {
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
