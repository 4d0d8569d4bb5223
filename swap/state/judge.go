package state

import (
	"slices"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// entryState is how far a pool's state is known.
type entryState uint8

const (
	// wanted: the state is not certain, and accounts must be read.
	wanted entryState = iota
	// held: the state is in entry.
	held
	// absent: there is no pool at the address.
	absent
	// shallow: the pool's arrays are not held, as it is not deep enough.
	shallow
)

// update computes a pool's state and entry from what holds at the head.
func (f *Fold) update(p *pool) {
	p.state, p.entry = f.judge(p)
	lacked := p.lacks
	p.lacks = p.state == wanted || p.state == held && !known(p.needs)
	switch {
	case p.lacks:
		f.pools.wanted[p] = struct{}{}
	case lacked:
		if delete(f.pools.wanted, p); len(f.pools.wanted) == 0 {
			// A new map instead of clear: a map keeps the memory of the most entries that it had.
			f.pools.wanted = map[*pool]struct{}{}
		}
	}
}

// judge returns the state of a pool at the head, and its entry if it is held. An account that the
// stream did not tell again is as it was told or read last: the stream tells each write, and the
// head's slot is complete.
func (f *Fold) judge(p *pool) (entryState, *entry) {
	if !f.tree.started {
		return wanted, nil
	}
	if p.venue == nil {
		if !known(p.needs) {
			return wanted, nil
		}
		return absent, nil
	}
	first, ok := p.needs[0].at()
	switch {
	case !ok:
		return wanted, nil
	case first.account == nil || first.account.Owner != p.venue.Program():
		return absent, nil
	case first.account != p.opened:
		f.reopen(p, first.account)
	}
	switch {
	case p.ref == nil:
		return absent, nil
	case p.shallow:
		return shallow, nil
	case !known(p.required()):
		return wanted, nil
	}
	e := &entry{venue: p.venue.Name(), ref: p.ref, needs: p.required(), own: make([]*solana.Account, p.own)}
	for i := range e.own {
		v, _ := p.needs[i].at()
		e.own[i], e.slot = v.account, max(e.slot, v.slot)
	}
	return held, e
}

// reopen opens the new version of a pool's account. It sets p.ref to nil if that is no pool of the
// pair any more.
func (f *Fold) reopen(p *pool, account *solana.Account) {
	last := p.ref
	p.opened, p.ref = account, nil
	ref, err := next(p, last, account.Data)
	if err != nil {
		return
	}
	mints := ref.Mints()
	if pairOf(mints[0], mints[1]) != p.pair.pair {
		return
	}
	p.ref, p.shallow = ref, f.shallow(ref, last != nil && !p.shallow)
	if !p.shallow && len(p.needs) > 1 && same(last, ref) {
		return // the usual case: the price is still in the same array
	}
	f.need(p)
}

// next opens a pool's account. last is the pool as it was opened before; it may be nil.
func next(p *pool, last venue.Ref, data []byte) (venue.Ref, error) {
	if windowed, ok := last.(venue.Windowed); ok {
		return windowed.Next(data)
	}
	return p.venue.Open(p.address, data, p.pair.a, p.pair.b)
}

// same returns whether a pool whose liquidity lies in arrays needs the same accounts as before. For
// other pools it returns false.
func same(last, now venue.Ref) bool {
	before, is := last.(venue.Windowed)
	after, ok := now.(venue.Windowed)
	return is && ok && slices.Equal(before.Near(), after.Near()) && slices.Equal(before.Spare(), after.Spare()) && slices.Equal(before.Accounts(), after.Accounts())
}

// shallow returns whether a pool is not deep enough for its arrays to be held. held says that they
// are held now: then the pool becomes shallow only below half of LeastDepth. Otherwise a pool near
// LeastDepth would be read again and again.
func (f *Fold) shallow(ref venue.Ref, held bool) bool {
	windowed, ok := ref.(venue.Windowed)
	if !ok {
		return false
	}
	least := f.cfg.LeastDepth
	if held {
		least /= 2
	}
	return windowed.Depth() < least
}

// required returns the accounts without which the pool cannot be quoted: all but the spare ones.
func (p *pool) required() []*history { return p.needs[:len(p.needs)-int(p.spare)] }

// known returns whether all of these accounts have a version at the head.
func known(needs []*history) bool {
	for _, h := range needs {
		if _, ok := h.at(); !ok {
			return false
		}
	}
	return true
}
