package ledger

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/mintlake/mintlake/testworld/chain"
)

// maxRecentAge is how many blocks a blockhash stays valid for new transactions (Solana's
// MAX_PROCESSING_AGE).
const maxRecentAge = 150

// Tip is the newest live block at a commitment; nil before the first.
func (l *Ledger) Tip(c Commitment) *chain.Block {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.tip(c)
}

func (l *Ledger) tip(c Commitment) *chain.Block {
	if e := l.tips[c]; e != nil {
		return e.Block
	}
	return nil
}

// Slot is the newest slot at a commitment; before the first block of that commitment, the slot
// before genesis.
func (l *Ledger) Slot(c Commitment) uint64 {
	if b := l.Tip(c); b != nil {
		return b.Slot
	}
	return l.genesisSlot - 1
}

// First is the oldest slot that still has its block.
func (l *Ledger) First() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.first()
}

func (l *Ledger) first() uint64 {
	if len(l.order) == 0 {
		return l.genesisSlot
	}
	return l.order[0]
}

// Last is the newest slot that the node has seen, skipped and dead ones included.
func (l *Ledger) Last() uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.last
}

// Block is the live block of a slot and its commitment; ok is false for skipped, dead, future and
// forgotten slots.
func (l *Ledger) Block(slot uint64) (b *chain.Block, level Commitment, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	e := l.slots[slot]
	if e == nil || e.Kind != chain.Live {
		return nil, 0, false
	}
	return e.Block, e.level, true
}

// Slots lists the live slots from..to (both included) that reached the commitment, at most limit.
func (l *Ledger) Slots(from, to uint64, limit int, c Commitment) []uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := []uint64{}
	at := sort.Search(len(l.order), func(i int) bool { return l.order[i] >= from })
	for _, s := range l.order[at:] {
		if s > to || len(out) >= limit {
			break
		}
		if e := l.slots[s]; e.Kind == chain.Live && e.level >= c {
			out = append(out, s)
		}
	}
	return out
}

// Found is a transaction with its place.
type Found struct {
	Block *chain.Block
	Index int
	Level Commitment
}

// Tx returns the transaction.
func (f Found) Tx() *chain.Tx { return f.Block.Txs[f.Index] }

// Transaction finds a transaction of a live block by its first signature.
func (l *Ledger) Transaction(sig chain.Signature) (Found, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	ref, ok := l.signatures[binary.LittleEndian.Uint64(sig[:])]
	if !ok {
		return Found{}, false
	}
	e := l.slots[ref.slot]
	if e == nil || e.Block.Txs[ref.index].Signatures[0] != sig {
		return Found{}, false
	}
	return Found{Block: e.Block, Index: ref.index, Level: e.level}, true
}

// History walks the live transactions that name an account, newest first, until fn returns false.
// It scans blocks: its cost is bounded by the history kept.
func (l *Ledger) History(account chain.Key, c Commitment, fn func(Found) bool) {
	l.mu.RLock()
	entries := make([]Found, 0, len(l.order))
	for _, s := range l.order {
		if e := l.slots[s]; e.Kind == chain.Live && e.level >= c {
			entries = append(entries, Found{Block: e.Block, Level: e.level})
		}
	}
	l.mu.RUnlock()
	for i := len(entries) - 1; i >= 0; i-- {
		f := entries[i]
		for f.Index = len(f.Block.Txs) - 1; f.Index >= 0; f.Index-- {
			if f.Tx().Message.Mentions(account) && !fn(f) {
				return
			}
		}
	}
}

// Accounts reads several accounts at one slot; an absent one is nil.
func (l *Ledger) Accounts(keys []chain.Key, c Commitment) (out []*chain.Account, slot uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out = make([]*chain.Account, len(keys))
	for i, k := range keys {
		out[i] = l.account(k, c)
	}
	if b := l.tip(c); b != nil {
		return out, b.Slot
	}
	return out, l.genesisSlot - 1
}

// account returns an account at a commitment: from the newest slot of at least that level which
// changed it, else from the finalized state.
func (l *Ledger) account(k chain.Key, c Commitment) *chain.Account {
	for i := len(l.unrooted) - 1; i >= 0; i-- {
		if e := l.unrooted[i]; e.level >= c {
			if a, ok := e.overlay[k]; ok {
				return a
			}
		}
	}
	return l.base[k]
}

// Program lists the accounts that a program owns and for which keep returns true, in address order.
// It scans every account.
func (l *Ledger) Program(owner chain.Key, c Commitment, keep func(chain.Key, *chain.Account) bool) (out []chain.Write, slot uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	seen := map[chain.Key]struct{}{}
	consider := func(k chain.Key, a *chain.Account) {
		if a != nil && a.Owner == owner && keep(k, a) {
			out = append(out, chain.Write{Key: k, Account: a})
		}
	}
	for i := len(l.unrooted) - 1; i >= 0; i-- {
		e := l.unrooted[i]
		if e.level < c {
			continue
		}
		for k, a := range e.overlay {
			if _, dup := seen[k]; !dup {
				seen[k] = struct{}{}
				consider(k, a)
			}
		}
	}
	for k, a := range l.base {
		if _, dup := seen[k]; !dup {
			consider(k, a)
		}
	}
	sort.Slice(out, func(i, j int) bool { return string(out[i].Key[:]) < string(out[j].Key[:]) })
	if b := l.tip(c); b != nil {
		slot = b.Slot
	}
	return out, slot
}

// BlockhashValid returns whether a transaction with this blockhash may still land at the
// commitment's tip.
func (l *Ledger) BlockhashValid(h chain.Hash, c Commitment) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	height, ok := l.hashes[h]
	b := l.tip(c)
	return ok && b != nil && height <= b.Height && b.Height-height <= maxRecentAge
}

// TransactionCount is how many transactions the chain has had up to the commitment's tip.
func (l *Ledger) TransactionCount(c Commitment) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if e := l.tips[c]; e != nil {
		return e.total
	}
	return 0
}

// Recent lists the newest live blocks at a commitment, oldest first, at most n.
func (l *Ledger) Recent(n int, c Commitment) []*chain.Block {
	l.mu.RLock()
	defer l.mu.RUnlock()
	out := make([]*chain.Block, 0, n)
	for i := len(l.order) - 1; i >= 0 && len(out) < n; i-- {
		if e := l.slots[l.order[i]]; e.Kind == chain.Live && e.level >= c {
			out = append(out, e.Block)
		}
	}
	slices.Reverse(out)
	return out
}

// Lamports returns the sum of the lamports of all accounts. It scans every account.
func (l *Ledger) Lamports(c Commitment) (total, slot uint64) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	seen := map[chain.Key]struct{}{}
	for i := len(l.unrooted) - 1; i >= 0; i-- {
		e := l.unrooted[i]
		if e.level < c {
			continue
		}
		for k, a := range e.overlay {
			if _, dup := seen[k]; dup {
				continue
			}
			seen[k] = struct{}{}
			if a != nil {
				total += a.Lamports
			}
		}
	}
	for k, a := range l.base {
		if _, dup := seen[k]; !dup {
			total += a.Lamports
		}
	}
	if b := l.tip(c); b != nil {
		return total, b.Slot
	}
	return total, l.genesisSlot - 1
}
