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
// token once, where merging builds it several times, and tokens of one symbol in one segment, so
// that fewer texts are searched later.

const (
	// fillBuckets divide what is gathered by symbols. Some of them make a segment.
	fillBuckets = 64
	// fillChunk is how many rows are made room for at once.
	fillChunk = 1 << 10
)

// filling is what Fill has gathered.
type filling struct {
	buckets [fillBuckets]fillBucket
}

type fillBucket struct {
	chunks [][]gathered
	rows   int
	texts  *textSet
}

// gathered is a row without pointers: the collector would follow them again and again.
type gathered struct {
	id, attr      uint32
	symbol, name  uint32 // texts of the bucket
	mint          mintKey
	classic, gone bool // gone: it holds no token any more
	key           uint64
	seen          int64
}

// fillPlace is where a token is that was gathered. Segments do not get such serials.
func fillPlace(bucket, row int) place { return place{math.MaxUint32 - uint32(bucket), uint32(row)} }

// at is what was gathered at a place; nil when it is a segment's.
func (f *filling) at(p place) *gathered {
	bucket := math.MaxUint32 - p.serial
	if f == nil || bucket >= fillBuckets {
		return nil
	}
	return f.buckets[bucket].at(p.slot)
}

func (b *fillBucket) at(row uint32) *gathered { return &b.chunks[row/fillChunk][row%fillChunk] }

// add takes a row in, and says where it is.
func (f *filling) add(seed maphash.Seed, r *row) place {
	number := int(maphash.String(seed, r.symbol) % fillBuckets)
	b := &f.buckets[number]
	if b.texts == nil {
		b.texts = newTextSet(fillChunk)
	}
	if b.rows%fillChunk == 0 {
		b.chunks = append(b.chunks, make([]gathered, 0, fillChunk))
	}
	last := &b.chunks[len(b.chunks)-1]
	*last = append(*last, gathered{
		id: r.id, attr: r.attr, symbol: b.texts.number(r.symbol), name: b.texts.number(r.name), mint: r.mint, classic: r.classic, key: r.key, seen: r.seen,
	})
	b.rows++
	return fillPlace(number, b.rows-1)
}

// row is what was gathered, as segments are built of it.
func (b *fillBucket) row(g *gathered) row {
	return row{
		id: g.id, attr: g.attr, mint: g.mint, classic: g.classic, key: g.key, seen: g.seen, symbol: b.texts.text(g.symbol), name: b.texts.text(g.name),
	}
}

// Fill is Apply while nobody searches yet: what it is told is found after Filled, or the next
// Apply. A registry that is loaded by it takes less time and room, and is searched faster.
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

// fill is false for a token that is in a segment.
func (x *Inverted) fill(document *Document) bool {
	at := x.placeOf(document.ID)
	if at.serial != 0 {
		r := x.filling.at(at)
		if r == nil {
			return false
		}
		*r = gathered{gone: true}
		x.where[document.ID] = place{}
	}
	r, ok := x.rowOf(document)
	if !ok {
		return true
	}
	if x.filling == nil {
		x.filling = &filling{}
	}
	x.where[document.ID] = x.filling.add(x.cache.seed, &r)
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
	groups := f.groups(x.most)
	built, shorts := make([][]fresh, len(groups)), make([]shortCounts, len(groups))
	work := make(chan int)
	var workers sync.WaitGroup
	for range min(len(groups), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for i := range work {
				built[i] = x.buildGroup(groups[i], &shorts[i])
			}
		})
	}
	for i := range groups {
		work <- i
	}
	close(work)
	workers.Wait()
	x.show(built, shorts)
	if len(groups) > 1 {
		debug.FreeOSMemory() // no moment needs more room than this one did
	}
}

// groups are buckets whose tokens make a segment together: as few groups as can be, with equally
// many texts, which are what a search goes through. So one may have some more tokens than a segment
// has otherwise; of far more buildGroup makes several.
func (f *filling) groups(most int) [][]fillBucket {
	buckets := slices.DeleteFunc(f.buckets[:], func(b fillBucket) bool { return b.rows == 0 })
	slices.SortFunc(buckets, func(a, b fillBucket) int { return b.texts.len() - a.texts.len() })
	rows := 0
	for i := range buckets {
		rows += buckets[i].rows
	}
	groups := make([][]fillBucket, (rows+most-1)/most)
	texts := make([]int, len(groups))
	for i := range buckets { // the largest first
		least := slices.Index(texts, slices.Min(texts))
		groups[least], texts[least] = append(groups[least], buckets[i]), texts[least]+buckets[i].texts.len()
	}
	clear(buckets)
	return groups
}

// buildGroup makes segments, and counts short texts. The buckets are empty then.
func (x *Inverted) buildGroup(buckets []fillBucket, shorts *shortCounts) []fresh {
	var places []place // of buckets and rows
	var set shortSet
	for i := range buckets {
		b := &buckets[i]
		for at := range uint32(b.rows) {
			if g := b.at(at); !g.gone {
				places = append(places, place{uint32(i), at})
				shorts.add(set.of(b.texts.text(g.symbol), b.texts.text(g.name)), g.classic, 1)
			}
		}
	}
	order := textOrder(len(places), func(i uint32) string {
		b := &buckets[places[i].serial]
		return b.texts.text(b.at(places[i].slot).symbol)
	})
	var next row
	rows := inOrder(order, func(i uint32) *row {
		b := &buckets[places[i].serial]
		next = b.row(b.at(places[i].slot))
		return &next
	})
	return x.build(len(places), 2*x.most, func() *row {
		r := rows()
		if r == nil { // what is left to do with a segment takes most room, and nothing of this
			places = nil
			clear(buckets)
		}
		return r
	})
}

// show publishes what was built from what was gathered.
func (x *Inverted) show(built [][]fresh, shorts []shortCounts) {
	next := *x.current.Load()
	next.number++
	next.attrs = x.attrs.list
	counts := *next.shorts
	for i := range shorts {
		counts.sum(&shorts[i])
	}
	next.shorts, next.views = &counts, slices.Clone(next.views)
	for i := range built {
		for _, f := range built[i] {
			next.views = append(next.views, f.view)
			next.live += f.view.live
			next.liveClassic += f.view.liveOld
			x.settle(f.view)
		}
	}
	next.leaders[allClasses] = x.findLeaders(&next, false, next.live)
	next.leaders[classicOnly] = x.findLeaders(&next, true, next.liveClassic)
	x.current.Store(&next)
}
