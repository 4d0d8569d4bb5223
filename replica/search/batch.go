package search

import (
	"slices"
	"strings"
	"sync/atomic"
)

// Apply publishes all documents in one version. If two documents have one mint, the later one
// counts.
func (x *Inverted) Apply(documents []Document) {
	if len(documents) == 0 {
		return
	}
	x.writer.Lock()
	defer x.writer.Unlock()
	x.endFilling()
	x.apply(documents)
}

// apply publishes documents as one version. The caller holds x.writer.
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
	x         *Inverted
	next      version
	drafts    map[uint32]*draft // by serial
	ownShorts bool              // next.shorts is a copy already
	pending   []row
}

func (x *Inverted) newBatch() *batch {
	b := &batch{x: x, next: *x.current.Load(), drafts: map[uint32]*draft{}}
	b.next.number++
	return b
}

// draft returns the draft of a segment, to change it.
func (b *batch) draft(serial uint32) *draft {
	d := b.drafts[serial]
	if d == nil {
		d = newDraft(b.latest(serial))
		b.drafts[serial] = d
	}
	return d
}

// latest returns a segment with the batch's changes so far, to read it.
func (b *batch) latest(serial uint32) *segment {
	if d := b.drafts[serial]; d != nil {
		return d.segment
	}
	return b.next.segments[slices.IndexFunc(b.next.segments, func(s *segment) bool { return s.serial == serial })]
}

// change takes in a document: it removes the mint, gives its document another place in the order,
// or replaces the document.
func (b *batch) change(document *Document) {
	x := b.x
	at := x.locationOf(document.ID)
	if document.Token == nil {
		if at.serial != 0 {
			b.remove(document.ID)
		}
		return
	}
	r := x.rowOf(document)
	if at.serial != 0 {
		s := b.latest(at.serial)
		if s.attributes[at.doc] == r.attributes && string(s.term(s.symbols[at.doc])) == r.symbol && string(s.term(s.names[at.doc])) == r.name {
			// Most changes leave the text and the attributes as they are: then only the order may
			// change.
			if s.key(at.doc) != r.key || s.seenAt(at.doc) != r.seen {
				b.draft(at.serial).reorder(at.doc, r.key, r.seen)
			}
			return
		}
		b.remove(document.ID)
	}
	r.symbol, r.name = strings.Clone(r.symbol), strings.Clone(r.name)
	b.count(r.symbol, r.name, r.classic, 1)
	b.pending = append(b.pending, r)
}

// locationOf returns where a document is. It extends locations up to that row id.
func (x *Inverted) locationOf(id uint32) location {
	for int(id) >= len(x.locations) {
		x.locations = append(x.locations, location{})
	}
	return x.locations[id]
}

// rowOf returns what the index keeps of a document, which must have a token. The row's texts may
// share memory with the document.
func (x *Inverted) rowOf(document *Document) row {
	token := document.Token
	r := row{
		id: document.ID, attributes: x.attributes.number(document), mint: document.Mint, classic: !token.IsToken22, seen: unknownSeen,
		symbol: Normalise(token.Symbol), name: Normalise(token.Name),
	}
	if token.FirstSeenAt != nil {
		r.seen = *token.FirstSeenAt
	}
	r.key = orderKey(0, false, r.seen)
	if token.DailyVolumeUSD != nil {
		r.key = orderKey(cleanVolume(*token.DailyVolumeUSD), true, r.seen)
	}
	return r
}

func (b *batch) remove(id uint32) {
	at := b.x.locations[id]
	b.x.locations[id] = location{}
	d := b.draft(at.serial)
	b.count(string(d.term(d.symbols[at.doc])), string(d.term(d.names[at.doc])), hasBit(d.classic, at.doc), -1)
	d.remove(at.doc)
}

// count adds delta to the number of documents, and to the counts of the short texts in symbol and
// name.
func (b *batch) count(symbol, name string, classic bool, delta int) {
	if !b.ownShorts {
		clone := *b.next.shorts
		b.next.shorts, b.ownShorts = &clone, true
	}
	b.next.shorts.add(b.x.shorts.of(symbol, name), classic, delta)
	b.next.live += delta
}

// publish makes the batch the current version.
func (b *batch) publish() {
	x := b.x
	if len(b.drafts) == 0 && len(b.pending) == 0 {
		return // no search would notice: pages cached for this version stay valid
	}
	order := textOrder(len(b.pending), func(i uint32) string { return b.pending[i].symbol })
	added := x.build(len(b.pending), x.maxDocuments, inOrder(order, func(i uint32) *row { return &b.pending[i] }))
	segments := make([]*segment, 0, len(b.next.segments)+len(added))
	for _, s := range b.next.segments {
		if d := b.drafts[s.serial]; d != nil {
			s = d.finish()
		}
		if s.liveCount > 0 {
			segments = append(segments, s)
		}
	}
	for _, new := range added {
		segments = append(segments, new.segment)
		x.locate(new.segment)
	}
	b.next.segments, b.next.attributes = segments, x.attributes.list
	x.current.Store(&b.next)
}

// built is a segment just built, with where its documents came from.
type built struct {
	segment *segment
	from    []location
}

// inOrder returns a function that returns the rows one after the other in the given order, then
// nil.
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

// build makes segments of at most limit documents each. next returns the rows in the order of their
// symbols, then nil. There are about count rows.
func (x *Inverted) build(count, limit int, next func() *row) (all []built) {
	for r := next(); r != nil; {
		b := newBuilder(min(count, limit))
		for r != nil && b.add(r) {
			r = next()
		}
		count -= len(b.keys)
		s := b.finish(atomic.AddUint32(&x.serials, 1), r != nil)
		all = append(all, built{segment: s, from: b.from})
	}
	return all
}

// locate records where the documents of a segment are now.
func (x *Inverted) locate(s *segment) { locate(x.locations, s) }

func locate(locations []location, s *segment) {
	for doc, id := range s.rowIDs {
		if hasBit(s.live, uint32(doc)) {
			locations[id] = location{s.serial, uint32(doc)}
		}
	}
}
