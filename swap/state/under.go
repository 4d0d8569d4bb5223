package state

import (
	"github.com/mintlake/mintlake/swap/venue"
)

// underlay is the base below a Fold, and how much of it is entered in the Fold.
type underlay struct {
	// base is never nil, but may be empty.
	base *base
	// entered says which pairs are entered. due are those that must be.
	entered []bool
	due     []int
	// pools counts those that are not entered, and asked the pairs that were asked for and are not
	// entered. Of base.asked, all before next are entered.
	pools, asked, next int
}

// underlayOf returns a base of which no pair is entered or counted.
func (f *Fold) underlayOf(b *base) underlay {
	b.venues = f.venues
	return underlay{base: b, entered: make([]bool, len(b.pairs))}
}

// count counts a pair that is not entered.
func (u *underlay) count(n int) {
	if u.base.pairs[n].asked {
		u.asked++
	}
	for at, end := u.base.poolsOf(n); at < end; at++ {
		if !u.base.pools[at].asked {
			u.pools++
		}
	}
}

// has returns whether the base has a pair that is not entered.
func (u *underlay) has(p pair) bool {
	n, ok := u.base.findPair(p)
	return ok && !u.entered[n]
}

// history returns an account that is held; nil if it is not. If it is entered now, enter must be
// called before anything changes it: so the pairs whose pools own it are entered too.
func (f *Fold) history(key venue.Key) *history {
	if h := f.accounts[key]; h != nil {
		return h
	}
	b := f.under.base
	i, ok := b.find(key)
	if !ok {
		return nil
	}
	h := &history{key: key, versions: []version{b.version(i)}, based: true, outside: b.shared[i]}
	if h.outside {
		h.shared = b.account(i)
	}
	f.accounts[key] = h
	for _, n := range b.ownersAt(i) {
		f.under.due = append(f.under.due, int(n))
	}
	return h
}

// enter enters the pairs that are due. The accounts of one may make others due.
func (f *Fold) enter() {
	for len(f.under.due) > 0 {
		last := len(f.under.due) - 1
		n := f.under.due[last]
		if f.under.due = f.under.due[:last]; !f.under.entered[n] {
			f.enterPair(n)
		}
	}
}

// known returns what is known of a pair; nil if that is nothing.
func (f *Fold) known(p pair) *pairState {
	if s := f.pools.of[p]; s != nil {
		return s
	}
	if n, ok := f.under.base.findPair(p); ok {
		f.under.due = append(f.under.due, n)
		f.enter()
	}
	return f.pools.of[p]
}

// enterPair enters a pair and its pools. They are certain at once, unless this version of the
// program needs other accounts than that which wrote the base.
func (f *Fold) enterPair(n int) {
	b := f.under.base
	f.under.entered[n] = true
	s, complete := f.newPair(b.pairOf(n)), true
	for at, end := b.poolsOf(n); at < end; at++ {
		if b.pools[at].asked {
			continue // ask finds it again
		}
		f.under.pools--
		one := f.open(s, b.key(b.pools[at].account))
		if one == nil {
			complete = false
			continue
		}
		f.pools.by[one.address] = one
		s.pools = append(s.pools, one)
		f.hold(one)
	}
	if b.pairs[n].asked {
		f.under.asked--
		f.ask(s)
		s.listed = complete
	}
	for _, one := range s.pools {
		f.update(one)
	}
}

// open returns the pool that an account of the base is; nil if it is none of the pair.
func (f *Fold) open(s *pairState, address venue.Key) *pool {
	h := f.history(address)
	if h == nil || len(h.versions) == 0 || h.versions[0].account == nil || f.pools.by[address] != nil {
		return nil
	}
	account := h.versions[0].account
	v := f.venues.Owner(account.Owner)
	if v == nil {
		return nil
	}
	ref, err := v.Open(address, account.Data)
	if err != nil || pairOf(ref.Mints()[0], ref.Mints()[1]) != s.pair {
		return nil
	}
	return &pool{address: address, venue: v, pair: s, opened: account, ref: ref}
}

// enterAll enters all pairs, and forgets the base.
func (f *Fold) enterAll() {
	for n := range f.under.entered {
		f.under.due = append(f.under.due, n)
		f.enter()
	}
	f.under = f.underlayOf(&base{})
	for key, h := range f.accounts {
		if h.based, h.outside = false, false; len(h.users) == 0 {
			f.bytes -= h.size()
			f.change(h)
			delete(f.accounts, key)
		}
	}
}

// oldest returns the asked pair that is to be forgotten first: those that are not entered come
// before the others.
func (f *Fold) oldest() *pairState {
	for u := &f.under; u.asked > 0; u.next++ {
		if n := int(u.base.asked[u.next]); !u.entered[n] {
			return f.known(u.base.pairOf(n))
		}
	}
	return f.pools.asked[0]
}

// explicitOf appends the keys of the base that a subscription must name, and that are not entered.
func (f *Fold) explicitOf(keys []venue.Key) []venue.Key {
	b := f.under.base
	pools := make([]bool, b.len())
	for _, p := range b.pools {
		pools[p.account] = pools[p.account] || !p.asked
	}
	for i, isPool := range pools {
		if key := b.key(uint32(i)); !isPool && f.accounts[key] == nil {
			keys = append(keys, key)
		}
	}
	return keys
}
