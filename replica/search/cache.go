package search

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	// cachedPages are kept at most, some 15 MB of the usual size.
	cachedPages = 8192
	// cachedHits is the longest page that is kept.
	cachedHits = 100
)

// pageCache keeps pages. A page holds for the version it was made of, so it is never out of date.
// The cache is direct-mapped: a hash finds the only cell that a page may have, and the last one
// that comes takes it. There is no lock.
type pageCache struct {
	seed  maphash.Seed
	cells [cachedPages]atomic.Pointer[cachedPage]
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

// Forget empties the cache: for measurements of what is asked for the first time.
func (x *Inverted) Forget() {
	for i := range x.cache.cells {
		x.cache.cells[i].Store(nil)
	}
}

// pageKeyOf is false for what is not kept: filters are seldom asked for twice, walks never, and
// figures change without the index.
func pageKeyOf(query *Query) (pageKey, bool) {
	f := &query.Filter
	plain := f.Extensions == nil && f.NotExtensions == nil && f.Tag == "" && f.Launchpad == "" && f.MinVolume == nil && f.CreatedAfter == nil && f.Passes == nil
	key := pageKey{query.Text, query.IncludeToken22, f.Program, query.Sort, query.Offset, query.Limit}
	return key, plain && query.Sort != SortMint && query.Sort != SortFigure && query.Limit <= cachedHits && len(query.Text) <= 128
}

func (c *pageCache) cell(key *pageKey) *atomic.Pointer[cachedPage] {
	return &c.cells[maphash.Comparable(c.seed, *key)%cachedPages]
}

func (c *pageCache) page(key *pageKey, version uint64) (Result, bool) {
	page := c.cell(key).Load()
	if page == nil || page.version != version || page.pageKey != *key {
		return Result{}, false
	}
	return page.result, true
}

func (c *pageCache) put(key *pageKey, version uint64, result Result) {
	cell := c.cell(key)
	page := &cachedPage{*key, version, result}
	page.text = strings.Clone(page.text) // it may lie in a buffer of the caller's
	cell.Store(page)
}
