package search

import (
	"bytes"
	"container/heap"
	"math"
	"math/bits"
)

// flag says how a text matches, and, if by similarity, in the upper bits how many trigrams it
// shares with the query.
type flag uint32

const (
	flagExact flag = 1 << iota
	flagPrefix
	flagContains
	flagSimilar
	// flagEdit counts for symbols only.
	flagEdit

	flagAny = flagExact | flagPrefix | flagContains | flagSimilar

	sharedShift = 8
)

func similarBy(shared int) flag { return flagSimilar | flag(shared)<<sharedShift }

// searcher is the room that a search needs, and its state. It is used again and again.
type searcher struct {
	*plan
	top     top
	total   int
	collect bool // tokens of the segment are offered one by one

	// Of the segment at hand:
	view      *view
	bits      []uint64
	flags     []flag
	matched   []uint32 // texts with flags
	marksOnly bool     // texts have marks, and only those that may be among the best have flags
	marked    marks
	cutoff    cutoff
	below     float64 // not less than the similarity of a text without a flag
	// the texts that share a trigram with the query, where that was worth finding out
	related []uint64
	lists   []list // of the required trigrams
	// gramLists are those of the query's trigrams, the shortest first; found are the same as the
	// query has them, the empty ones too.
	gramLists, found []list
	parts            [][]uint32 // what is left of gramLists
	// how many of the lists have each of some neighbouring texts, above counted
	window         [windowTexts]uint32
	counted        uint32
	taken          place  // the token whose mint the query is
	bound          uint64 // no token with a greater key is wanted
	bests          keyHeap
	ranges, longer []span // of slots, one for each view
	index          *Inverted
	counts         []viewCount
	uncounted      []*view
	texts          []uint32   // room
	spans          []span     // room
	touched        byte       // see locate
	spare          [][]uint64 // empty bitmaps, the first of which are lent to lists of
	lent           [][]uint32 // these texts
	doubted        []uint64   // see doubts
}

func newSearcher() *searcher { return &searcher{} }

// Search answers from one version. It allocates little beside the page, and for the first pages of
// all tokens nothing.
func (x *Inverted) Search(query Query) Result {
	version := x.current.Load()
	if result, ok := version.leading(&query); ok {
		return result
	}
	key, cacheable := pageKeyOf(&query)
	if cacheable {
		if result, ok := x.cache.page(&key, version.number); ok {
			return result
		}
	}
	result := x.search(&query, version)
	if cacheable {
		x.cache.putPage(&key, version.number, result)
	}
	return result
}

func (x *Inverted) search(query *Query, version *version) Result {
	s := x.pool.Get().(*searcher)
	s.index = x
	result := s.search(query, version)
	x.release(s) // not after a panic: it is half done
	return result
}

func (s *searcher) search(query *Query, version *version) Result {
	s.plan = newPlan(query, version)
	s.total, s.taken, s.bound = 0, place{}, math.MaxUint64
	if query.Sort == SortMint {
		return s.walk(version)
	}
	end := query.Offset + min(query.Limit, version.live)
	if query.Offset >= version.live || query.Limit <= 0 {
		end = 0
	}
	s.top = top{order: query.Sort, figure: query.Figure, k: min(end, version.live), found: s.top.found[:0]}
	if s.text == "" {
		s.everything(version)
	} else {
		s.matching(version)
	}
	result := Result{Total: s.total}
	if ordered := s.top.sorted(); query.Offset < len(ordered) {
		result.Hits = hitsOf(ordered[query.Offset:])
	}
	return result
}

// release puts a searcher back. What is pooled must not keep segments.
func (x *Inverted) release(s *searcher) {
	s.plan, s.view, s.bits, s.marksOnly = nil, nil, nil, false
	s.top.figure = nil
	clear(s.top.found)
	clear(s.lists[:cap(s.lists)])
	clear(s.gramLists[:cap(s.gramLists)])
	clear(s.found[:cap(s.found)])
	clear(s.parts[:cap(s.parts)])
	clear(s.uncounted[:cap(s.uncounted)])
	x.pool.Put(s)
}

func hitsOf(ordered []found) []Hit {
	hits := make([]Hit, len(ordered))
	for i := range ordered {
		f := &ordered[i]
		hits[i] = Hit{f.view.ids[f.slot], f.tier, f.field, f.score}
	}
	return hits
}

