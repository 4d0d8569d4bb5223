package state

import (
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Ask watches the pair: its mints, and the addresses that the venues derive from the mints, where a
// pool may be that no listing has. If MaxAsked pairs are watched already, it forgets the oldest.
func (f *Fold) Ask(a, b venue.Key) {
	p := pairOf(a, b)
	if s := f.pools.pairs[p]; s != nil && s.asked {
		return
	}
	if len(f.pools.asked) >= f.cfg.MaxAsked {
		f.forgetOldest()
	}
	s := f.pair(p)
	s.asked = true
	f.pools.asked = append(f.pools.asked, s)
	f.watch(&pool{pair: s, asked: true}) // the mints
	for _, v := range f.venues {
		for _, address := range v.Lookup(p.a, p.b).Addresses {
			if known := f.pools.byAddress[address]; known == nil || known.pair != s {
				f.watch(&pool{address: address, venue: v, pair: s, asked: true})
			}
		}
	}
}

// Complete records that all pools of a pair were listed, at or after the slot where the state
// began. The stream shows later ones.
func (f *Fold) Complete(a, b venue.Key) {
	if s := f.pools.pairs[pairOf(a, b)]; s != nil && s.asked {
		s.listed = true
		f.touch(s)
	}
}

// Listable returns whether the pools of a pair must be listed, and the slot from which on a listing
// counts.
func (f *Fold) Listable(a, b venue.Key) (from uint64, ok bool) {
	s := f.pools.pairs[pairOf(a, b)]
	return f.tree.first, s != nil && s.asked && !s.listed && f.tree.started
}

// forgetOldest stops watching the pair that was asked for earliest. Pools that the stream or a
// listing showed stay.
func (f *Fold) forgetOldest() {
	s := f.pools.asked[0]
	f.pools.asked = f.pools.asked[1:]
	s.pools = slices.DeleteFunc(s.pools, func(p *pool) bool {
		if !p.asked {
			return false
		}
		for _, h := range p.needs {
			f.release(h, p)
		}
		delete(f.pools.wanted, p)
		return true
	})
	s.asked, s.listed = false, false
	f.touch(s)
	delete(f.pools.urgent, s)
	if len(s.pools) == 0 && !s.refused {
		delete(f.pools.pairs, s.pair)
	}
}
