package state

import (
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Rebase puts the file of a checkpoint in place of the base: written is the checkpoint as the Fold
// gave it, read as it was read again. Pairs that have not changed since are left to the base, so
// that they take no more memory than in the file. Rebase does nothing if the state was reset
// meanwhile. It takes some 10 µs for each pool that is entered.
func (f *Fold) Rebase(written, read *Checkpoint) {
	if written.resets != f.resets || written.sum != read.sum || written.base != f.under.base {
		return
	}
	f.Publish()
	b, old := read.base, f.under
	f.under = f.underlayOf(b)
	for n := range b.pairs {
		p := b.pairOf(n)
		s := f.pools.of[p]
		if s == nil && old.has(p) || s != nil && s.number <= written.number && f.quiet(s) && s.still() {
			f.under.count(n)
			if s != nil {
				s.gone = true
			}
			continue
		}
		f.under.entered[n] = true
		if s == nil {
			f.newPair(p) // it was forgotten since, and the snapshot must not find it in the base
		}
	}
	f.leave()
	f.count()
	next := *f.snapshot.Load()
	next.number++
	next.version++
	next.base = b
	next.pairs, next.accounts = tableOf(f.listedPairs()), tableOf(f.sharedAccounts())
	f.snapshot.Store(&next)
}

// lacks returns whether a pool is of another pair.
func (s *pairState) lacks(p *pool) bool { return p.pair != s }

// still returns whether the accounts that the pair's pools own have no versions behind the root,
// which the base does not have, and no other pair needs them: else their writes would not enter the
// pair again.
func (s *pairState) still() bool {
	for _, p := range s.pools {
		for _, h := range p.needs[:p.own] {
			if len(h.versions) > 1 || slices.ContainsFunc(h.users, s.lacks) {
				return false
			}
		}
	}
	return true
}

// holds returns whether an account is as the base has it.
func (b *base) holds(i uint32, h *history) bool {
	last := h.versions[len(h.versions)-1]
	return len(h.versions) == 1 && b.slotOf(i) == last.slot && b.orderOf(i) == last.order && b.has(i, flagRead) == last.read
}

// leave takes the pairs that are gone out of the Fold, and the accounts that are as the base has
// them and that no pool needs now.
func (f *Fold) leave() {
	pools := newPools()
	pools.refused, pools.full, pools.wanted, pools.fresh = f.pools.refused, f.pools.full, f.pools.wanted, f.pools.fresh
	for p, s := range f.pools.of {
		if !s.gone {
			pools.of[p] = s
			_, s.based = f.under.base.findPair(p)
			s.touched = false // Rebase lists all of them
		}
	}
	for address, p := range f.pools.by {
		if !p.pair.gone {
			pools.by[address] = p
		}
	}
	for s := range f.pools.urgent {
		if !s.gone {
			pools.urgent[s] = struct{}{}
		}
	}
	for _, s := range f.pools.asked {
		if !s.gone {
			pools.asked = append(pools.asked, s)
		}
	}
	f.pools = pools
	accounts := map[venue.Key]*history{}
	for key, h := range f.accounts {
		h.users = slices.DeleteFunc(h.users, func(p *pool) bool { return p.pair.gone })
		i, based := f.under.base.find(key)
		h.based, h.outside = based, based && f.under.base.shared[i]
		if len(h.users) > 0 || based && !f.under.base.holds(i, h) {
			h.users = slices.Clone(h.users) // with room for no more
			accounts[key] = h
		}
	}
	f.accounts = accounts
}

// count counts the bytes of the accounts anew.
func (f *Fold) count() {
	b := f.under.base
	f.bytes = b.bytes()
	for key, h := range f.accounts {
		f.bytes += h.size()
		if i, ok := b.find(key); ok {
			f.bytes -= versionBytes + int64(len(b.dataOf(i)))
		}
	}
}

// listedPairs returns what the next snapshot has of the pairs that are entered.
func (f *Fold) listedPairs() map[pair]*listed {
	pairs := make(map[pair]*listed, len(f.pools.of))
	for p, s := range f.pools.of {
		if pairs[p] = s.list(); pairs[p] == nil {
			delete(pairs, p)
		} else if last := f.snapshot.Load().pairs.get(p); last != nil {
			pairs[p] = last // it has its last answer
		}
	}
	return pairs
}

// sharedAccounts returns what the next snapshot has of the accounts that are entered.
func (f *Fold) sharedAccounts() map[venue.Key]*account {
	accounts := map[venue.Key]*account{}
	for key, h := range f.accounts {
		if h.shared = f.share(h); h.shared != nil {
			accounts[key] = h.shared
		}
	}
	return accounts
}
