package state

import (
	"crypto/sha256"
	"slices"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// pair is two mints in the order of their bytes.
type pair struct{ a, b venue.Key }

func pairOf(a, b venue.Key) pair {
	a, b = venue.Ordered(a, b)
	return pair{a, b}
}

// pool is a pool that is known, or an address where one may be.
type pool struct {
	address venue.Key
	// venue is nil for the entry that only keeps the mints of an asked pair.
	venue venue.Venue
	// asked is the pair for which this address is watched, though no listing has a pool there; else
	// nil.
	asked *pair
	// opened is the account that was opened last, and ref the pool that it was; ref is nil if it
	// was none of the pair. Both stay when the account is gone.
	opened *solana.Account
	ref    venue.Ref
	// needs are the accounts that it needs, each once.
	needs []*history
	// state and entry are what the next snapshot has of the pool.
	state entryState
	entry *entry
	pair  pair
}

// entryState is how far a pool's state is known.
type entryState uint8

const (
	// wanted: the state is not certain, and must be read.
	wanted entryState = iota
	// held: the state is in entry.
	held
	// absent: there is no pool at the address.
	absent
)

// pools are all pools that are known.
type pools struct {
	by map[venue.Key]*pool // by address
	of map[pair][]*pool    // by mints
	// wanted are the pools to be read, by address.
	wanted map[venue.Key]*pool
	// urgent are pairs whose pools are read before others.
	urgent map[pair]struct{}
	// asked are the pairs that are watched, with the addresses watched for each; order has them,
	// the oldest first.
	asked map[pair][]venue.Key
	order []pair
	// listed are the asked pairs whose pools are all known.
	listed map[pair]struct{}
	// refused are the pairs with a pool for which there was no room. full says that even refused
	// had no room for a pair.
	refused map[pair]struct{}
	full    bool
	// touched are the pairs whose list in the snapshot must be made anew.
	touched map[pair]struct{}
	// fresh are the keys that no subscription names yet.
	fresh []venue.Key
}

func newPools() pools {
	return pools{by: map[venue.Key]*pool{}, wanted: map[venue.Key]*pool{}, urgent: map[pair]struct{}{}, asked: map[pair][]venue.Key{}, listed: map[pair]struct{}{}, refused: map[pair]struct{}{}, touched: map[pair]struct{}{}, of: map[pair][]*pool{}}
}

// discover takes in a pool account of a listing or of a write. If there is no room for the pool, it
// records that. It returns whether the account is held now.
func (f *Fold) discover(address venue.Key, account *solana.Account) bool {
	if account == nil {
		return false
	}
	if f.pools.by[address] != nil {
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
	if len(f.pools.by) >= f.cfg.MaxPools || f.bytes >= f.cfg.maxBytes {
		f.refuse(p)
		return false
	}
	f.watch(&pool{address: address, venue: v, pair: p}, append(ref.Accounts(), mints[:]...))
	return true
}

// Listed takes in a pool account of a listing.
func (f *Fold) Listed(address venue.Key, account *solana.Account) { f.discover(address, account) }

// refuse records that a pair has a pool for which there is no room.
func (f *Fold) refuse(p pair) {
	if len(f.pools.refused) >= refusedPairs*f.cfg.MaxPools {
		f.pools.full = true
		return
	}
	f.pools.refused[p] = struct{}{}
	f.pools.touched[p] = struct{}{}
}

// refusedPairs bounds Fold.pools.refused, in multiples of MaxPools.
const refusedPairs = 16

// watch adds a pool and holds its accounts.
func (f *Fold) watch(p *pool, keys []venue.Key) {
	f.pools.by[p.address] = p
	f.pools.of[p.pair] = append(f.pools.of[p.pair], p)
	f.pools.touched[p.pair] = struct{}{}
	f.need(p, keys)
	f.pools.wanted[p.address] = p
}

// need sets the accounts that a pool needs, and releases those that it needs no more.
func (f *Fold) need(p *pool, keys []venue.Key) {
	if slices.EqualFunc(p.needs, keys, func(h *history, key venue.Key) bool { return h.key == key }) {
		return
	}
	needs := make([]*history, 0, len(keys))
	for i, key := range keys {
		if slices.Contains(keys[:i], key) {
			continue
		}
		// Not a search of users: the mint of SOL has nearly all pools.
		h := p.account(key)
		if h == nil {
			h = f.account(key, key == p.address && p.asked == nil)
			h.users = append(h.users, p)
		}
		needs = append(needs, h)
	}
	for _, h := range p.needs {
		if !slices.Contains(needs, h) {
			f.release(h, p)
		}
	}
	p.needs = needs
}

// account returns one of the accounts that a pool needs; nil for another.
func (p *pool) account(key venue.Key) *history {
	for _, h := range p.needs {
		if h.key == key {
			return h
		}
	}
	return nil
}

// account holds an account. subscribed says that the subscription to its venue's program has it.
func (f *Fold) account(key venue.Key, subscribed bool) *history {
	h := f.accounts[key]
	if h == nil {
		h = &history{key: key, since: never}
		if subscribed {
			h.since = 0
		} else {
			f.pools.fresh = append(f.pools.fresh, key)
		}
		f.accounts[key] = h
	}
	return h
}

// release takes an account from a pool, and drops it if no other pool needs it.
func (f *Fold) release(h *history, p *pool) {
	h.users = slices.DeleteFunc(h.users, func(u *pool) bool { return u == p })
	if len(h.users) == 0 {
		f.bytes -= h.size()
		delete(f.accounts, h.key)
		f.changed[h.key] = struct{}{}
	}
}

// Ask watches the pair: its mints, and the addresses where pools of it may be that no listing has.
// If MaxAsked pairs are watched, it forgets the oldest.
func (f *Fold) Ask(a, b venue.Key) {
	p := pairOf(a, b)
	if _, known := f.pools.asked[p]; known {
		return
	}
	if len(f.pools.order) >= f.cfg.MaxAsked {
		f.forget(f.pools.order[0])
	}
	mints := sha256.Sum256(append(p.a[:], p.b[:]...)) // not an account: it stands for the mints
	f.watch(&pool{address: mints, pair: p, asked: &p}, []venue.Key{p.a, p.b})
	addresses := []venue.Key{mints}
	for _, v := range f.venues {
		for _, address := range v.Lookup(p.a, p.b).Addresses {
			addresses = append(addresses, address)
			if f.pools.by[address] == nil {
				f.watch(&pool{address: address, venue: v, pair: p, asked: &p}, []venue.Key{address})
			}
		}
	}
	f.pools.asked[p] = addresses
	f.pools.touched[p] = struct{}{}
	f.pools.order = append(f.pools.order, p)
}

// Complete records that all pools of a pair were listed, at or after the slot where the state
// began. The stream shows later ones.
func (f *Fold) Complete(a, b venue.Key) {
	p := pairOf(a, b)
	if _, asked := f.pools.asked[p]; asked {
		f.pools.listed[p], f.pools.touched[p] = struct{}{}, struct{}{}
	}
}

// Listable returns whether the pools of a pair must be listed, and the slot from which on a listing
// counts.
func (f *Fold) Listable(a, b venue.Key) (from uint64, ok bool) {
	p := pairOf(a, b)
	_, asked := f.pools.asked[p]
	_, listed := f.pools.listed[p]
	return f.tree.first, asked && !listed && f.tree.started
}

// forget stops watching the pair that was asked for first.
func (f *Fold) forget(p pair) {
	for _, address := range f.pools.asked[p] {
		one := f.pools.by[address]
		if one == nil || one.asked == nil || *one.asked != p {
			continue
		}
		for _, h := range one.needs {
			f.release(h, one)
		}
		delete(f.pools.by, address)
		delete(f.pools.wanted, address)
		f.pools.of[p] = slices.DeleteFunc(f.pools.of[p], func(o *pool) bool { return o == one })
	}
	if len(f.pools.of[p]) == 0 {
		delete(f.pools.of, p)
	}
	delete(f.pools.asked, p)
	delete(f.pools.listed, p)
	delete(f.pools.urgent, p)
	f.pools.touched[p] = struct{}{}
	f.pools.order = f.pools.order[1:]
}

// Fresh returns the keys that the subscription must name in addition, each once.
func (f *Fold) Fresh() []venue.Key {
	fresh := f.pools.fresh
	f.pools.fresh = nil
	return slices.DeleteFunc(fresh, func(k venue.Key) bool { return f.accounts[k] == nil })
}

// Explicit returns all keys that a subscription must name, as the filter by owner does not have
// them.
func (f *Fold) Explicit() []venue.Key {
	var keys []venue.Key
	for key := range f.accounts {
		if p := f.pools.by[key]; p == nil || p.asked != nil {
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
		}
	}
}

// Counts returns how many pools are held and quotable, how many wanted, and how many addresses have
// no pool.
func (f *Fold) Counts() (quotable, uncertain, empty int) {
	for _, p := range f.pools.by {
		switch p.state {
		case held:
			quotable++
		case wanted:
			uncertain++
		case absent:
			empty++
		}
	}
	return quotable, uncertain, empty
}

// update computes a pool's state and entry from what holds at the head. It returns whether p.ref is
// set.
func (f *Fold) update(p *pool) bool {
	p.state, p.entry = f.judge(p)
	if p.state == wanted {
		f.pools.wanted[p.address] = p
	} else if delete(f.pools.wanted, p.address); len(f.pools.wanted) == 0 {
		// Not cleared: a map keeps the memory of the most that it held.
		f.pools.wanted = map[venue.Key]*pool{}
	}
	return p.ref != nil
}

// judge returns the state of a pool at the head, and its entry if it is held.
func (f *Fold) judge(p *pool) (entryState, *entry) {
	if !f.tree.started {
		return wanted, nil
	}
	if p.venue == nil {
		return p.all(&f.tree, absent), nil
	}
	first, ok := p.account(p.address).at(&f.tree)
	switch {
	case !ok:
		return wanted, nil
	case first.account == nil || first.account.Owner != p.venue.Program():
		return absent, nil
	case first.account != p.opened:
		p.opened, p.ref = first.account, nil
		ref, err := p.venue.Open(p.address, first.account.Data, p.pair.a, p.pair.b)
		if err == nil {
			mints := ref.Mints()
			if pairOf(mints[0], mints[1]) == p.pair {
				p.ref = ref
				f.need(p, append(ref.Accounts(), mints[:]...))
			}
		}
	}
	if p.ref == nil {
		return absent, nil
	}
	e := &entry{venue: p.venue.Name(), ref: p.ref}
	for _, key := range p.ref.Together() {
		v, ok := p.account(key).at(&f.tree)
		if !ok || key != p.address && !v.together(first) {
			return wanted, nil
		}
		e.own = append(e.own, v.account)
		e.slot = max(e.slot, v.slot)
	}
	if p.all(&f.tree, held) == wanted {
		return wanted, nil
	}
	return held, e
}

// all returns state if all accounts that the pool needs have a version at the head, else wanted.
func (p *pool) all(t *tree, state entryState) entryState {
	for _, h := range p.needs {
		if _, ok := h.at(t); !ok {
			return wanted
		}
	}
	return state
}
