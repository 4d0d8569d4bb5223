package state

import (
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Checkpoint returns what is known at the root; nil while there is no state. It copies no account
// data: account data never change. Genesis is for the caller to set.
func (f *Fold) Checkpoint() *Checkpoint {
	if !f.tree.started {
		return nil
	}
	c := &Checkpoint{Slot: f.tree.root, Hash: f.tree.final.hash, UnixTime: f.tree.final.blockTime}
	for key, h := range f.accounts {
		if v, ok := h.final(f.tree.root); ok {
			c.accounts = append(c.accounts, kept{key, v})
		}
	}
	for address, p := range f.pools.by { // Ask finds the others again
		if v, ok := p.needs[0].final(f.tree.root); ok && v.account != nil {
			c.pools = append(c.pools, address)
		}
	}
	for _, s := range f.pools.asked {
		c.pairs = append(c.pairs, keptPair{s.pair, f.whole(s)})
	}
	return c
}

// whole returns whether a pair is listed, and the root has the accounts of all of its pools.
func (f *Fold) whole(s *pairState) bool {
	for _, one := range s.pools {
		if one.asked {
			continue
		}
		if _, ok := one.needs[0].final(f.tree.root); !ok {
			return false
		}
	}
	return s.listed && !s.refused && !f.pools.full
}

// Restore takes over a checkpoint. The Fold must be new. The stream must then go on behind the
// checkpoint's slot, or Reset must be called: it keeps the pools and pairs, but no state.
func (f *Fold) Restore(c *Checkpoint) {
	f.tree.resume(c.Slot, &slot{complete: true, hash: c.Hash, blockTime: c.UnixTime})
	f.confirmed = c.Slot
	f.accounts = make(map[venue.Key]*history, len(c.accounts))
	for i := range c.accounts {
		h := &history{key: c.accounts[i].key, versions: []version{c.accounts[i].version}}
		f.accounts[h.key] = h
		f.change(h)
		f.bytes += h.size()
	}
	whole := true
	for _, address := range c.pools {
		h := f.accounts[address]
		whole = h != nil && f.discover(address, h.versions[0].account) && whole
	}
	for _, p := range c.pairs {
		f.Ask(p.pair.a, p.pair.b)
		// If a pool is missing now, nobody knows of which pair it was.
		if p.listed && whole {
			f.Complete(p.pair.a, p.pair.b)
		}
	}
	for key, h := range f.accounts {
		if len(h.users) == 0 {
			f.bytes -= h.size()
			delete(f.accounts, key)
		}
	}
	f.Publish()
}

// final returns the version that holds at the root.
func (h *history) final(root uint64) (version, bool) {
	for _, v := range slices.Backward(h.versions) {
		if v.slot <= root {
			return v, v.slot >= h.since
		}
	}
	return version{}, false
}
