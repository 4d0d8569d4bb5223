package state

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Checkpoint is the state of a Fold at its root, from which another Fold goes on after a restart.
type Checkpoint struct {
	// Genesis is the genesis hash of the chain.
	Genesis pubkey.Key
	// Slot is final. Hash and UnixTime are those of its block.
	Slot     uint64
	Hash     pubkey.Key
	UnixTime int64
	// venues is a hash of the venues' names. A Fold with other venues may know further pools of a
	// pair.
	venues uint64

	accounts []kept
	// pools are the addresses of all pools but those that Ask finds again from the mints of a pair.
	pools []pubkey.Key
	// pairs are the pairs that were asked for, the oldest first.
	pairs []keptPair
}

// kept is an account as it was at the root.
type kept struct {
	key     pubkey.Key
	version version
}

// keptPair is an asked pair. listed says that all of its pools are in the checkpoint.
type keptPair struct {
	pair   pair
	listed bool
}

// Checkpoint returns what is known at the root; nil while there is no state. It copies no account
// data: account data never change. The caller sets Genesis.
func (f *Fold) Checkpoint() *Checkpoint {
	if !f.tree.started {
		return nil
	}
	c := &Checkpoint{
		Slot: f.tree.root, Hash: f.tree.final.hash, UnixTime: f.tree.final.blockTime, venues: hashOfNames(f.venues),
		accounts: make([]kept, 0, len(f.accounts)), pools: make([]pubkey.Key, 0, len(f.pools.byAddress)),
	}
	for key, h := range f.accounts {
		if v, ok := h.final(f.tree.root); ok {
			c.accounts = append(c.accounts, kept{key, v})
		}
	}
	for address, p := range f.pools.byAddress {
		if v, ok := p.needs[0].final(f.tree.root); ok && v.account != nil {
			c.pools = append(c.pools, address)
		}
	}
	for _, s := range f.pools.asked {
		c.pairs = append(c.pairs, keptPair{s.pair, f.whole(s)})
	}
	return c
}

func hashOfNames(venues venue.List) uint64 {
	digest := xxhash.New()
	for _, v := range venues {
		_, _ = digest.WriteString(v.Name() + "\n")
	}
	return digest.Sum64()
}

// whole returns whether a pair is listed, and the accounts of all of its pools are known at the
// root.
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

// final returns the version that holds at the root.
func (h *history) final(root uint64) (version, bool) {
	for _, v := range slices.Backward(h.versions) {
		if v.slot <= root {
			return v, h.counts(&v)
		}
	}
	return version{}, false
}

// Restore takes over a checkpoint that was read. The Fold must be new. Then the caller lets the
// stream go on behind the checkpoint's slot, or calls Reset, which keeps the pools and pairs but no
// state. The error wraps errCheckpoint if the checkpoint has more pools or pairs than may be held.
// The Fold is then as before.
func (f *Fold) Restore(c *Checkpoint) error {
	if len(c.pools) > f.cfg.MaxPools || len(c.pairs) > f.cfg.MaxAsked {
		return fmt.Errorf("%w: it has %d pools and %d pairs, at most %d and %d are held", errCheckpoint, len(c.pools), len(c.pairs), f.cfg.MaxPools, f.cfg.MaxAsked)
	}
	f.tree.resume(c.Slot, &bank{complete: true, hash: c.Hash, blockTime: c.UnixTime})
	f.confirmed = c.Slot
	f.accounts = make(map[venue.Key]*history, len(c.accounts))
	for _, k := range c.accounts {
		h := &history{key: k.key, versions: []version{k.version}}
		f.accounts[k.key] = h
		f.change(h)
	}
	whole := c.venues == hashOfNames(f.venues) // the pools of another venue have not been listed
	for _, address := range c.pools {
		h := f.accounts[address]
		whole = h != nil && f.discover(address, h.versions[0].account) && whole
	}
	for _, p := range c.pairs {
		f.Ask(p.pair.a, p.pair.b)
		// If a pool is missing now, it is not known to which pair it belongs, so each pair must be
		// listed again.
		if p.listed && whole {
			f.Complete(p.pair.a, p.pair.b)
		}
	}
	// The bytes are not counted while pools are added: all of them had room before the restart.
	f.bytes = 0
	for key, h := range f.accounts {
		if len(h.users) == 0 {
			delete(f.accounts, key)
			continue
		}
		f.bytes += h.size()
	}
	f.Publish()
	return nil
}
