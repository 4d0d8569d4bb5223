package search

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Inverted is an index for millions of tokens: columns, and inverted lists over their distinct
// terms. Apply, Fill and Filled are called by one goroutine at a time; Search by any number, at any
// time.
//
// Tokens lie in immutable segments of at most maxDocuments. What changes later, volumes and
// tombstones, is in chunks that the writer copies to change them. A batch becomes a small segment;
// small segments are merged into larger ones, the large ones by a goroutine in the background. Each
// batch and each merge publishes a new version by one store of a pointer. Readers keep the version
// they began with, so they wait for nobody.
type Inverted struct {
	current    atomic.Pointer[version]
	candidates sync.Pool // of *candidates
	cache      pageCache
	manyTokens int // see ask; it does not change
	mostKept   int // see deepPage; it does not change

	// The fields below are only for the writer.
	writer       sync.Mutex
	serials      uint32
	locations    []location // by row id
	filling      *filling
	attributes   attributeTable
	shorts       shortSet
	tiers        [mostlyGone]int
	maxDocuments int // of a segment
	isMerging    bool
	merges       sync.WaitGroup
}

// NewInverted returns an empty index. It has goroutines only while it merges or is asked; there is
// nothing to close.
func NewInverted() *Inverted {
	x := &Inverted{attributes: attributeTable{numbers: map[string]uint32{}}, tiers: usualTiers(), maxDocuments: maxDocuments, manyTokens: manyTokens, mostKept: mostKept}
	x.cache.seed = maphash.MakeSeed()
	x.candidates.New = func() any { return &candidates{} }
	x.current.Store(&version{shorts: &shortCounts{}})
	return x
}

// Len is the number of tokens.
func (x *Inverted) Len() int { return x.current.Load().live }

// Search answers from one version of the index.
func (x *Inverted) Search(query Query) Result {
	v := x.current.Load()
	key, isCacheable := pageKeyOf(&query)
	if isCacheable {
		if result, ok := x.cache.page(&key, v.number); ok {
			return result
		}
	}
	result := x.search(newPlan(&query, v), v)
	if isCacheable {
		x.cache.put(&key, v.number, result)
	}
	return result
}

// search does the stages of a search that come after the plan.
func (x *Inverted) search(p *plan, v *version) (result Result) {
	offset, size := p.query.Offset, 0
	limit := min(p.query.Limit, v.live)
	switch {
	case limit == 0:
	case p.query.Sort == SortMint:
		// One hit more than the page has: it shows whether there is a next page.
		offset, size = 0, limit+1
	case offset < v.live:
		size = min(offset+limit, v.live)
	}
	if size > x.mostKept && p.query.Sort != SortMint {
		return x.deepPage(p, v, offset, limit)
	}
	r := newRanking(p, size)
	result.Total = x.rank(r, v)
	result.Hits = r.page(offset)
	if p.query.Sort == SortMint && len(result.Hits) > limit {
		result.Hits = result.Hits[:limit]
		last := r.top.entries[limit-1]
		result.Next = last.segment.mints[last.doc].String()
	}
	return result
}

// rank offers the documents that match, as far as they may enter the page, and counts all of them.
func (x *Inverted) rank(r *ranking, v *version) (total int) {
	switch {
	case r.plan.text == "":
		return r.rankAll(v)
	case r.plan.query.Sort == SortRelevance:
		return x.rankByRelevance(r, v)
	default:
		return x.rankByKey(r, v)
	}
}

// rankByRelevance finds the candidates of each segment, counts the documents that have them and
// ranks them. If documents of better tiers fill the page, it only counts.
func (x *Inverted) rankByRelevance(r *ranking, v *version) (total int) {
	r.offerMint(v)
	r.offerPrefixes(v)
	if r.top.mayEnter(TierSubstring, 1, 0) {
		total = x.ask(r.plan, v, true, r.offerFuzzy)
	} else {
		total = x.countMatches(r.plan, v)
	}
	if r.exact.segment != nil && !r.exact.matchesByText(r.plan) { // no candidate counted it
		total++
	}
	return total
}

// countMatches counts the documents that match, without ranking them.
func (x *Inverted) countMatches(p *plan, v *version) int {
	c := x.candidates.Get().(*candidates) // the pool's New makes nothing else
	total, isCounted := c.countShort(p, v)
	x.candidates.Put(c)
	if isCounted {
		return total
	}
	return x.ask(p, v, false, func(*candidates) {})
}

// rankByKey ranks all documents that match, whatever their tier, in an order other than relevance.
func (x *Inverted) rankByKey(r *ranking, v *version) (total int) {
	r.offerMint(v)
	if r.exact.segment != nil {
		total++
	}
	c := x.candidates.Get().(*candidates) // the pool's New makes nothing else
	for _, s := range v.segments {
		c.find(r.plan, s, false)
		c.eachDocument(&r.plan.filter, func(doc uint32) {
			if r.isExact(s, doc) {
				return
			}
			total++
			if key := r.top.key(s, doc); r.top.mayEnter(0, 0, key) && r.isAfter(s, doc) {
				r.top.offer(entry{segment: s, doc: doc, key: key})
			}
		})
		c.reset()
	}
	x.candidates.Put(c)
	return total
}