// enter makes a view the one at hand.
func (s *searcher) enter(v *view) {
	s.view, s.bits = v, s.filter.bits(v)
}

// everything is the search for nothing in particular.
func (s *searcher) everything(version *version) {
	s.ranges = s.ranges[:0]
	for _, v := range version.views {
		s.ranges = append(s.ranges, span{0, uint32(v.slots())})
	}
	s.setBound(version)
	for _, v := range version.views {
		s.enter(v)
		n := uint32(v.slots())
		if s.filter.slow {
			s.countSlots(0, n)
		} else {
			s.total += s.filter.live(v)
		}
		s.offerRange(0, n, TierAll, FieldNone)
	}
}

// setBound finds a key that the best k tokens of s.ranges, which are slots of each view, do not
// exceed: each whole page's best token is one.
func (s *searcher) setBound(version *version) {
	s.bound = math.MaxUint64
	if s.filter.slow || s.filter.classicOnly || s.order != SortRelevance && s.order != SortVolume || s.top.k > 1<<10 {
		return
	}
	s.bests = s.bests[:0]
	for i, v := range version.views {
		slots := s.ranges[i]
		for page := (slots.from + pageSize - 1) / pageSize; (page+1)*pageSize <= slots.to; page++ {
			if best := v.best[page]; len(s.bests) < s.top.k {
				s.bests = append(s.bests, best)
				if len(s.bests) == s.top.k {
					heap.Init(&s.bests)
				}
			} else if s.top.k > 0 && best < s.bests[0] {
				s.bests[0] = best
				heap.Fix(&s.bests, 0)
			}
		}
	}
	if len(s.bests) == s.top.k && s.top.k > 0 {
		s.bound = s.bests[0]
	}
}

// keyHeap has the greatest key at its root.
type keyHeap []uint64

