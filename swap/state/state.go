// Package state holds the pools' accounts as a stream of account updates tells them, and gives out
// snapshots that quotes are made from.
//
// In: account writes, complete blocks and slot statuses of a Yellowstone stream, in any order;
// accounts that were read by a call. Out: immutable snapshots of one slot, the head.
// Guarantees: a pool in a snapshot is of one state: one transaction wrote the accounts that its
// swaps write, or one slot's reading has them all. The head is a complete slot of a fork that is
// not known to be dead or passed over by a confirmed one. What is not certain is not in the
// snapshot and is told as wanted, so that it is read. Memory is bounded by Config.
//
// Fold is the pure part: no I/O, no clock; one goroutine feeds it. Feed is around it: the
// subscription, the readings, the metrics. Why it is made so: docs/decisions/0018.
package state

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// FoldConfig bounds what is held. Zero values take the defaults named at each field.
type FoldConfig struct {
	// MaxPools that are held; default 50,000. A pair with more pools is not quoted from here.
	MaxPools int
	// MaxAsked bounds the pairs that Ask watches: for each, the addresses where a pool may be that
	// was not listed. Default 4,096. For one more, the one that was asked for first is forgotten.
	MaxAsked int
	// MaxBytes of account data; default 1 GiB. Beyond, no pool is added.
	MaxBytes int64
}

func (c FoldConfig) withDefaults() FoldConfig {
	c.MaxPools = cmp.Or(max(c.MaxPools, 0), 50_000)
	c.MaxAsked = cmp.Or(max(c.MaxAsked, 0), 4096)
	c.MaxBytes = cmp.Or(max(c.MaxBytes, 0), 1<<30)
	return c
}

// Write is one account update.
type Write struct {
	Slot uint64
	// Order is the write_version.
	Order uint64
	Key   venue.Key
	// Transaction that wrote it, as a hash of its signature; 0 if none is named.
	Transaction uint64
	// Account is nil when it was closed.
	Account *solana.Account
}

// Fold makes snapshots of writes. One goroutine calls it, but for Snapshot.
type Fold struct {
	cfg      FoldConfig
	venues   venue.List
	tree     tree
	accounts map[venue.Key]*history
	bytes    int64
	pools    pools
	// changed are keys whose version at the head may be another than in the snapshot.
	changed  map[venue.Key]struct{}
	snapshot atomic.Pointer[Snapshot]
	// confirmed is the highest slot that is known to be.
	confirmed uint64
	// late counts writes that came after their slot was final.
	late uint64
	// steps is told of each transaction that wrote a held pool, when its slot is complete; nil for
	// none.
	steps func(Step)
}

// NewFold makes an empty one.
func NewFold(cfg FoldConfig, venues venue.List) *Fold {
	f := &Fold{cfg: cfg.withDefaults(), venues: venues, tree: newTree(), accounts: map[venue.Key]*history{}, pools: newPools(), changed: map[venue.Key]struct{}{}}
	f.snapshot.Store(newSnapshot(venues))
	return f
}

// Snapshot is what holds at the head. Safe for concurrent use; never nil.
func (f *Fold) Snapshot() *Snapshot { return f.snapshot.Load() }

// Write takes in an account update.
func (f *Fold) Write(w Write) {
	if w.Slot <= f.tree.root {
		f.late++
		return
	}
	h := f.accounts[w.Key]
	if h == nil {
		if !f.discover(w.Key, w.Account) {
			return
		}
		h = f.accounts[w.Key]
	}
	f.put(w.Key, h, version{slot: w.Slot, order: w.Order, transaction: w.Transaction, account: w.Account})
	f.remember(w)
}

func (f *Fold) put(key venue.Key, h *history, v version) {
	if len(f.tree.slots) >= maxSlots && f.tree.slots[v.slot] == nil && v.slot > f.tree.root {
		return // Broken says so
	}
	before := h.size()
	if !h.add(v) {
		return
	}
	f.bytes += h.size() - before
	if v.slot > f.tree.root {
		s := f.tree.at(v.slot)
		s.keys = append(s.keys, key)
	}
	if v.slot <= f.tree.root || f.tree.fork[v.slot] {
		f.changed[key] = struct{}{}
	}
}

// Block says that all writes of a slot have come.
func (f *Fold) Block(number, parent uint64, blockTime int64, at time.Time) {
	if number <= f.tree.root || len(f.tree.slots) >= maxSlots && f.tree.slots[number] == nil {
		return
	}
	s := f.tree.at(number)
	if s.complete {
		return
	}
	f.trace(number, parent, blockTime)
	s.complete, s.parent, s.blockTime, s.receivedAt = true, parent, blockTime, at
	f.choose()
	if len(f.tree.fork) > maxDepth {
		f.Finalized(f.ancestor(maxDepth / 2))
	}
}

