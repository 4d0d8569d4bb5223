package state

import (
	"slices"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// pair is two mints in the order of their bytes.
type pair struct{ a, b venue.Key }

func pairOf(a, b venue.Key) pair {
	a, b = venue.Ordered(a, b)
	return pair{a, b}
}

// pairState is what is known of a pair.
type pairState struct {
	pair
	// pools are the pools of the pair that are known, and the addresses where one may be. If asked
	// is set, one more entry stands for the pair's mints.
	pools []*pool
	// asked says that the pair is watched, listed that all of its pools are known, and refused that
	// there was no room for one of them.
	asked, listed, refused bool
	// touched says that the pair is in Fold.pools.touched.
	touched bool
}

// pool is a pool that is known, or an address where one may be.
type pool struct {
	address venue.Key
	// venue is nil for an entry that only stands for the mints of an asked pair. Such an entry has
	// no address.
	venue venue.Venue
	pair  *pairState
	// opened is the account that was opened last, and ref is what Open made of it; ref is nil if
	// that was no pool of the pair. Both stay when the account is gone.
	opened *solana.Account
	ref    venue.Ref
	// shallow says that the pool's arrays are not held, because it is not deep enough.
	shallow bool
	// needs are the accounts that the pool needs, each once. The first of them, as many as own
	// says, are those that its swaps write: the account at the address, then those of ref.Own. The
	// last of them, as many as spare says, are needed only once the price has moved.
	needs      []*history
	own, spare uint16
	// lacks says that one of needs is not known, so that the pool is in Fold.pools.wanted.
	lacks bool
	// asked says that the address is watched because the pair is asked for, though no listing has a
	// pool there.
	asked bool
	// dirty says that Publish must compute the state again.
	dirty bool
	// state and entry are what the next snapshot has of the pool.
	state entryState
	entry *entry
}

// pools are all pools that are known.
type pools struct {
	byAddress map[venue.Key]*pool // without those that have pool.asked
	pairs     map[pair]*pairState
	// wanted are the pools to be read.
	wanted map[*pool]struct{}
	// urgent are pairs whose pools are read before others.
	urgent map[*pairState]struct{}
	// asked are the pairs that are watched, the oldest first.
	asked []*pairState
	// refused counts the pairs with a pool for which there was no room. full says that there was no
	// room to remember one more such pair.
	refused int
	full    bool
	// touched are the pairs whose list in the snapshot must be made anew.
	touched []*pairState
	// fresh are the keys that the subscription must name and does not name yet.
	fresh []venue.Key
}

func newPools() pools {
	return pools{byAddress: map[venue.Key]*pool{}, pairs: map[pair]*pairState{}, wanted: map[*pool]struct{}{}, urgent: map[*pairState]struct{}{}}
}

// pair returns what is known of a pair, so that the caller can change it. It makes the entry of the
// pair if there is none.
func (f *Fold) pair(p pair) *pairState {
	s := f.pools.pairs[p]
	if s == nil {
		s = &pairState{pair: p}
		f.pools.pairs[p] = s
	}
	f.touch(s)
	return s
}

// touch records that the list of a pair in the snapshot must be made anew.
func (f *Fold) touch(s *pairState) {
	if !s.touched {
		s.touched = true
		f.pools.touched = append(f.pools.touched, s)
	}
}

// discover takes in a pool account of a listing or of a write. If there is no room for the pool, it
// records that. It returns whether the account is held now.
func (f *Fold) discover(address venue.Key, account *solana.Account) bool {
	if account == nil {
		return false
	}
	if f.pools.byAddress[address] != nil {
		return true
	}
	v := f.venues.Owner(account.Owner)
	if v == nil {
		return false
	}
	ref, err := v.Open(address, account.Data)
	if err != nil {
		return false
	}
	mints := ref.Mints()
	p := pairOf(mints[0], mints[1])
	if f.born != nil {
		f.born(v.Program(), p.a, p.b, address)
	}
	s := f.pools.pairs[p]
	if s != nil && s.watches(address) {
		return true
	}
	if len(f.pools.byAddress) >= f.cfg.MaxPools || f.bytes >= f.cfg.maxBytes {
		f.refuse(p)
		return false
	}
	one := &pool{address: address, venue: v, pair: f.pair(p), opened: account, ref: ref, shallow: f.shallow(ref, false)}
	f.pools.byAddress[address] = one
	f.watch(one)
	return true
}

// Listed takes in a pool account of a listing.
func (f *Fold) Listed(address venue.Key, account *solana.Account) { f.discover(address, account) }

// watches returns whether an address is watched because the pair is asked for.
func (s *pairState) watches(address venue.Key) bool {
	return s.asked && slices.ContainsFunc(s.pools, func(p *pool) bool { return p.asked && p.venue != nil && p.address == address })
}

// refuse records that a pair has a pool for which there is no room.
func (f *Fold) refuse(p pair) {
	if s := f.pools.pairs[p]; s != nil && s.refused {
		return
	}
	if f.pools.refused >= refusedPairs*f.cfg.MaxPools {
		f.pools.full = true
		return
	}
	f.pools.refused++
	f.pair(p).refused = true
}

// refusedPairs bounds Fold.pools.refused, in multiples of MaxPools.
const refusedPairs = 16

// watch adds a pool to its pair, and holds its accounts.
func (f *Fold) watch(p *pool) {
	p.pair.pools = append(p.pair.pools, p)
	f.need(p)
	p.lacks = true
	f.pools.wanted[p] = struct{}{}
}

// wishes are the keys of the accounts that a pool needs, each once. own counts the keys at the
// beginning that its swaps write, window the keys at the end that are arrays around its price, and
// spare the last of these arrays, which are not needed yet.
type wishes struct {
	keys               []venue.Key
	own, window, spare int
}

// wants returns what a pool needs.
func (p *pool) wants() wishes {
	if p.venue == nil {
		return wishes{keys: []venue.Key{p.pair.a, p.pair.b}}
	}
	w := wishes{keys: append(make([]venue.Key, 0, 8), p.address), own: 1}
	if p.ref == nil || p.shallow {
		return w
	}
	w.add(p.ref.Own()...)
	w.own = len(w.keys)
	mints := p.ref.Mints()
	w.add(p.ref.Accounts()...)
	w.add(mints[:]...)
	if windowed, ok := p.ref.(venue.Windowed); ok {
		w.window = w.add(windowed.Near()...)
		w.spare = w.add(windowed.Spare()...)
		w.window += w.spare
	}
	return w
}

// add adds the keys that are not in w yet, and returns how many it added.
func (w *wishes) add(more ...venue.Key) (count int) {
	for _, key := range more {
		if !slices.Contains(w.keys, key) {
			w.keys = append(w.keys, key)
			count++
		}
	}
	return count
}

// need holds the accounts that a pool needs, and releases those that it needs no more.
func (f *Fold) need(p *pool) {
	w := p.wants()
	if int(p.own) == w.own && int(p.spare) == w.spare && slices.EqualFunc(p.needs, w.keys, func(h *history, key venue.Key) bool { return h.key == key }) {
		return
	}
	needs := make([]*history, len(w.keys))
	for i, key := range w.keys {
		// The search is in the pool's few needs and not in h.users: nearly all pools use the mint
		// of SOL.
		h := p.account(key)
		if h == nil {
			h = f.account(key, p.subscribed(w, i))
			h.users = append(h.users, p)
		}
		f.change(h) // the snapshot may need it outside the pools' entries now
		needs[i] = h
	}
	for _, h := range p.needs {
		if !slices.Contains(needs, h) {
			f.release(h, p)
		}
	}
	p.needs, p.own, p.spare = needs, uint16(w.own), uint16(w.spare)
}

// subscribed returns how the subscription covers the i-th account of w.
func (p *pool) subscribed(w wishes, i int) subscription {
	switch {
	case i >= len(w.keys)-w.window:
		return byKind
	case i == 0 && !p.asked:
		return byOwner
	}
	return byAddress
}

// subscription is how the stream is asked for an account.
type subscription int

const (
	// byAddress: the subscription must name it.
	byAddress subscription = iota
	// byOwner: it is a pool, and the filter for its program tells all its writes.
	byOwner
	// byKind: it is an array. A filter for its program and kind tells its writes, but those that
	// came before a pool needed the array were not kept.
	byKind
)

// account returns the history of an account if the pool needs it, or else nil.
func (p *pool) account(key venue.Key) *history {
	for _, h := range p.needs {
		if h.key == key {
			return h
		}
	}
	return nil
}

// owns returns whether an account is one that the pool's swaps write.
func (p *pool) owns(h *history) bool { return slices.Contains(p.needs[:p.own], h) }

// lane returns the number of the lane, from 0 to lanes-1, in which the pool's accounts are read. It
// follows from the address, so pools that are watched at the same address have the same lane.
func (p *pool) lane(lanes int) int {
	if p.venue == nil {
		return int(p.pair.a[31]^p.pair.b[31]) % lanes
	}
	return int(p.address[31]) % lanes
}

// account returns the history of an account. It begins to hold the account if that is not held yet.
// how says how the subscription covers it.
func (f *Fold) account(key venue.Key, how subscription) *history {
	h := f.accounts[key]
	if h == nil {
		h = &history{key: key, since: never}
		switch how {
		case byOwner:
			h.since = 0
		case byKind:
			h.since = f.newest
		default:
			f.pools.fresh = append(f.pools.fresh, key)
		}
		f.accounts[key] = h
	}
	// An account of a checkpoint is held already, but its unnamed is not set yet.
	h.unnamed = h.unnamed || how == byKind
	return h
}

// release removes a pool from the users of an account, and drops the account if no other pool needs
// it.
func (f *Fold) release(h *history, p *pool) {
	h.users = slices.DeleteFunc(h.users, func(u *pool) bool { return u == p })
	f.change(h) // the snapshot may not need it outside the pools' entries any more
	if len(h.users) == 0 {
		f.bytes -= h.size()
		delete(f.accounts, h.key)
	}
}

// Fresh returns the keys that the subscription must name in addition since the last call, each
// once.
func (f *Fold) Fresh() []venue.Key {
	fresh := f.pools.fresh
	f.pools.fresh = nil
	return slices.DeleteFunc(fresh, func(k venue.Key) bool { return f.accounts[k] == nil })
}

// Explicit returns all keys that a subscription must name, because no filter by owner or kind
// covers them.
func (f *Fold) Explicit() []venue.Key {
	var keys []venue.Key
	for key, h := range f.accounts {
		if f.pools.byAddress[key] == nil && !h.unnamed {
			keys = append(keys, key)
		}
	}
	return keys
}

// Covered records that the stream has all writes of these keys after a slot.
func (f *Fold) Covered(keys []venue.Key, from uint64) {
	for _, key := range keys {
		if h := f.accounts[key]; h != nil && h.since == never {
			h.since = from
			f.change(h) // versions that were told already may count now
		}
	}
}

// Counts are how many addresses there are of each state: pools that are quotable, that must be read
// first, and whose arrays are not held, and addresses without a pool.
type Counts struct{ Held, Wanted, Shallow, Absent int }

// Counts counts the addresses.
func (f *Fold) Counts() (c Counts) {
	for _, s := range f.pools.pairs {
		for _, p := range s.pools {
			switch p.state {
			case held:
				c.Held++
			case wanted:
				c.Wanted++
			case shallow:
				c.Shallow++
			case absent:
				c.Absent++
			}
		}
	}
	return c
}
