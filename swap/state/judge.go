package state

import (
	"github.com/mintlake/mintlake/solana"
)

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

// update computes a pool's state and entry from what holds at the head.
func (f *Fold) update(p *pool) {
	before := p.state
	p.state, p.entry = f.judge(p)
	switch {
	case p.state == wanted:
		f.pools.wanted[p] = struct{}{}
	case before == wanted:
		if delete(f.pools.wanted, p); len(f.pools.wanted) == 0 {
			// Not cleared: a map keeps the memory of the most that it held.
			f.pools.wanted = map[*pool]struct{}{}
		}
	}
}

// judge returns the state of a pool at the head, and its entry if it is held.
func (f *Fold) judge(p *pool) (entryState, *entry) {
	if !f.tree.started {
		return wanted, nil
	}
	if p.venue == nil {
		return p.all(absent), nil
	}
	first, ok := p.needs[0].at()
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
			if pairOf(mints[0], mints[1]) == p.pair.pair {
				p.ref = ref
				f.need(p)
			}
		}
	}
	if p.ref == nil {
		return absent, nil
	}
	e := &entry{venue: p.venue.Name(), ref: p.ref, needs: p.needs, own: make([]*solana.Account, p.own)}
	for i := range e.own {
		v, ok := p.needs[i].at()
		if !ok || i > 0 && !v.together(first) {
			return wanted, nil
		}
		e.own[i], e.slot = v.account, max(e.slot, v.slot)
	}
	if p.all(held) == wanted {
		return wanted, nil
	}
	return held, e
}

// all returns state if all accounts that the pool needs have a version at the head, else wanted.
func (p *pool) all(state entryState) entryState {
	for _, h := range p.needs {
		if _, ok := h.at(); !ok {
			return wanted
		}
	}
	return state
}
