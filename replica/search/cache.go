package search

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	// cacheSlots is how many pages, and how many counts, are remembered at most. Some 15 MB of the
	// usual size.
	cacheSlots = 8192
	// cachedHits is the longest page that is remembered.
	cachedHits = 100
)

// cache remembers pages, and how many tokens of each segment match. A page holds for the very
// version it was made of, a count for the segment's texts and live tokens: so nothing that is
// remembered is ever out of date. Its places are found by hash, and whoever comes last takes the
// place: no lock, and no more room for those who ask for what nobody else does.
type cache struct {
	seed   maphash.Seed
	pages  [cacheSlots]atomic.Pointer[cachedPage]
	counts [cacheSlots]atomic.Pointer[cachedCounts]
}

type pageKey struct {
	text           string // as the user wrote it: a mint has no other way of writing
	includeToken22 bool
	program        Program
	sort           Sort
	offset, limit  int
}

type cachedPage struct {
	pageKey
	version uint64
	result  Result
}

type countKey struct {
	text        string // normalised
	classicOnly bool
}

type cachedCounts struct {
	countKey
	counts []viewCount
}

// viewCount is how many tokens of a view match.
type viewCount struct {
	serial, count uint32
	epoch         uint64
}

// Forget empties the cache: for measurements of what is asked for the first time.
func (x *Inverted) Forget() {
	for i := range cacheSlots {
		x.cache.pages[i].Store(nil)
		x.cache.counts[i].Store(nil)
	}
}

// pageKeyOf is false for what is not remembered: filters are seldom asked for twice, walks
// never, and figures change without the index.
func pageKeyOf(query *Query) (pageKey, bool) {
	f := &query.Filter
	plain := f.Extensions == nil && f.NotExtensions == nil && f.Tag == "" && f.MinVolume == nil && f.CreatedAfter == nil && f.Passes == nil
	key := pageKey{query.Text, query.IncludeToken22, f.Program, query.Sort, query.Offset, query.Limit}
	return key, plain && query.Sort != SortMint && query.Sort != SortFigure && query.Limit <= cachedHits && len(query.Text) <= 128
}

func (c *cache) page(key *pageKey, version uint64) (Result, bool) {
	page := c.pages[maphash.Comparable(c.seed, *key)%cacheSlots].Load()
	if page == nil || page.version != version || page.pageKey != *key {
		return Result{}, false
	}
	return page.result, true
}

func (c *cache) putPage(key *pageKey, version uint64, result Result) {
	place := &c.pages[maphash.Comparable(c.seed, *key)%cacheSlots]
	page := &cachedPage{*key, version, result}
	page.text = strings.Clone(page.text) // it may lie in a buffer of the caller's
	place.Store(page)
}

func (c *cache) count(key *countKey) []viewCount {
	found := c.counts[maphash.Comparable(c.seed, *key)%cacheSlots].Load()
	if found == nil || found.countKey != *key {
		return nil
	}
	return found.counts
}

func (c *cache) putCount(key *countKey, counts []viewCount) {
	found := &cachedCounts{*key, slices.Clone(counts)}
	found.text = strings.Clone(found.text)
	c.counts[maphash.Comparable(c.seed, *key)%cacheSlots].Store(found)
}
