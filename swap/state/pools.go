package state

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// pair is two mints in the order of their bytes.
type pair struct{ a, b venue.Key }

func pairOf(a, b venue.Key) pair {
	if bytes.Compare(a[:], b[:]) > 0 {
		a, b = b, a
	}
	return pair{a, b}
}

// pool is one that is known, or an address where one may be.
type pool struct {
	address venue.Key
	// venue is nil for what only holds the mints of a pair that was asked for.
	venue venue.Venue
	// asked is the pair for which an address without a listing is watched.
	asked *pair
	// opened is the account that ref was made of; both are nil for an address that holds no pool.
	opened *solana.Account
	ref    venue.Ref
	keys   []venue.Key
	// state is what the snapshot has of it.
	state entryState
	entry *entry
	pair  pair
}

// entryState is how far a pool's state is known.
type entryState uint8

const (
	// wanted: it is not certain, and must be read.
	wanted entryState = iota
	// held: entry has it.
	held
	// absent: there is no pool at the address.
	absent
)

// pools are all that are known.
type pools struct {
	by map[venue.Key]*pool
	of map[pair][]*pool
	// wanted are to be read.
	wanted map[venue.Key]*pool
	// asked are the pairs that are watched, oldest first.
	asked map[pair][]venue.Key
	order []pair
	// listed are the asked pairs of which all pools are known.
	listed map[pair]struct{}
	// refused are the pairs with a pool for which there was no room; full says that there was none
	// for those either.
	refused map[pair]struct{}
	full    bool
	// touched are pairs whose list in the snapshot is to be made anew.
	touched map[pair]struct{}
	// fresh are keys that no subscription names yet.
	fresh []venue.Key
}

func newPools() pools {
	return pools{by: map[venue.Key]*pool{}, wanted: map[venue.Key]*pool{}, asked: map[pair][]venue.Key{}, listed: map[pair]struct{}{}, refused: map[pair]struct{}{}, touched: map[pair]struct{}{}, of: map[pair][]*pool{}}
}

// Discover takes in a pool account that a listing has, or that a write shows. It says whether the
// account is held from now on.
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
	if len(f.pools.by) >= f.cfg.MaxPools || f.bytes >= f.cfg.MaxBytes {
		f.refuse(p)
		return false
	}
	f.watch(&pool{address: address, venue: v, pair: p}, append(ref.Accounts(), mints[:]...))
	return true
}

// Listed takes in a pool account of a listing.
func (f *Fold) Listed(address venue.Key, account *solana.Account) { f.discover(address, account) }

// refuse notes that a pair has a pool for which there is no room.
func (f *Fold) refuse(p pair) {
	if len(f.pools.refused) >= refusedPairs*f.cfg.MaxPools {
		f.pools.full = true
		return
	}
	f.pools.refused[p] = struct{}{}
	f.pools.touched[p] = struct{}{}
}

// refusedPairs bounds the pairs of which is known that they have more pools, in multiples of
// MaxPools.
const refusedPairs = 16

// watch holds a pool's accounts.
func (f *Fold) watch(p *pool, keys []venue.Key) {
	f.pools.by[p.address] = p
	f.pools.of[p.pair] = append(f.pools.of[p.pair], p)
	f.pools.touched[p.pair] = struct{}{}
	f.need(p, keys)
	f.pools.wanted[p.address] = p
}

// need makes keys the accounts of a pool.
func (f *Fold) need(p *pool, keys []venue.Key) {
	if slices.Equal(keys, p.keys) {
		return
	}
	for _, key := range p.keys {
		if !slices.Contains(keys, key) {
			f.release(key, p)
		}
	}
	for _, key := range keys {
		h := f.accounts[key]
		if h == nil {
			h = &history{since: never}
			if key == p.address && p.asked == nil {
				h.since = 0 // the filter by owner tells it
			} else {
				f.pools.fresh = append(f.pools.fresh, key)
			}
			f.accounts[key] = h
		}
		if !slices.Contains(h.users, p) {
			h.users = append(h.users, p)
		}
	}
	p.keys = keys
}

func (f *Fold) release(key venue.Key, p *pool) {
	h := f.accounts[key]
	h.users = slices.DeleteFunc(h.users, func(u *pool) bool { return u == p })
	if len(h.users) == 0 {
		f.bytes -= h.size()
		delete(f.accounts, key)
		f.changed[key] = struct{}{}
	}
}

