package search

import (
	"hash/maphash"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
)

// A registry that is loaded whole is gathered first, and its segments are built at the end: each
// document once, where merging builds it several times, and documents of one symbol in one segment,
// so that fewer terms are searched later.

const (
	// fillBuckets divide what is gathered by symbols. Some of them make a segment.
	fillBuckets = 64
	// fillChunk is how many rows are allocated at once.
	fillChunk = 1 << 10
)

// filling is what Fill has gathered.
type filling struct {
	buckets [fillBuckets]fillBucket
}

type fillBucket struct {
	chunks [][]gathered
	rows   int
	terms  *termSet
}

// gathered is a row without pointers: the collector would follow them again and again.
type gathered struct {
	id, attributes uint32
	symbol, name   uint32 // terms of the bucket
	mint           mintKey
	classic, gone  bool // gone: it holds no document any more
	key            uint64
	seen           int64
}

// gatheredAt is where a row is that was gathered. Segments do not get such serials.
func gatheredAt(bucket, row int) location {
	return location{math.MaxUint32 - uint32(bucket), uint32(row)}
}

// at is what was gathered at a location; nil when it is a segment's.
func (f *filling) at(l location) *gathered {
	bucket := math.MaxUint32 - l.serial
	if f == nil || bucket >= fillBuckets {
		return nil
	}
	return f.buckets[bucket].at(l.doc)
}

func (b *fillBucket) at(row uint32) *gathered { return &b.chunks[row/fillChunk][row%fillChunk] }

// add takes a row in, and says where it is.
func (f *filling) add(seed maphash.Seed, r *row) location {
	number := int(maphash.String(seed, r.symbol) % fillBuckets)
	b := &f.buckets[number]
	if b.terms == nil {
		b.terms = newTermSet(fillChunk)
	}
	if b.rows%fillChunk == 0 {
		b.chunks = append(b.chunks, make([]gathered, 0, fillChunk))
	}
	last := &b.chunks[len(b.chunks)-1]
	*last = append(*last, gathered{
		id: r.id, attributes: r.attributes, symbol: b.terms.number(r.symbol), name: b.terms.number(r.name),
		mint: r.mint, classic: r.classic, key: r.key, seen: r.seen,
	})
	b.rows++
	return gatheredAt(number, b.rows-1)
}

// row is what was gathered, as segments are built of it.
func (b *fillBucket) row(g *gathered) row {
	return row{
		id: g.id, attributes: g.attributes, mint: g.mint, classic: g.classic, key: g.key, seen: g.seen,
		symbol: b.terms.text(g.symbol), name: b.terms.text(g.name),
	}
}

// Fill is Apply while nobody searches yet: what it is told is found after Filled, or the next
// Apply. A registry that is loaded by it takes less time and memory, and is searched faster.
func (x *Inverted) Fill(documents []Document) {
	x.writer.Lock()
	defer x.writer.Unlock()
	for i := range documents {
		if !x.fill(&documents[i]) { // what is in a segment already is not gathered
			x.endFilling()
			x.apply(documents[i:])
			return
		}
	}
}

// fill is false for a document that is in a segment.
func (x *Inverted) fill(document *Document) bool {
	at := x.locationOf(document.ID)
	if at.serial != 0 {
		g := x.filling.at(at)
		if g == nil {
			return false
		}
		*g = gathered{gone: true}
		x.locations[document.ID] = location{}
	}
	r, ok := x.rowOf(document)
	if !ok {
		return true
	}
	if x.filling == nil {
		x.filling = &filling{}
	}
	x.locations[document.ID] = x.filling.add(x.cache.seed, &r)
	return true
}

// Filled makes what Fill was told visible.
func (x *Inverted) Filled() {
	x.writer.Lock()
	defer x.writer.Unlock()
	x.endFilling()
}

func (x *Inverted) endFilling() {
	f := x.filling
	if f == nil {
		return
	}
	x.filling = nil
	groups := f.groups(x.maxDocuments)
	all, shorts := make([][]built, len(groups)), make([]shortCounts, len(groups))
	cores := make(chan struct{}, runtime.GOMAXPROCS(0))
	var workers sync.WaitGroup
	for i := range groups {
		workers.Go(func() {
			cores <- struct{}{}
			all[i] = x.buildGroup(groups[i], &shorts[i])
			<-cores
		})
	}
	workers.Wait()
	x.show(slices.Concat(all...), shorts)
	if len(groups) > 1 {
		debug.FreeOSMemory() // no moment needs more memory than this one did
	}
}

// groups are buckets whose rows make a segment together: as few groups as can be.
func (f *filling) groups(most int) (groups [][]fillBucket) {
	rows := 0
	for i := range f.buckets {
		rows += f.buckets[i].rows
	}
	count := min(fillBuckets, (rows+most-1)/most)
	for i := range count {
		groups = append(groups, f.buckets[i*fillBuckets/count:(i+1)*fillBuckets/count])
	}
	return groups
}

// buildGroup makes segments, and counts short texts. The buckets are empty then. One symbol may
// have very many documents, so a segment may get twice as many as otherwise.
func (x *Inverted) buildGroup(buckets []fillBucket, shorts *shortCounts) []built {
	var rows []location // of buckets
	var set shortSet
	for i := range buckets {
		b := &buckets[i]
		for at := range uint32(b.rows) {
			if g := b.at(at); !g.gone {
				rows = append(rows, location{uint32(i), at})
				shorts.add(set.of(b.terms.text(g.symbol), b.terms.text(g.name)), g.classic, 1)
			}
		}
	}
	order := textOrder(len(rows), func(i uint32) string {
		b := &buckets[rows[i].serial]
		return b.terms.text(b.at(rows[i].doc).symbol)
	})
	var next row
	sorted := inOrder(order, func(i uint32) *row {
		b := &buckets[rows[i].serial]
		next = b.row(b.at(rows[i].doc))
		return &next
	})
	return x.build(len(rows), 2*x.maxDocuments, func() *row {
		r := sorted()
		if r == nil { // what is left to do with a segment takes most memory, and nothing of this
			rows = nil
			clear(buckets)
		}
		return r
	})
}

// show publishes what was built of what was gathered.
func (x *Inverted) show(all []built, shorts []shortCounts) {
	next := *x.current.Load()
	next.number++
	next.attributes = x.attributes.list
	counts := *next.shorts
	for i := range shorts {
		counts.sum(&shorts[i])
	}
	next.shorts, next.segments = &counts, slices.Clone(next.segments)
	for i := range all {
		s := all[i].segment
		next.segments = append(next.segments, s)
		next.live += s.liveCount
		x.locate(s)
	}
	x.current.Store(&next)
}