// ancestor is the slot of the head's fork with so many above it.
func (f *Fold) ancestor(above int) uint64 {
	number := f.tree.head
	for range above {
		number = f.tree.slots[number].parent
	}
	return number
}

// Dead says that a slot's block is none.
func (f *Fold) Dead(number uint64) {
	if number > f.tree.root && len(f.tree.slots) < maxSlots {
		f.tree.at(number).dead = true
		f.choose()
	}
}

// Confirmed says that a slot is confirmed: forks without it are retracted. The state begins with
// the first one whose block came.
func (f *Fold) Confirmed(number uint64) {
	f.confirmed = max(f.confirmed, number)
	if number > f.tree.root && len(f.tree.confirmed) < maxSlots {
		f.tree.confirmed[number] = true
		if s := f.tree.slots[number]; !f.tree.started && s != nil && s.complete && !s.dead {
			f.drop(f.tree.start(number), func(uint64) bool { return true })
		}
		f.choose()
	}
}

// Finalized says that a slot is final, and so are those that it follows.
func (f *Fold) Finalized(number uint64) {
	f.Confirmed(number) // which makes its fork the head's
	root, fork := f.tree.root, f.tree.fork
	lost := map[uint64]bool{}
	for n := range f.tree.slots {
		lost[n] = !fork[n]
	}
	gone, ok := f.tree.finalize(number)
	if !ok {
		return // the block is missing; Broken says so when it does not come
	}
	f.drop(gone, func(slot uint64) bool { return slot > root && lost[slot] })
}

// drop prunes the accounts that slots up to the root wrote.
func (f *Fold) drop(gone map[uint64]*slot, lost func(slot uint64) bool) {
	for _, s := range gone {
		for _, key := range s.keys {
			if h := f.accounts[key]; h != nil {
				before := h.size()
				h.prune(f.tree.root, lost)
				f.bytes += h.size() - before
			}
		}
	}
}

func (f *Fold) choose() {
	for _, number := range f.tree.choose() {
		if s := f.tree.slots[number]; s != nil {
			for _, key := range s.keys {
				f.changed[key] = struct{}{}
			}
		}
	}
}

// Read takes in accounts that one call read at the end of a slot, at commitment confirmed. Those
// that were not subscribed by then are passed over.
func (f *Fold) Read(number uint64, keys []venue.Key, accounts []*solana.Account) {
	if !f.tree.started || number < f.tree.first {
		return
	}
	for i, key := range keys {
		h := f.accounts[key]
		if h == nil || h.since > number {
			continue
		}
		f.put(key, h, version{slot: number, read: true, account: accounts[i]})
	}
}

// looseSlots are complete blocks above the head without a parent that mean that one was lost.
const looseSlots = 8

// Broken says that the stream lost blocks: the head will not move on by itself.
func (f *Fold) Broken() bool {
	return len(f.tree.slots) >= maxSlots || f.tree.started && f.tree.loose() >= looseSlots
}

// Reset forgets all state, since the stream has a hole. The pools stay known, and are wanted. Keys
// are subscribed still.
func (f *Fold) Reset() {
	f.tree = f.tree.again()
	f.bytes = 0
	for key, h := range f.accounts {
		h.versions = nil
		if h.since != never {
			h.since = 0
		}
		f.changed[key] = struct{}{}
	}
	for p := range f.pools.listed {
		f.pools.touched[p] = struct{}{}
	}
	clear(f.pools.listed)
	f.Publish()
}

// Pending says that the last snapshot is not what holds any more.
func (f *Fold) Pending() bool {
	return len(f.changed)+len(f.pools.touched) > 0 || f.snapshot.Load().Slot != f.tree.head
}

// Head is the slot of the state; 0 before the first block.
func (f *Fold) Head() uint64 { return f.tree.head }

// Root is the last slot that is final; 0 before the first block.
func (f *Fold) Root() uint64 { return f.tree.root }

// Bytes of account data that are held.
func (f *Fold) Bytes() int64 { return f.bytes }

// Late counts writes that came too late to be told from those of a lost fork.
func (f *Fold) Late() uint64 { return f.late }

// versionBytes is what a version costs beside its data.
const versionBytes = 120

func (h *history) size() (bytes int64) {
	for _, v := range h.versions {
		bytes += versionBytes
		if v.account != nil {
			bytes += int64(len(v.account.Data))
		}
	}
	return bytes
}
