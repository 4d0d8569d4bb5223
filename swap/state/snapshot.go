package state

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// Snapshot is the state at one slot. It is immutable and safe for concurrent use.
type Snapshot struct {
	// Slot is 0 while nothing is known. At is when the slot was complete, by our clock.
	Slot uint64
	At   time.Time

	// version grows with each snapshot whose accounts differ from those of the last one. time is
	// that of the head's block, in Unix seconds.
	version  uint64
	venues   []string
	time     int64
	pairs    *table[pair, listed]
	accounts *table[venue.Key, account]
	// full says that pairs may have pools that are not even counted as refused.
	full bool
}

func newSnapshot(venues venue.List) *Snapshot {
	s := &Snapshot{pairs: &table[pair, listed]{}, accounts: &table[venue.Key, account]{}}
	for _, v := range venues {
		s.venues = append(s.venues, v.Name())
	}
	return s
}

// Publish makes a snapshot of what changed since the last one.
func (f *Fold) Publish() {
	var dirty []*pool
	for _, h := range f.changed {
		_, held := h.at()
		for _, p := range h.users {
			// An entry has the pool's own accounts only. If another account changed, share replaces
			// it, and the entry stays.
			if !p.dirty && (!held || p.lacks || p.owns(h)) {
				p.dirty = true
				dirty = append(dirty, p)
			}
		}
	}
	for _, p := range dirty {
		p.dirty = false
		f.update(p)
		f.touch(p.pair)
	}
	accounts := map[venue.Key]*account{}
	for _, h := range f.changed {
		h.changed = false
		if now := f.share(h); now != h.shared {
			h.shared, accounts[h.key] = now, now
		}
	}
	pairs := make(map[pair]*listed, len(f.pools.touched))
	for _, s := range f.pools.touched {
		s.touched = false
		pairs[s.pair] = s.list()
	}
	// Set to nil instead of cut: a slice keeps the memory of the most elements that it had.
	f.changed, f.pools.touched = nil, nil
	last := f.snapshot.Load()
	next := &Snapshot{
		Slot: f.tree.head, full: f.pools.full, venues: last.venues,
		pairs: last.pairs.with(pairs), accounts: last.accounts.with(accounts), version: last.version,
	}
	if next.accounts != last.accounts {
		next.version++
	}
	if f.tree.started {
		tip := f.tree.tip()
		next.At, next.time = tip.receivedAt, tip.blockTime
	}
	f.snapshot.Store(next)
}

// share returns what a snapshot has of an account outside the pools' entries; nil if no pool needs
// it there.
func (f *Fold) share(h *history) *account {
	v, held := h.at()
	if !held || !slices.ContainsFunc(h.users, func(p *pool) bool { return !p.owns(h) }) {
		return nil
	}
	if h.shared != nil && h.shared.Account == v.account {
		return h.shared // pools were decoded with it
	}
	return &account{Account: v.account}
}

// list returns what a snapshot has of a pair; nil if that is nothing.
func (s *pairState) list() *listed {
	l := &listed{complete: !s.refused, asked: s.listed}
	shallows := 0
	for _, one := range s.pools {
		switch one.state {
		case wanted:
			l.complete = false
		case held:
			l.entries = append(l.entries, one.entry)
		case shallow:
			shallows++
		case absent:
		}
	}
	// Shallow pools alone are worth a reading. Beside another pool they would hardly get a share.
	l.complete = l.complete && (shallows == 0 || len(l.entries) > 0)
	if len(l.entries) == 0 && l.complete && !s.listed {
		return nil
	}
	return l
}

// maxPairPools is how many pools of one venue a pair's quote uses: those with the greatest rank.
const maxPairPools = 64

// errNotAsked is returned for a pair that was not asked for before, or not listed yet: it may have
// pools that are not known.
var errNotAsked = fmt.Errorf("%w: nobody asked for the pair before", market.ErrNotHeld)

