package search

import (
	"container/heap"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// segmentCount divides the tokens so that a change copies a small part of them.
const segmentCount = 256

// Scan is the oracle: an index that looks at every token. Writers publish a new version of the
// segments they touch, readers keep the version they began with.
type Scan struct {
	seed    maphash.Seed
	writer  sync.Mutex
	current atomic.Pointer[scanVersion]
}

// scanVersion is one immutable state. Segments are sorted by mint.
type scanVersion struct {
	segments [segmentCount][]*document
	count    int
}

// Index is what Inverted and the oracle have in common.
type Index interface {
	Apply(documents []Document)
	Fill(documents []Document)
	Filled()
	Search(query Query) Result
	Len() int
}

var _, _ Index = (*Inverted)(nil), (*Scan)(nil)

// NewScan returns an empty index.
func NewScan() *Scan {
	s := &Scan{seed: maphash.MakeSeed()}
	s.current.Store(&scanVersion{})
	return s
}

// Len is the number of tokens.
func (s *Scan) Len() int { return s.current.Load().count }

// Apply publishes all changes at once. Of two changes of one mint the later holds.
func (s *Scan) Apply(changes []Document) {
	if len(changes) == 0 {
		return
	}
	s.writer.Lock()
	defer s.writer.Unlock()
	bySegment := make(map[uint64][]Document)
	for _, change := range changes {
		segment := maphash.Bytes(s.seed, change.Mint[:]) % segmentCount
		bySegment[segment] = append(bySegment[segment], change)
	}
	next := *s.current.Load()
	for segment, changes := range bySegment {
		before := len(next.segments[segment])
		next.segments[segment] = merge(next.segments[segment], changes)
		next.count += len(next.segments[segment]) - before
	}
	s.current.Store(&next)
}

// merge returns a new segment with the changes in it.
func merge(old []*document, changes []Document) []*document {
	slices.SortStableFunc(changes, func(a, b Document) int { return strings.Compare(a.Mint.String(), b.Mint.String()) })
	merged := make([]*document, 0, len(old)+len(changes))
	for i := 0; i < len(changes); i++ {
		if i+1 < len(changes) && changes[i+1].Mint == changes[i].Mint {
			continue // a later change of the same mint follows
		}
		at, found := slices.BinarySearchFunc(old, changes[i].Mint.String(), func(d *document, mint string) int {
			return strings.Compare(d.mint, mint)
		})
		merged = append(merged, old[:at]...)
		old = old[at:]
		if found {
			old = old[1:]
		}
		if changes[i].Token != nil {
			merged = append(merged, newDocument(&changes[i]))
		}
	}
	return append(merged, old...)
}

// Fill is Apply.
func (s *Scan) Fill(changes []Document) { s.Apply(changes) }

// Filled has nothing left to do.
func (s *Scan) Filled() {}

// Search looks at every token of the current version.
func (s *Scan) Search(query Query) Result {
	current := s.current.Load()
	matcher := newMatcher(query.Text)
	matches := make([]match, 0, 64)
	for i := range current.segments {
		for _, d := range current.segments[i] {
			if !d.passes(&query) {
				continue
			}
			if m := matcher.match(d); m.tier != noMatch {
				matches = append(matches, m)
			}
		}
	}
	return pageOfMatches(&query, matches)
}

// pageOfMatches puts all matches in order as far as the page needs it.
func pageOfMatches(query *Query, matches []match) Result {
	result := Result{Total: len(matches)}
	if query.Sort == SortMint {
		matches = slices.DeleteFunc(matches, func(m match) bool { return m.mint <= query.Cursor })
		query.Offset = 0
	}
	if query.Offset >= len(matches) || query.Limit <= 0 {
		return result
	}
	end := query.Offset + min(len(matches)-query.Offset, query.Limit)
	page := first(query.Sort, matches, end)[query.Offset:]
	result.Hits = make([]Hit, len(page))
	for i := range page {
		result.Hits[i] = Hit{page[i].id, page[i].tier, page[i].field, page[i].score}
	}
	if query.Sort == SortMint && end < len(matches) {
		result.Next = page[len(page)-1].mint
	}
	return result
}

// matcher is a query with what matching needs, computed once.
type matcher struct {
	mint, text string
	runes      int
	grams      []gram
}

func newMatcher(query string) *matcher {
	text := Normalise(query)
	return &matcher{mint: strings.TrimSpace(query), text: text, runes: utf8.RuneCountInString(text), grams: grams(text)}
}

func (m *matcher) match(d *document) match {
	switch {
	case m.text == "":
		return match{d, TierAll, FieldNone, 0}
	case d.mint == m.mint:
		return match{d, TierMint, FieldMint, 0}
	case d.symbol == m.text:
		return match{d, TierSymbol, FieldSymbol, 0}
	case strings.HasPrefix(d.symbol, m.text):
		return match{d, TierSymbolPrefix, FieldSymbol, 0}
	case strings.HasPrefix(d.name, m.text):
		return match{d, TierNamePrefix, FieldName, 0}
	case strings.Contains(d.symbol, m.text) || strings.Contains(d.name, m.text):
		field, score := m.similarity(d)
		return match{d, TierSubstring, field, score}
	}
	field, score := FieldNone, 0.0
	if m.maySimilar(d) {
		field, score = m.similarity(d)
	}
	if m.isTypo(d) {
		if typo := 1 - 1/float64(max(m.runes, d.symbolRunes)); typo >= score {
			field, score = FieldSymbol, typo
		}
		return match{d, TierSimilar, field, score}
	}
	if score >= MinSimilarity {
		return match{d, TierSimilar, field, score}
	}
	return match{tier: noMatch}
}

// similarity is the better one of symbol and name, and which it is.
func (m *matcher) similarity(d *document) (Field, float64) {
	symbol, name := similarity(m.grams, d.symbolGrams), similarity(m.grams, d.nameGrams)
	if name > symbol {
		return FieldName, name
	}
	return FieldSymbol, symbol
}

// maySimilar is a quick test that never denies a similarity of MinSimilarity: shared >=
// s(|a|+|b|-shared) means shared >= s/(1+s) (|a|+|b|).
func (m *matcher) maySimilar(d *document) bool {
	possible := 0
	for _, g := range m.grams {
		if d.gramMask&g.bit() != 0 {
			possible++
		}
	}
	return float64(possible)*(1+MinSimilarity)+0.001 >= MinSimilarity*float64(len(m.grams)+d.fewestAnyGram)
}

// isTypo says that the symbol is one edit away. An absent symbol is none: it would match every
// query of one letter.
func (m *matcher) isTypo(d *document) bool {
	difference := d.symbolRunes - m.runes
	return d.symbol != "" && difference >= -1 && difference <= 1 && oneEdit(m.text, d.symbol)
}

// first returns the n best matches in order. For a small n it keeps the n best in a heap instead of
// sorting all.
func first(sort Sort, matches []match, n int) []match {
	compare := func(a, b match) int { return compareMatches(sort, &a, &b) }
	if n*4 >= len(matches) {
		slices.SortFunc(matches, compare)
		return matches[:n]
	}
	best := worstFirst{matches[:n:n], sort}
	heap.Init(best)
	for i := n; i < len(matches); i++ {
		if compareMatches(sort, &matches[i], &best.matches[0]) < 0 {
			best.matches[0] = matches[i]
			heap.Fix(best, 0)
		}
	}
	slices.SortFunc(best.matches, compare)
	return best.matches
}

// worstFirst is a heap whose root is the worst match kept.
type worstFirst struct {
	matches []match
	sort    Sort
}

func (h worstFirst) Len() int { return len(h.matches) }
func (h worstFirst) Less(i, j int) bool {
	return compareMatches(h.sort, &h.matches[i], &h.matches[j]) > 0
}
func (h worstFirst) Swap(i, j int) { h.matches[i], h.matches[j] = h.matches[j], h.matches[i] }
func (h worstFirst) Push(any)      {}
func (h worstFirst) Pop() any      { return nil }
