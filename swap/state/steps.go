package state

import (
	"cmp"
	"maps"
	"slices"

	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// Step is a transaction that wrote a pool, and the pool's state before it.
type Step struct {
	Venue string
	Ref   venue.Ref
	Slot  uint64
	// UnixTime of the slot's block, in seconds.
	UnixTime int64
	// Transaction is HashOf its signature.
	Transaction uint64
	// Before are the accounts that Ref.Decode needs, as they were before the transaction. An
	// account that did not exist is nil.
	Before map[venue.Key]*solana.Account
}

const (
	// maxWrites is how many writes of a slot are kept until it is complete.
	maxWrites = 1 << 16
	// sharedBy is how many pools must use an account for it to count as one that swaps do not
	// write, such as a config or a mint.
	sharedBy = 8
)

// remember keeps a write for the steps of its bank.
func (b *bank) remember(f *Fold, w Write) {
	if f.steps != nil && !b.complete && len(b.writes) < maxWrites {
		b.writes = append(b.writes, w)
	}
}

// trace calls steps for a bank whose writes have all come. It does so only if the bank's parent is
// the head: then the pools' state before each transaction is known. It calls none for a slot of
// several banks: a transaction may be in two of them, with different results.
func (f *Fold) trace(b *bank) {
	writes := b.writes
	b.writes = nil
	if len(writes) == 0 || len(writes) == maxWrites || b.dead || len(b.slot.banks) > 1 || !f.tree.onHead(b) {
		return
	}
	shared, own := map[venue.Key][]Write{}, map[*pool][]Write{}
	var order []*pool
	for _, w := range writes {
		h := f.accounts[w.Key]
		if h == nil {
			continue
		}
		if len(h.users) >= sharedBy {
			shared[w.Key] = append(shared[w.Key], w)
			continue
		}
		for _, p := range h.users {
			if p.state != held || p.ref == nil {
				continue
			}
			if own[p] == nil {
				order = append(order, p)
			}
			own[p] = append(own[p], w)
		}
	}
	for _, p := range order {
		f.tracePool(p, own[p], shared, Step{Slot: b.slot.number, UnixTime: b.blockTime})
	}
}

// tracePool calls steps for the transactions of one pool. It calls none if an account of the pool
// is not certain at the head. It stops at a transaction whose writes are not consecutive.
func (f *Fold) tracePool(p *pool, writes []Write, shared map[venue.Key][]Write, step Step) {
	now := map[venue.Key]*solana.Account{}
	for _, h := range p.needs {
		v, ok := h.at()
		if !ok && slices.Contains(p.needs[len(p.needs)-int(p.spare):], h) {
			continue
		}
		if !ok || h.changed {
			return
		}
		now[h.key] = v.account
		writes = append(writes, shared[h.key]...)
	}
	slices.SortStableFunc(writes, func(a, b Write) int { return cmp.Compare(a.Order, b.Order) })
	step.Venue, step.Ref = p.venue.Name(), p.ref
	told := map[uint64]bool{}
	for i := 0; i < len(writes); {
		end := i + 1
		for end < len(writes) && writes[end].Transaction == writes[i].Transaction {
			end++
		}
		group := writes[i:end]
		if slices.ContainsFunc(group, func(w Write) bool { return p.owns(p.account(w.Key)) }) {
			if told[group[0].Transaction] {
				return
			}
			told[group[0].Transaction] = true
			if step.Transaction = group[0].Transaction; step.Transaction != 0 {
				one := step
				one.Before = maps.Clone(now)
				f.steps(one)
			}
		}
		for _, w := range group {
			now[w.Key] = w.Account
		}
		i = end
	}
}