// Ask watches the addresses where pools of a pair may be that no listing has.
func (f *Fold) Ask(a, b venue.Key) {
	p := pairOf(a, b)
	if _, known := f.pools.asked[p]; known {
		return
	}
	if len(f.pools.order) >= f.cfg.MaxAsked {
		f.forget(f.pools.order[0])
	}
	mints := sha256.Sum256(append(p.a[:], p.b[:]...)) // no account: it stands for the mints
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

// Complete says that the pools of a pair were listed, at or after the slot at which the state
// began: later ones show themselves.
func (f *Fold) Complete(a, b venue.Key) {
	p := pairOf(a, b)
	if _, asked := f.pools.asked[p]; asked {
		f.pools.listed[p], f.pools.touched[p] = struct{}{}, struct{}{}
	}
}

// Listable says that a pair is asked for and that its pools must be listed, and from which slot on
// a listing counts.
func (f *Fold) Listable(a, b venue.Key) (from uint64, ok bool) {
	p := pairOf(a, b)
	_, asked := f.pools.asked[p]
	_, listed := f.pools.listed[p]
	return f.tree.first, asked && !listed && f.tree.started
}

// forget gives up the pair that was asked for first.
func (f *Fold) forget(p pair) {
	for _, address := range f.pools.asked[p] {
		one := f.pools.by[address]
		if one == nil || one.asked == nil || *one.asked != p {
			continue
		}
		for _, key := range one.keys {
			f.release(key, one)
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
	f.pools.touched[p] = struct{}{}
	f.pools.order = f.pools.order[1:]
}

// Fresh returns the keys that a subscription must name from now on, each once.
func (f *Fold) Fresh() []venue.Key {
	fresh := f.pools.fresh
	f.pools.fresh = nil
	return slices.DeleteFunc(fresh, func(k venue.Key) bool { return f.accounts[k] == nil })
}

// Explicit are all keys that a subscription must name: no filter by owner tells them.
func (f *Fold) Explicit() []venue.Key {
	var keys []venue.Key
	for key := range f.accounts {
		if p := f.pools.by[key]; p == nil || p.asked != nil {
			keys = append(keys, key)
		}
	}
	return keys
}

// Covered says that the writes of keys are told from a slot on.
func (f *Fold) Covered(keys []venue.Key, from uint64) {
	for _, key := range keys {
		if h := f.accounts[key]; h != nil && h.since == never {
			h.since = from
		}
	}
}

// Reading is accounts to be read by one call, at a slot or later.
type Reading struct {
	Keys []venue.Key
	Slot uint64
}

// Wanted returns pools' accounts to be read by one call of up to so many, of one lane: a pool is
// always in the same one, so that lanes may be read at the same time. A pool waits on while an
// account is not subscribed, and while what its accounts have is not confirmed yet.
func (f *Fold) Wanted(most, lane, lanes int) Reading {
	r := Reading{Slot: f.tree.first}
	if !f.tree.started {
		return r
	}
	taken := map[venue.Key]bool{}
	for _, p := range f.pools.wanted {
		if int(p.address[31])%lanes != lane {
			continue
		}
		from := f.readableFrom(p)
		if from > f.confirmed {
			continue
		}
		more := slices.DeleteFunc(slices.Clone(p.keys), func(k venue.Key) bool { return taken[k] })
		if len(r.Keys)+len(more) > most {
			break
		}
		for _, key := range more {
			taken[key] = true
		}
		r.Keys, r.Slot = append(r.Keys, more...), max(r.Slot, from)
	}
	return r
}

// readableFrom is the slot from which on a reading settles what a pool's accounts hold.
func (f *Fold) readableFrom(p *pool) (from uint64) {
	for _, key := range p.keys {
		h := f.accounts[key]
		from = max(from, h.since)
		if v, ok := h.at(&f.tree); ok {
			from = max(from, v.slot)
		}
	}
	return from
}

// Counts are the pools by what is known of them: held and quotable, wanted, and addresses without a
// pool.
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

// update makes a pool's entry anew from what holds at the head. It says whether the pool is open.
func (f *Fold) update(p *pool) bool {
	p.state, p.entry = f.judge(p)
	if p.state == wanted {
		f.pools.wanted[p.address] = p
	} else {
		delete(f.pools.wanted, p.address)
	}
	return p.ref != nil
}

func (f *Fold) judge(p *pool) (entryState, *entry) {
	if !f.tree.started {
		return wanted, nil
	}
	if p.venue == nil {
		return f.all(p.keys, absent), nil
	}
	first, ok := f.accounts[p.address].at(&f.tree)
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
		v, ok := f.accounts[key].at(&f.tree)
		if !ok || key != p.address && !v.together(first) {
			return wanted, nil
		}
		e.own = append(e.own, v.account)
		e.slot = max(e.slot, v.slot)
	}
	if f.all(p.keys, held) == wanted {
		return wanted, nil
	}
	return held, e
}

// all is a state if all keys have a version at the head; else they are wanted.
func (f *Fold) all(keys []venue.Key, state entryState) entryState {
	for _, key := range keys {
		if _, ok := f.accounts[key].at(&f.tree); !ok {
			return wanted
		}
	}
	return state
}
