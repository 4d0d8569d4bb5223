package stream

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// entry is a filter of a subscriber in the index.
type entry struct {
	*filter
	name string
	sub  *subscriber
	// alone is the entry itself: what a delivery carries that no other filter of the subscriber
	// wants.
	alone [1]*entry
	// head is the name as the field filters of an encoded SubscribeUpdate.
	head []byte
	// found is the addresses that find the entry; none when it is asked for each transaction.
	found addresses

	// Under shard.mu: live says that the entry counts, order is its place among the subscriber's,
	// tick the last transaction it was asked for.
	live  bool
	order int
	tick  uint64
}

// fieldUpdateFilters is SubscribeUpdate.filters.
const fieldUpdateFilters = 1

func newEntry(sub *subscriber, f namedFilter, found addresses) *entry {
	e := &entry{filter: f.filter, name: f.name, sub: sub, found: found}
	e.alone[0] = e
	e.head = protowire.AppendString(protowire.AppendTag(nil, fieldUpdateFilters, protowire.BytesType), f.name)
	return e
}

// isFinal is 1 for an entry of finalized transactions.
func (e *entry) isFinal() int {
	if e.final {
		return 1
	}
	return 0
}

// postings is an inverted index: for each address the entries that it finds.
type postings map[address][]*entry

func (p postings) add(a address, e *entry) {
	// Most addresses find one entry: room for exactly one takes an eighth of what append would
	// reserve.
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

// shard matches transactions against the filters of its subscribers.
type shard struct {
	hub *hub
	in  chan *batch
	// subscribers counts them, under hub.mu.
	subscribers int

	// mu is held for each transaction and for each step of a change, never for longer than some
	// microseconds.
	mu sync.Mutex
	// byAccount has the entries that a transaction's accounts find, byOwner those of filters for
	// which owners count too, always those that no address finds.
	byAccount, byOwner postings
	always             map[*entry]struct{}
	// watchers are the subscribers with watches.
	watchers map[*subscriber]struct{}
	// finals counts the entries for finalized transactions.
	finals int
	// next is the offset behind what was matched.
	next int64
	// stalled is what new watches are told; nil while the stream is not stalled.
	stalled *note

	// pass is what the transaction that is matched now is matched for.
	pass    pass
	tick    uint64
	touched []*subscriber
	hashes  hashCache
}

// pass is a transaction's turn: with the record at this offset it is confirmed, or finalized.
type pass struct {
	offset int64
	final  bool
}

func newShard(h *hub) *shard {
	return &shard{hub: h, in: make(chan *batch, batchesAhead), byAccount: postings{}, byOwner: postings{}, always: map[*entry]struct{}{}, watchers: map[*subscriber]struct{}{}}
}

func (s *shard) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case b := <-s.in:
			notes := b.notes
			for i, t := range b.list {
				for len(notes) > 0 && notes[0].before <= i {
					b.delivered.Add(int64(s.tell(notes[0].note)))
					notes = notes[1:]
				}
				b.delivered.Add(int64(s.match(t)))
			}
			for _, n := range notes {
				b.delivered.Add(int64(s.tell(n.note)))
			}
			if b.left.Add(-1) == 0 && s.hub.finished != nil {
				s.hub.finished(b.list, int(b.delivered.Load()))
			}
		}
	}
}

// match delivers t to the subscribers that want it as soon as it comes.
func (s *shard) match(t *transaction) (delivered int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = t.offset + 1
	return s.matchFor(pass{offset: t.offset}, t)
}

// matchFinal delivers the transactions of slots that are finalized with n.
func (s *shard) matchFinal(n *note) (delivered int) {
	for _, slot := range n.final {
		for _, t := range slot.list {
			s.mu.Lock()
			if s.finals > 0 {
				delivered += s.matchFor(pass{n.offset, true}, t)
			}
			s.mu.Unlock()
		}
	}
	return delivered
}

// matchFor is called under mu.
func (s *shard) matchFor(p pass, t *transaction) (delivered int) {
	s.pass = p
	s.tick++
	s.hashes.reset()
	for i := range t.accounts {
		s.ask(s.byAccount[t.accounts[i]], t)
	}
	if len(s.byOwner) > 0 {
		for i := range t.accounts {
			s.ask(s.byOwner[t.accounts[i]], t)
		}
		for _, owner := range t.ownersOf(ownersAll) {
			s.ask(s.byOwner[owner], t)
		}
	}
	for e := range s.always {
		s.askOne(e, t)
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

func (s *shard) ask(candidates []*entry, t *transaction) {
	for _, e := range candidates {
		s.askOne(e, t)
	}
}

func (s *shard) askOne(e *entry, t *transaction) {
	if !e.live || e.tick == s.tick || e.final != s.pass.final || !e.gate.opens(s.pass.offset, t.slot) {
		return
	}
	e.tick = s.tick
	if !e.wants(t, &s.hashes) {
		return
	}
	sub := e.sub
	if sub.tick != s.tick {
		sub.tick, sub.hits = s.tick, sub.hits[:0]
		s.touched = append(s.touched, sub)
	}
	sub.hits = append(sub.hits, e)
}

// deliver never waits: a subscriber whose buffer is full is given up.
func (s *shard) deliver(sub *subscriber, t *transaction) bool {
	d := delivery{tx: t, wants: sub.hits[0].alone[:]}
	if len(sub.hits) > 1 {
		d.wants = slices.Clone(sub.hits)
		slices.SortFunc(d.wants, func(a, b *entry) int { return cmp.Compare(a.order, b.order) })
	}
	if sub.over() {
		return false
	}
	if sub.out.push(d) {
		return true
	}
	s.hub.lagged.Add(1)
	sub.end(errLagged)
	return false
}

// changeStep is how many addresses are added or removed while mu is held: transactions are matched
// in between.
const changeStep = 256

// replace makes next the subscriber's entries. The caller holds sub.change. New entries are put
// into the index, then all change places at once, then old ones are taken out.
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
		s.finals -= e.isFinal()
	}
	for i, e := range next {
		e.live, e.order = true, i
		s.finals += e.isFinal()
		delete(was, e)
	}
	s.mu.Unlock()
	for e := range was {
		s.inSteps(e, postings.remove, func() { delete(s.always, e) })
	}
	sub.entries = next
	if len(next) == 0 {
		s.mu.Lock()
		sub.hits = nil
		s.mu.Unlock()
	}
}

// inSteps calls change for each address that finds e, or always when there is none.
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
