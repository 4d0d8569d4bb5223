package stream

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// entry is a subscriber's filter in the index.
type entry struct {
	*filter
	name string
	sub  *subscriber
	// alone holds only this entry. A delivery that no other filter of the subscriber wants uses it
	// as its list, which needs no allocation.
	alone [1]*entry
	// head is the name, encoded as the field filters of a SubscribeUpdate.
	head []byte
	// found are the addresses under which the entry is indexed. If there are none, the entry is
	// matched against every transaction. included says that a transaction with one of these
	// addresses meets the filter's include.
	found    addresses
	included bool

	// Guarded by shard.mu: live says that the entry is in use, order is its place among the
	// subscriber's entries, tick is the last pass in which it was matched.
	live  bool
	order int
	tick  uint64
}

// fieldUpdateFilters is SubscribeUpdate.filters.
const fieldUpdateFilters = 1

func newEntry(sub *subscriber, f namedFilter, found addresses) *entry {
	e := &entry{filter: f.filter, name: f.name, sub: sub, found: found}
	e.alone[0] = e
	e.included = len(f.required) == 0 && f.cuckoo == nil && f.owners == ownersNone
	e.head = protowire.AppendString(protowire.AppendTag(nil, fieldUpdateFilters, protowire.BytesType), f.name)
	return e
}

// postings is an inverted index: for each address, the entries that are indexed under it.
type postings map[address][]*entry

func (p postings) add(a address, e *entry) {
	// Most addresses have one entry, so a new list has room for exactly one.
	if list := p[a]; list == nil {
		p[a] = []*entry{e}
	} else {
		p[a] = append(list, e)
	}
}

func (p postings) remove(a address, e *entry) {
	list := p[a]
	i := slices.Index(list, e)
	switch {
	case i < 0:
	case len(list) == 1:
		delete(p, a)
	default:
		list[i] = list[len(list)-1]
		list[len(list)-1] = nil
		p[a] = list[:len(list)-1]
	}
}

// shard matches transactions against the filters of its subscribers, in one goroutine.
type shard struct {
	hub *hub
	in  chan *batch
	// subscribers counts its subscribers. Guarded by hub.mu.
	subscribers int

	// mu is held while a transaction is matched and during each step of a change of filters, never
	// for longer than some microseconds.
	mu sync.Mutex
	// byAccount indexes the entries for which only accounts count as a transaction's addresses,
	// byOwner those for which token owners count, too. always has the entries that are indexed
	// under no address.
	byAccount, byOwner postings
	always             map[*entry]struct{}
	// watchers are the subscribers with watches.
	watchers map[*subscriber]struct{}
	// entries counts the live entries of each level.
	entries [levels]int
	// next is the offset after the last record that was matched, in this generation of the log (see
	// hub).
	next       int64
	generation uint64
	// stalled has the note about the present stall of each level, for watches that come later; nil
	// while the level is not stalled.
	stalled [levels]*note

	// pass is the current pass, tick its number, touched the subscribers with hits in it.
	pass    pass
	tick    uint64
	touched []*subscriber
	hashes  hashCache
}

// pass is one matching of a transaction against the filters of one level. offset is that of the
// record that caused the pass; 0 at levelProcessed, where no record does.
type pass struct {
	offset int64
	at     level
}

func newShard(h *hub) *shard {
	return &shard{hub: h, in: make(chan *batch, batchesAhead), byAccount: postings{}, byOwner: postings{}, always: map[*entry]struct{}{}, watchers: map[*subscriber]struct{}{}}
}

// run processes batches until ctx ends: transactions, and the notes between them, in order.
func (s *shard) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case b := <-s.in:
			if b.generation > 0 {
				s.begin(b.next, b.generation)
			}
			notes := b.notes
			for i, t := range b.list {
				for len(notes) > 0 && notes[0].before <= i {
					b.delivered.Add(int64(s.tell(notes[0].note)))
					notes = notes[1:]
				}
				b.delivered.Add(int64(s.match(b.at, t)))
			}
			for _, n := range notes {
				b.delivered.Add(int64(s.tell(n.note)))
			}
			if b.left.Add(-1) == 0 && s.hub.finished != nil {
				s.hub.finished(b)
			}
		}
	}
}

// begin sets the offset at which live delivery begins, in a generation of the log.
func (s *shard) begin(next int64, generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next, s.generation = next, generation
}

// match delivers t to the subscribers that want it as soon as it comes, at levelLog or
// levelProcessed.
func (s *shard) match(at level, t *transaction) (delivered int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at == levelLog {
		s.next = t.offset + 1
	}
	return s.matchFor(pass{offset: t.offset, at: at}, t)
}

