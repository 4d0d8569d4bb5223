package state

import (
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
	// venues says which venues there were: others may have other pools of a pair.
	venues uint64
	// sum is the checksum of the file that it was written to or read from.
	sum uint64
	// number is that of the snapshot, and resets how often the state had been reset; not in the
	// file.
	number, resets uint64

	// base has what was not entered, which is all that is certain if the checkpoint was read from a
	// file. entered are its pairs that were entered.
	base    *base
	entered []bool
	// accounts are those that were entered. They hide those of the base.
	accounts []kept
	// quiet are the pairs that were entered and are certain at the root.
	quiet []quietPair
	// asked are the pairs that were asked for and are certain, the oldest first; those of the base
	// are before them.
	asked []pair
	// pools are the addresses of the other pools, and pairs the others that were asked for, the
	// oldest first.
	pools []pubkey.Key
	pairs []keptPair
}

// kept is an account as it was at the root. missing says that this is not known. used says that a
// pool needs it that is not in the base.
type kept struct {
	key           pubkey.Key
	history       *history
	version       version
	missing, used bool
}

// quietPair is a pair that is certain at the root, as its pools have not changed since.
type quietPair struct {
	pair  pair
	asked bool
	pools []quietPool
}

type quietPool struct {
	needs []*history
	own   uint8
	asked bool
}

// keptPair is an asked pair. listed says that all of its pools are in the checkpoint.
type keptPair struct {
	pair   pair
	listed bool
}

// Checkpoint returns what is known at the root; nil while there is no state. It copies no account
// data: account data never change. Genesis is for the caller to set.
func (f *Fold) Checkpoint() *Checkpoint {
	if !f.tree.started {
		return nil
	}
	f.Publish()
	c := &Checkpoint{
		venues: sumOf(f.venues), Slot: f.tree.root, Hash: f.tree.final.hash, UnixTime: f.tree.final.blockTime,
		number: f.snapshot.Load().number, resets: f.resets, base: f.under.base, entered: slices.Clone(f.under.entered), accounts: make([]kept, 0, len(f.accounts)),
	}
	for _, h := range f.accounts {
		v, ok := h.final(f.tree.root)
		c.accounts = append(c.accounts, kept{h.key, h, v, !ok, len(h.users) > 0})
	}
	for _, s := range f.pools.of {
		if !s.asked {
			f.keep(c, s)
		}
	}
	for _, s := range f.pools.asked {
		if f.keep(c, s) {
			c.asked = append(c.asked, s.pair)
		} else {
			c.pairs = append(c.pairs, keptPair{s.pair, f.whole(s)})
		}
	}
	return c
}

// sumOf returns a hash of the names of venues.
func sumOf(venues venue.List) uint64 {
	digest := xxhash.New()
	for _, v := range venues {
		_, _ = digest.WriteString(v.Name() + "\n")
	}
	return digest.Sum64()
}

// keep adds a pair's pools to a checkpoint. It returns whether the pair is quiet.
func (f *Fold) keep(c *Checkpoint, s *pairState) bool {
	if f.quiet(s) {
		if q := s.store(); q.asked || len(q.pools) > 0 {
			c.quiet = append(c.quiet, q)
		}
		return true
	}
	for _, p := range s.pools { // Ask finds the others again
		if v, ok := p.needs[0].final(f.tree.root); ok && v.account != nil && !p.asked {
			c.pools = append(c.pools, p.address)
		}
	}
	return false
}

// Len returns how many pools and pairs a checkpoint has.
func (c *Checkpoint) Len() (pools, pairs int) {
	pools, pairs = len(c.pools), len(c.pairs)+len(c.asked)
	for _, s := range c.quiet {
		for _, p := range s.pools {
			if !p.asked {
				pools++
			}
		}
	}
	for n, stored := range c.base.pairs {
		if c.taken(n) {
			continue
		}
		if stored.asked {
			pairs++
		}
		for at, end := c.base.poolsOf(n); at < end; at++ {
			if !c.base.pools[at].asked {
				pools++
			}
		}
	}
	return pools, pairs
}

// taken returns whether a pair of the base was entered.
func (c *Checkpoint) taken(n int) bool { return n < len(c.entered) && c.entered[n] }

// quiet returns whether the state of a pair is certain at the root, because it is at the head and
// has not changed since.
func (f *Fold) quiet(s *pairState) bool {
	if s.refused || f.pools.full || s.asked != s.listed || s.slot > f.tree.root {
		return false
	}
	return !slices.ContainsFunc(s.pools, func(p *pool) bool { return p.state == wanted })
}

// store returns what a checkpoint has of a quiet pair.
func (s *pairState) store() quietPair {
	q := quietPair{pair: s.pair, asked: s.asked, pools: make([]quietPool, 0, len(s.pools))}
	for _, p := range s.pools {
		if p.venue != nil && (p.asked || p.state == held) {
			q.pools = append(q.pools, quietPool{p.needs, p.own, p.asked})
		}
	}
	return q
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

// final returns the version that holds at the root.
func (h *history) final(root uint64) (version, bool) {
	for _, v := range slices.Backward(h.versions) {
		if v.slot <= root {
			return v, v.slot >= h.since
		}
	}
	return version{}, false
}
