package search

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
)

const (
	// cachedPages is the most pages that are kept, some 15 MB of the usual size.
	cachedPages = 8192
	// cachedHits is the longest page that is kept.
	cachedHits = 100
	// cachedText is the longest text, in bytes, whose page is kept.
	cachedText = 128
)

// pageCache keeps pages. A page is valid for the version that it was made of, so none is ever out
// of date. The cache is direct-mapped: a page has one cell, by its hash, and the latest page of a
// cell stays. There is no lock.
type pageCache struct {
	seed  maphash.Seed
	cells [cachedPages]atomic.Pointer[cachedPage]
}

type pageKey struct {
	text           string // as the user wrote it: the case of a mint matters
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

// Forget empties the cache, to measure searches that are not cached.
func (x *Inverted) Forget() {
	for i := range x.cache.cells {
		x.cache.cells[i].Store(nil)
	}
}

// pageKeyOf returns the key of a query's page; false if it is not to be cached. Queries with
// filters are seldom repeated, pages in the order of mints never, and figures change without a new
// version.
func pageKeyOf(query *Query) (pageKey, bool) {
	f := &query.Filter
	plain := f.Extensions == nil && f.NotExtensions == nil && f.Tag == "" && f.Launchpad == "" && f.MinVolume == nil && f.CreatedAfter == nil && f.Passes == nil
	key := pageKey{query.Text, query.IncludeToken22, f.Program, query.Sort, query.Offset, query.Limit}
	return key, plain && query.Sort != SortMint && query.Sort != SortFigure && query.Limit <= cachedHits && len(query.Text) <= cachedText
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