// matchFinal delivers the transactions of the slots that n finalizes, at levelFinal.
func (s *shard) matchFinal(n *note) (delivered int) {
	for _, slot := range n.final {
		for _, t := range slot.list {
			s.mu.Lock()
			delivered += s.matchFor(pass{n.offset, levelFinal}, t)
			s.mu.Unlock()
		}
	}
	return delivered
}

// matchFor delivers t to the subscribers that want it in pass p, and returns how many got it. The
// caller holds mu.
func (s *shard) matchFor(p pass, t *transaction) (delivered int) {
	if s.entries[p.at] == 0 {
		return 0
	}
	s.pass = p
	s.tick++
	s.hashes.reset()
	for i := range t.accounts {
		s.matchEntries(s.byAccount[t.accounts[i]], t)
	}
	if len(s.byOwner) > 0 {
		// These entries may be indexed under an account of the transaction or under a token owner.
		for i := range t.accounts {
			s.matchEntries(s.byOwner[t.accounts[i]], t)
		}
		for _, owner := range t.ownersOf(ownersAll) {
			s.matchEntries(s.byOwner[owner], t)
		}
	}
	for e := range s.always {
		s.matchEntry(e, t)
	}
	for i, sub := range s.touched {
		if s.deliver(sub, t) {
			delivered++
		}
		s.touched[i] = nil
	}
	s.touched = s.touched[:0]
	return delivered
}

// matchEntries calls matchEntry for each candidate.
func (s *shard) matchEntries(candidates []*entry, t *transaction) {
	for _, e := range candidates {
		s.matchEntry(e, t)
	}
}

// matchEntry adds e to its subscriber's hits if e wants t. An entry that is indexed under several
// addresses is matched only once in a pass.
func (s *shard) matchEntry(e *entry, t *transaction) {
	if !e.live || e.tick == s.tick || e.at != s.pass.at || !e.gate.opens(s.generation, s.pass.offset, t.slot) {
		return
	}
	e.tick = s.tick
	if !e.wants(t, e.included, &s.hashes) {
		return
	}
	sub := e.sub
	if sub.tick != s.tick {
		sub.tick, sub.hits = s.tick, sub.hits[:0]
		s.touched = append(s.touched, sub)
	}
	sub.hits = append(sub.hits, e)
}

// deliver queues t for a subscriber with hits. It never waits: if the subscriber's queue is full,
// deliver cuts the subscriber off and returns false.
func (s *shard) deliver(sub *subscriber, t *transaction) bool {
	d := delivery{tx: t, wants: sub.hits[0].alone[:]}
	if len(sub.hits) > 1 {
		d.wants = slices.Clone(sub.hits)
		slices.SortFunc(d.wants, func(a, b *entry) int { return cmp.Compare(a.order, b.order) })
	}
	if sub.Over() {
		return false
	}
	if sub.out.push(d) {
		return true
	}
	s.hub.lagged.Add(1)
	sub.End(errLagged)
	return false
}

// changeStep is how many addresses are added to the index or removed from it before mu is released,
// so that transactions are matched meanwhile.
const changeStep = 256

// replace makes next the subscriber's entries. The caller holds sub.change. First it adds the new
// entries to the index, where they match nothing yet. Then it makes the new ones live instead of
// the old ones, in one step. Then it removes the old ones from the index.
func (s *shard) replace(sub *subscriber, next []*entry) {
	was := make(map[*entry]bool, len(sub.entries))
	for _, e := range sub.entries {
		was[e] = true
	}
	for _, e := range next {
		if !was[e] {
			s.inSteps(e, postings.add, func() { s.always[e] = struct{}{} })
		}
	}
	s.mu.Lock()
	for _, e := range sub.entries {
		e.live = false
		s.entries[e.at]--
	}
	for i, e := range next {
		e.live, e.order = true, i
		s.entries[e.at]++
		delete(was, e)
	}
	s.mu.Unlock()
	for e := range was {
		s.inSteps(e, postings.remove, func() { delete(s.always, e) })
	}
	sub.entries = next
	if len(next) == 0 {
		s.mu.Lock()
		sub.hits = nil // it would keep the old entries in memory
		s.mu.Unlock()
	}
}

// inSteps calls change for each address under which e is indexed. If there is none, it calls
// always. mu is held during the calls and released after every changeStep addresses.
func (s *shard) inSteps(e *entry, change func(postings, address, *entry), always func()) {
	if len(e.found) == 0 {
		s.mu.Lock()
		always()
		s.mu.Unlock()
		return
	}
	into := s.byAccount
	if e.owners != ownersNone {
		into = s.byOwner
	}
	for part := range slices.Chunk(e.found, changeStep) {
		s.mu.Lock()
		for _, a := range part {
			change(into, a, e)
		}
		s.mu.Unlock()
	}
}
