// Package accounts joins the account updates of a stream to their blocks.
//
// In: accounts as transactions left them, with slot and signature, before their block. Out: blocks
// with the accounts that their own transactions wrote. Guarantees: an update counts only with a
// block that is passed on and contains its transaction. So an update of a slot that is never
// confirmed, or of another fork, contributes nothing. The same transaction may be in two banks of a
// slot: an update counts only if it is certain to be of the block's bank. Lost, repeated or late
// updates do not affect others. Memory is bounded by MaxBytes.
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
	// MaxData bounds the data of one update. No mint or metadata account that is read has more:
	// 64 KiB of token metadata and the other extensions.
	MaxData = 128 << 10
	// reach is how far below the highest block, in slots, updates are kept, because the block of a
	// gap comes late.
	reach = 2_000
	// ahead is how far above the highest block, in slots, an update is believed. An update above
	// that is dropped.
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
	// session numbers the connections of the stream.
	session uint64
}

// waiting are the updates of one slot, in the order in which they came.
type waiting struct {
	updates []chain.Account
	bytes   int
	// created counts the banks of the slot that were created in session and have no ID.
	created int
	session uint64
}

// NewBuffer makes an empty buffer; metrics may be nil.
func NewBuffer(metrics *source.Metrics) *Buffer {
	return &Buffer{metrics: metrics, slots: map[uint64]*waiting{}}
}

// NewSession notes that the stream begins again, perhaps at another server. A bank ID from before
// does not mean the same bank after it.
func (b *Buffer) NewSession() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.session++
}

// Here returns the bank that has the ID in this session; the zero value if id is 0.
func (b *Buffer) Here(id uint64) chain.Bank {
	if id == 0 {
		return chain.Bank{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return chain.Bank{ID: id, Session: b.session}
}

// Created notes that a bank of the slot was created. Once two banks of the slot without an ID were
// created, the slot's updates without an ID may be of either bank, so none of them counts.
func (b *Buffer) Created(slot uint64, bank chain.Bank) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bank.ID != 0 || b.far(slot) {
		return
	}
	w := b.waiting(slot)
	if w.session != b.session {
		w.session, w.created = b.session, 0
	}
	w.created++
	b.bound()
}

// bound drops the updates of the lowest slots while there are more than MaxBytes.
func (b *Buffer) bound() {
	for b.bytes > MaxBytes {
		b.drop(b.lowest())
	}
}

// far reports whether a slot is far from the highest block.
func (b *Buffer) far(slot uint64) bool {
	return b.highest > 0 && (slot > b.highest+ahead || slot+reach < b.highest)
}

// waiting returns the updates of a slot. If the slot has none, it adds an empty list.
func (b *Buffer) waiting(slot uint64) *waiting {
	w := b.slots[slot]
	if w == nil {
		w = &waiting{bytes: overhead}
		b.slots[slot] = w
		b.bytes += overhead
	}
	return w
}

// Add adds an update and copies its data. It drops an update that is too large, or whose slot is
// far from the highest block. Beyond MaxBytes it drops the updates of the lowest slots.
func (b *Buffer) Add(slot uint64, account *chain.Account) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.far(slot) || len(account.Data) > MaxData {
		b.count(Dropped, 1)
		return
	}
	w := b.waiting(slot)
	own := *account
	own.Data = slices.Clone(account.Data)
	w.updates = append(w.updates, own)
	w.bytes += len(own.Data) + overhead
	b.bytes += len(own.Data) + overhead
	b.bound()
}

// lowest returns the lowest slot with waiting updates. There must be one.
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

// of returns the updates that are certain to be of the bank that made the block. An update with a
// bank ID counts if it has the ID of this bank. If the block has no bank ID, the updates with an ID
// count if they all have the same ID. An update without an ID counts unless the slot has two banks.
func (w *waiting) of(bank chain.Bank) []chain.Account {
	if bank.ID == 0 {
		bank = w.only()
	}
	contested := w.created > 1
	return slices.DeleteFunc(slices.Clone(w.updates), func(update chain.Account) bool {
		if update.Bank.ID == 0 {
			return contested
		}
		return update.Bank != bank
	})
}

// only returns the one bank that all updates with a bank ID have; the zero value if they have
// several banks.
func (w *waiting) only() (bank chain.Bank) {
	for i := range w.updates {
		switch of := w.updates[i].Bank; {
		case of.ID == 0 || of == bank:
		case bank.ID != 0:
			return chain.Bank{}
		default:
			bank = of
		}
	}
	return bank
}

// Join adds to a whole or partial block the accounts that its transactions wrote, in the order of
// the transactions, each account once for a transaction. It removes the updates of the block's slot
// from the buffer, and drops those of slots that are more than reach below the highest block. A
// lone transaction gets no accounts.
func (b *Buffer) Join(block *chain.Block) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if block.InLedger() {
		b.highest = max(b.highest, block.Slot)
	}
	w := b.slots[block.Slot]
	if w != nil && block.InLedger() {
		block.Accounts = join(block.Transactions, w.of(block.Bank))
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
	index := make(map[chain.Signature]int, len(updates)) // -1 while the transaction is not found
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
