package search

import (
	"hash/maphash"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Inverted is an index for millions of tokens: columns, and inverted lists over their distinct
// texts. Apply, Fill and Filled are called by one goroutine at a time; Search by any number, at any
// time.
//
// Tokens live in immutable segments of at most maxSlots; what changes beside them (volumes,
// removals) is in pages that the writer copies. A batch becomes a small segment; small segments are
// merged into larger ones, the large merges by a goroutine beside. Each batch and each merge
// publishes a new version by one store of a pointer; readers keep the version they began with, so
// they wait for nobody.
type Inverted struct {
	current       atomic.Pointer[version]
	pool          sync.Pool // of *searcher
	cache         cache
	cutoffReserve int // see cutoff
	minSets       int

	// What follows is the writer's.
	writer  sync.Mutex
	serials uint32
	where   []place // by id
	filling *filling
	attrs   attributeTable
	set     shortSet
	tiers   [mostlyGone]int
	most    int // tokens of a segment
	merging bool
	merges  sync.WaitGroup
}

// NewInverted returns an empty index. It has no goroutine but while it merges, which ends by
// itself.
func NewInverted() *Inverted {
	x := &Inverted{attrs: attributeTable{numbers: map[string]uint32{}}, tiers: usualTiers(), most: maxSlots, cutoffReserve: cutoffReserve, minSets: minSets}
	x.cache.seed = maphash.MakeSeed()
	x.pool.New = func() any { return newSearcher() }
	nobody := newLeaders(nil, true)
	x.current.Store(&version{shorts: &shortCounts{}, leaders: [classes]*leaders{nobody, nobody}})
	return x
}

// Len is the number of tokens.
func (x *Inverted) Len() int { return x.current.Load().live }

// Apply publishes all documents at once. Of two of one mint the later holds. A mint that is none
// (see Document) is left out.
func (x *Inverted) Apply(documents []Document) {
	if len(documents) == 0 {
		return
	}
	x.writer.Lock()
	defer x.writer.Unlock()
	x.endFilling()
	x.apply(documents)
}

func (x *Inverted) apply(documents []Document) {
	b := x.newBatch()
	last := make(map[uint32]int, len(documents))
	for i := range documents {
		last[documents[i].ID] = i
	}
	for i := range documents {
		if last[documents[i].ID] == i {
			b.change(&documents[i])
		}
	}
	b.publish()
	x.mergeSome()
}

// batch is a version under construction.
type batch struct {
	x       *Inverted
	next    version
	drafts  map[uint32]*draft // by serial
	shorts  bool              // next.shorts is a copy already
	pending []row
	led     [classes]map[uint32]leader // what changes among the leaders, by id
}

func (x *Inverted) newBatch() *batch {
	b := &batch{x: x, next: *x.current.Load(), drafts: map[uint32]*draft{}}
	b.next.number++
	return b
}

// draft is the view of a segment, to change.
func (b *batch) draft(serial uint32) *draft {
	d := b.drafts[serial]
	if d == nil {
		d = newDraft(b.latest(serial))
		b.drafts[serial] = d
	}
	return d
}

// latest is the view of a segment as the batch has it up to now, to read.
func (b *batch) latest(serial uint32) *view {
	if d := b.drafts[serial]; d != nil {
		return d.view
	}
	return b.next.views[slices.IndexFunc(b.next.views, func(v *view) bool { return v.serial == serial })]
}

func (b *batch) change(document *Document) {
	x := b.x
	at := x.placeOf(document.ID)
	if document.Token == nil {
		if at.serial != 0 {
			d := b.latest(at.serial)
			b.lead(leader{id: document.ID, gone: true}, false, d.key(at.slot), d.isClassic(at.slot))
			b.remove(document.ID)
		}
		return
	}
	r, ok := x.rowOf(document)
	if !ok {
		return
	}
	now := leader{key: r.key, seen: r.seen, mint: r.mint, id: r.id}
	if at.serial != 0 {
		d := b.latest(at.serial)
		b.lead(now, r.classic, d.key(at.slot), d.isClassic(at.slot))
		if d.attrs[at.slot] == r.attr && string(d.text(d.sym[at.slot])) == r.symbol && string(d.text(d.name[at.slot])) == r.name {
			// Most changes are of what nobody searches for, such as the supply.
			if d.key(at.slot) != r.key || d.seenAt(at.slot) != r.seen {
				b.draft(at.serial).rekey(at.slot, r.key, r.seen)
			}
			return
		}
		b.remove(document.ID)
	} else {
		b.lead(now, r.classic, math.MaxUint64, false)
	}
	r.symbol, r.name = strings.Clone(r.symbol), strings.Clone(r.name)
	b.count(r.symbol, r.name, r.classic, 1)
	b.pending = append(b.pending, r)
}

// placeOf makes room for the place of an id, too.
func (x *Inverted) placeOf(id uint32) place {
	for int(id) >= len(x.where) {
		x.where = append(x.where, place{})
	}
	return x.where[id]
}

// rowOf is what the index keeps of a token; false for none, or no mint. Its texts may lie in
// somebody else's.
func (x *Inverted) rowOf(document *Document) (row, bool) {
	token := document.Token
	mint, ok := packMint(document.Mint)
	if token == nil || !ok {
		return row{}, false
	}
	r := row{
		id: document.ID, attr: x.attrs.number(document), mint: mint, classic: !token.IsToken22, seen: unknownSeen,
		symbol: Normalise(token.Symbol), name: Normalise(token.Name),
	}
	if token.FirstSeenAt != nil {
		r.seen = *token.FirstSeenAt
	}
	r.key = orderKey(0, false, r.seen)
	if token.DailyVolumeUSD != nil {
		r.key = orderKey(cleanVolume(*token.DailyVolumeUSD), true, r.seen)
	}
	return r, true
}

func (b *batch) remove(id uint32) {
	at := b.x.where[id]
	b.x.where[id] = place{}
	d := b.draft(at.serial)
	classic := d.isClassic(at.slot)
	d.kill(at.slot)
	b.count(string(d.text(d.sym[at.slot])), string(d.text(d.name[at.slot])), classic, -1)
}

// count keeps the counts of short texts and of all.
func (b *batch) count(symbol, name string, classic bool, by int) {
	if !b.shorts {
		clone := *b.next.shorts
		b.next.shorts, b.shorts = &clone, true
	}
	b.next.shorts.add(b.x.set.of(symbol, name), classic, by)
	b.next.live += by
	if classic {
		b.next.liveClassic += by
	}
}

// publish makes the batch the current version.
func (b *batch) publish() {
	x := b.x
	if len(b.drafts) == 0 && len(b.pending) == 0 {
		return // nothing that a search would tell: what is remembered of this version stays true
	}
	order := textOrder(len(b.pending), func(i uint32) string { return b.pending[i].symbol })
	added := x.build(len(b.pending), x.most, inOrder(order, func(i uint32) *row { return &b.pending[i] }))
	views := make([]*view, 0, len(b.next.views)+len(added))
	for _, v := range b.next.views {
		if d := b.drafts[v.serial]; d != nil {
			v = d.finish(b.next.number)
		}
		if v.live > 0 {
			views = append(views, v)
		}
	}
	for _, f := range added {
		views = append(views, f.view)
		x.settle(f.view)
	}
	b.next.views, b.next.attrs = views, x.attrs.list
	b.finishLeaders()
	x.current.Store(&b.next)
}

// fresh is a view just built, with where its tokens came from.
type fresh struct {
	view *view
	from []place
}

// inOrder gives one row after the other, then nil.
func inOrder(order []uint32, at func(i uint32) *row) func() *row {
	return func() *row {
		if len(order) == 0 {
			return nil
		}
		next := at(order[0])
		order = order[1:]
		return next
	}
}

// build makes segments of at most so many rows, which next gives in the order of their symbols
// until it gives nil.
func (x *Inverted) build(count, most int, next func() *row) []fresh {
	var built []fresh
	for r := next(); r != nil; {
		b := newBuilder(min(count, most))
		for r != nil && b.add(r) {
			r = next()
		}
		count -= len(b.keys)
		f := fresh{view: b.finish(atomic.AddUint32(&x.serials, 1)), from: b.from}
		f.view.full = r != nil
		built = append(built, f)
	}
	return built
}

// settle writes down where the tokens of a view are now.
func (x *Inverted) settle(v *view) {
	for slot, id := range v.ids {
		if v.isAlive(uint32(slot)) {
			x.where[id] = place{v.serial, uint32(slot)}
		}
	}
}