func (h keyHeap) Len() int           { return len(h) }
func (h keyHeap) Less(i, j int) bool { return h[i] > h[j] }
func (h keyHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push and Pop are unused: see top.
func (h keyHeap) Push(any) {}

// Pop is unused.
func (h keyHeap) Pop() any { return nil }

// countSlots counts the slots from, to (exclusive) that pass.
func (s *searcher) countSlots(from, to uint32) {
	if !s.filter.slow {
		s.total += countBits(s.bits, from, to)
		return
	}
	s.eachSlot(from, to, func(uint32) { s.total++ })
}

// eachSlot calls do for the slots from, to (exclusive) that pass.
func (s *searcher) eachSlot(from, to uint32, do func(slot uint32)) {
	for from < to {
		word := s.bits[from/64] >> (from % 64)
		if word == 0 {
			from = (from/64 + 1) * 64
			continue
		}
		from += uint32(bits.TrailingZeros64(word))
		if from < to && s.filter.passes(s.view, from) {
			do(from)
		}
		from++
	}
}

// eachPromising is eachSlot without the pages of which no token of that tier and score is good
// enough.
func (s *searcher) eachPromising(from, to uint32, tier Tier, score float64, do func(slot uint32)) {
	for from < to {
		end := min(to, (from/pageSize+1)*pageSize)
		if s.top.mayTake(tier, score, s.view.best[from/pageSize]) {
			s.eachSlot(from, end, do)
		}
		from = end
	}
}

// offerRange offers the slots from, to (exclusive), which are all of one tier, leaving out pages
// that hold nothing good enough.
func (s *searcher) offerRange(from, to uint32, tier Tier, field Field) {
	byKey := s.order == SortRelevance || s.order == SortVolume
	f := found{view: s.view, tier: tier, field: field}
	for from < to {
		end := min(to, (from/pageSize+1)*pageSize)
		if best := s.view.best[from/pageSize]; byKey && (best > s.bound || !s.top.mayTake(tier, 0, best)) {
			from = end
			continue
		}
		s.eachSlot(from, end, func(slot uint32) {
			f.key, f.slot = s.top.sortKey(s.view, slot), slot
			if s.top.mayTake(tier, 0, f.key) && !s.isTaken(slot) {
				s.top.offer(&f)
			}
		})
		from = end
	}
}

// matching is the search for a text.
func (s *searcher) matching(version *version) {
	found := s.offerMint(version)
	s.collect = s.order != SortRelevance
	if !s.collect {
		s.offerPrefixes(version)
		s.collect = !s.top.full()
	}
	if !s.collect {
		s.count(version)
		if found && !s.takenMatches(version) {
			s.total++
		}
		return
	}
	s.marksOnly = s.order == SortRelevance && !s.filter.slow
	for _, v := range version.views {
		s.enter(v)
		s.collectMatches()
		if found && s.taken.serial == v.serial && !s.isMatch(s.taken.slot) {
			s.total++
		}
		s.leave()
	}
}

// offerMint offers the token whose mint the query is.
func (s *searcher) offerMint(version *version) bool {
	key, ok := packMint(s.mint)
	if !ok {
		return false
	}
	for _, v := range version.views {
		if len(s.mint) < v.shortest {
			continue
		}
		at := v.findMint(key[:])
		for ; at < v.slots() && bytes.Equal(v.mint(v.mintOrder[at]), key[:]); at++ {
			slot := v.mintOrder[at]
			if s.enter(v); s.bits[slot/64]>>(slot%64)&1 == 0 || !s.filter.passes(v, slot) {
				continue
			}
			s.taken = place{v.serial, slot}
			if s.order == SortMint && !s.isAhead(slot) {
				return true
			}
			s.top.offer(&found{view: v, slot: slot, tier: TierMint, field: FieldMint, key: s.top.sortKey(v, slot)})
			return true
		}
	}
	return false
}

// isMatch says that a token matches by its texts.
func (s *searcher) isMatch(slot uint32) bool {
	if s.marksOnly {
		return s.marked.isWanted(s.view.sym[slot], s.view.name[slot])
	}
	return s.tierOf(slot) != noMatch
}

func (s *searcher) isTaken(slot uint32) bool {
	return s.taken.serial == s.view.serial && s.taken.slot == slot
}

// offerPrefixes offers the tokens of the tiers above the fuzzy ones.
func (s *searcher) offerPrefixes(version *version) {
	prefix := []byte(s.text)
	s.ranges, s.longer = s.ranges[:0], s.longer[:0]
	for _, v := range version.views {
		from, to := v.prefixRange(&v.symText, prefix)
		exact := from
		if from < to && len(v.text(v.symText.texts[from])) == len(prefix) {
			from++
		}
		s.ranges = append(s.ranges, span{v.symFirst[exact], v.symFirst[from]})
		s.longer = append(s.longer, span{v.symFirst[from], v.symFirst[to]})
	}
	s.offerRanges(version, TierSymbol)
	s.ranges, s.longer = s.longer, s.ranges
	s.offerRanges(version, TierSymbolPrefix)
	s.bound = math.MaxUint64
	if s.top.full() {
		return
	}
	for _, v := range version.views {
		s.enter(v)
		from, to := v.prefixRange(&v.nameText, prefix)
		for _, t := range v.nameText.texts[from:to] {
			s.offerName(t, prefix)
		}
	}
}

// offerRanges offers the slots of s.ranges.
func (s *searcher) offerRanges(version *version, tier Tier) {
	if !s.top.mayTake(tier, 0, 0) {
		return
	}
	s.setBound(version)
	for i, v := range version.views {
		s.enter(v)
		s.offerRange(s.ranges[i].from, s.ranges[i].to, tier, FieldSymbol)
	}
}

// offerName offers the tokens of a name that begins with the query, but for those whose symbols do,
// too.
func (s *searcher) offerName(t uint32, prefix []byte) {
	v := s.view
	f := found{view: v, tier: TierNamePrefix, field: FieldName}
	for _, slot := range v.nameSlots[v.nameFirst[t]:v.nameFirst[int(t)+1]] {
		if s.bits[slot/64]>>(slot%64)&1 == 0 || !s.filter.passes(v, slot) || s.isTaken(slot) {
			continue
		}
		f.key, f.slot = v.key(slot), slot
		if s.top.mayTake(f.tier, 0, f.key) && !bytes.HasPrefix(v.text(v.sym[slot]), prefix) {
			s.top.offer(&f)
		}
	}
}