// Pair returns the state of a pair at the head. The error wraps market.ErrNotHeld if the pair was
// not asked for and listed, or if the state of one of its pools is not certain or not held. It
// wraps mint.ErrUntradable if one of the mints cannot be swapped.
func (s *Snapshot) Pair(a, b venue.Key) (*market.Snapshot, error) {
	l := s.pairs.get(pairOf(a, b))
	switch {
	case s.Slot == 0 || s.full:
		return nil, market.ErrNotHeld
	case l == nil || !l.asked:
		return nil, errNotAsked
	case !l.complete:
		return nil, market.ErrNotHeld
	}
	last := l.answer.Load()
	if last == nil || last.slot != s.Slot || last.version != s.version || last.at != s.At {
		last = &answer{slot: s.Slot, version: s.version, at: s.At}
		last.found, last.err = s.find(l, a, b)
		l.answer.Store(last)
	}
	return last.found, last.err
}

// find makes the answer of Pair for a pair that is complete.
func (s *Snapshot) find(l *listed, a, b venue.Key) (*market.Snapshot, error) {
	found := &market.Snapshot{Slot: s.Slot, ReadAt: s.At}
	for i, key := range []venue.Key{a, b} {
		m, err := venue.Mint(s, key)
		if errors.Is(err, venue.ErrUnread) {
			return nil, market.ErrNotHeld
		} else if err != nil {
			return nil, err
		}
		found.Mints[i] = m
	}
	clock := venue.ClockAt(s.Slot, s.time)
	for _, e := range s.deepest(l.entries) {
		d := s.decode(e)
		switch {
		case d == nil:
			return nil, market.ErrNotHeld
		case errors.Is(d.err, venue.ErrAnotherPair):
		case d.err != nil:
			found.Refused = append(found.Refused, market.Refused{Venue: e.venue, Address: e.ref.Address(), Err: d.err})
		default:
			found.Pools = append(found.Pools, market.Pool{Pool: d.pool, Venue: e.venue, Slot: e.slot, Clock: clock, Ref: e.ref})
		}
	}
	return found, nil
}

// deepest returns the entries of a pair by venue and rank, at most maxPairPools of each venue.
func (s *Snapshot) deepest(entries []*entry) []*entry {
	if len(entries) < 2 {
		return entries
	}
	sorted := slices.Clone(entries)
	slices.SortFunc(sorted, func(x, y *entry) int {
		if x.venue != y.venue {
			return cmp.Compare(slices.Index(s.venues, x.venue), slices.Index(s.venues, y.venue))
		}
		if c := cmp.Compare(y.ref.Rank(), x.ref.Rank()); c != 0 {
			return c
		}
		ax, ay := x.ref.Address(), y.ref.Address()
		return bytes.Compare(ax[:], ay[:])
	})
	if len(sorted) <= maxPairPools {
		return sorted
	}
	counts := map[string]int{}
	return slices.DeleteFunc(sorted, func(e *entry) bool {
		counts[e.venue]++
		return counts[e.venue] > maxPairPools
	})
}

// decode returns an entry's pool. It decodes again only if an account outside the entry has
// changed. The result is nil if such an account is missing.
func (s *Snapshot) decode(e *entry) *decoded {
	last := e.decoded.Load()
	if last != nil && last.version == s.version {
		return last
	}
	others := e.needs[len(e.own):]
	shared := make([]*account, len(others))
	for i, h := range others {
		if shared[i] = s.accounts.get(h.key); shared[i] == nil {
			return nil
		}
	}
	d := &decoded{shared: shared, version: s.version}
	if last != nil && slices.Equal(last.shared, shared) {
		d.pool, d.err = last.pool, last.err
	} else {
		d.pool, d.err = e.ref.Decode(&view{s, e})
	}
	e.decoded.Store(d)
	return d
}

// Account implements venue.State for the accounts outside the entries.
func (s *Snapshot) Account(key venue.Key) (*solana.Account, bool) {
	a := s.accounts.get(key)
	if a == nil {
		return nil, false
	}
	return a.Account, true
}

// Memo implements venue.State.
func (s *Snapshot) Memo(key venue.Key) *venue.Memo {
	a := s.accounts.get(key)
	if a == nil {
		return nil
	}
	return &a.memo
}

// view is the venue.State that one entry is decoded from.
type view struct {
	*Snapshot
	entry *entry
}

// Account implements venue.State.
func (v *view) Account(key venue.Key) (*solana.Account, bool) {
	for i, own := range v.entry.own {
		if v.entry.needs[i].key == key {
			return own, true
		}
	}
	return v.Snapshot.Account(key)
}

// HashOf shortens a signature to its first eight bytes. It returns 0 for a shorter one.
func HashOf(signature []byte) uint64 {
	if len(signature) < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(signature)
}
