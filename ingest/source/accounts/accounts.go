// Package accounts joins the account updates of a stream to their blocks.
//
// In: accounts as transactions left them, with slot and signature, before their block. Out: blocks
// with the accounts that their own transactions wrote. Guarantees: an update counts only with a
// block that is passed on and contains its transaction. So an update of a slot that is never
// confirmed, or of another fork, contributes nothing. Lost, repeated or late updates do not affect
// others. Memory is bounded by MaxBytes.
package accounts

import (
	"slices"
	"sync"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// MaxBytes bounds the updates that wait for their block, in bytes of data and bookkeeping. A
	// block writes a few hundred mints at most.
	MaxBytes = 64 << 20
	// MaxData is more than any mint or metadata account has that this service reads: 64 KiB of
	// token metadata and the other extensions.
	MaxData = 128 << 10
	// reach is how far below the highest block, in slots, updates are kept: the block of a gap
	// comes late.
	reach = 2_000
	// ahead is how far above the highest block, in slots, an update is believed.
	ahead = 10_000
	// overhead is about how many bytes an update takes beside its data.
	overhead = 256
)

// Results of an update: labels of a metric.
const (
	Joined  = "joined"
	Dropped = "dropped"
)

// Buffer keeps updates until their block is passed on. Make it with NewBuffer. Safe for concurrent
// use.
type Buffer struct {
	metrics *source.Metrics

	mu      sync.Mutex
	slots   map[uint64]*waiting
	bytes   int
	highest uint64
}

// waiting are the updates of one slot, in the order in which they came.
type waiting struct {
	updates []chain.Account
	bytes   int
}

// NewBuffer makes an empty buffer; metrics may be nil.
func NewBuffer(metrics *source.Metrics) *Buffer {
	return &Buffer{metrics: metrics, slots: map[uint64]*waiting{}}
}

// Add adds an update and copies its data. It drops an update that is too large, or whose slot is
// far from the highest block. Beyond MaxBytes it drops the updates of the lowest slots.
func (b *Buffer) Add(slot uint64, account *chain.Account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	far := b.highest > 0 && (slot > b.highest+ahead || slot+reach < b.highest)
	if far || len(account.Data) > MaxData {
		b.count(Dropped, 1)
		return
	}
	w := b.slots[slot]
	if w == nil {
		w = &waiting{}
		b.slots[slot] = w
	}
	own := *account
	own.Data = slices.Clone(account.Data)
	w.updates = append(w.updates, own)
	w.bytes += len(own.Data) + overhead
	b.bytes += len(own.Data) + overhead
	for b.bytes > MaxBytes {
		b.drop(b.lowest())
	}
}

func (b *Buffer) lowest() (slot uint64) {
	first := true
	for s := range b.slots {
		if first || s < slot {
			slot, first = s, false
		}
	}
	return slot
}

func (b *Buffer) drop(slot uint64) {
	w := b.slots[slot]
	b.count(Dropped, len(w.updates))
	b.bytes -= w.bytes
	delete(b.slots, slot)
}

func (b *Buffer) count(result string, n int) {
	if b.metrics != nil {
		b.metrics.Accounts(result, n)
	}
}

// Join adds to a whole block the accounts that its transactions wrote, in the order of the
// transactions, each account once for a transaction. It removes the updates of the block's slot and
// of slots below reach. A lone transaction gets no accounts.
func (b *Buffer) Join(block *chain.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if block.Whole {
		b.highest = max(b.highest, block.Slot)
	}
	w := b.slots[block.Slot]
	if w != nil && block.Whole {
		block.Accounts = join(block.Transactions, w.updates)
		b.count(Joined, len(block.Accounts))
		b.count(Dropped, len(w.updates)-len(block.Accounts))
		b.bytes -= w.bytes
		delete(b.slots, block.Slot)
	}
	for slot := range b.slots {
		if slot+reach < b.highest {
			b.drop(slot)
		}
	}
}

// join returns the updates whose transaction is in the block and did not fail, each account once
// for a transaction.
func join(transactions []chain.Transaction, updates []chain.Account) (joined []chain.Account) {
	index := make(map[chain.Signature]int, len(updates))
	for i := range updates {
		index[updates[i].Signature] = -1
	}
	for i := range transactions {
		tx := &transactions[i]
		if _, sought := index[tx.Signature]; sought && !tx.Failed && tx.Index >= 0 {
			index[tx.Signature] = tx.Index
		}
	}
	type write struct {
		key         pubkey.Key
		transaction int
	}
	seen := make(map[write]bool, len(updates))
	for _, update := range updates {
		update.Transaction = index[update.Signature]
		if at := (write{update.Key, update.Transaction}); update.Transaction >= 0 && !seen[at] {
			seen[at] = true
			joined = append(joined, update)
		}
	}
	slices.SortStableFunc(joined, func(a, b chain.Account) int {
		if a.Transaction != b.Transaction {
			return a.Transaction - b.Transaction
		}
		return slices.Compare(a.Key[:], b.Key[:])
	})
	return joined
}
