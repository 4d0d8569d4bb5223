// Package state keeps the pools' accounts up to date from a stream of account updates, and makes
// snapshots from which quotes are computed.
//
// In: account writes, complete blocks and slot statuses of a Yellowstone stream, in any order;
// accounts that were read by a call. Out: immutable snapshots of one slot, the head.
// Guarantees: the accounts of a pool in a snapshot belong together: one transaction wrote all that
// its swaps write, or one reading has them all. The head is a complete slot of a fork that is not
// known to be dead, and that no confirmed slot excludes. Uncertain pools are not in the snapshot,
// but wanted, so that they are read. Memory is bounded by Config.
//
// Fold is the pure part: no I/O, no clock; one goroutine feeds it. Feed has the subscription, the
// readings and the metrics. The design is explained in docs/decisions/0018.
package state

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// FoldConfig bounds what is held. Zero values take the defaults named at each field.
type FoldConfig struct {
	// MaxPools is how many pools are held; default 50,000. A pair with a pool beyond that is not
	// quoted from here.
	MaxPools int
	// MaxAsked bounds the pairs that Ask watches: for each, the addresses where a pool may be that
	// was not listed. Default 4,096. One more, and the pair that was asked for first is forgotten.
	MaxAsked int
	// maxBytes bounds the account data held; default 1 GiB. Beyond it, no pool is added.
	maxBytes int64
}

func (c FoldConfig) withDefaults() FoldConfig {
	c.MaxPools = cmp.Or(max(c.MaxPools, 0), 50_000)
	c.MaxAsked = cmp.Or(max(c.MaxAsked, 0), 4096)
	c.maxBytes = cmp.Or(max(c.maxBytes, 0), 1<<30)
	return c
}

// Write is one account update.
type Write struct {
	Slot uint64
	// Order is the write_version: of two writes of an account in one slot, the later has the
	// greater.
	Order uint64
	Key   venue.Key
	// Transaction is that which wrote it, as HashOf its signature; 0 if none is named.
	Transaction uint64
	// Account is nil if it was closed.
	Account *solana.Account
}

// Fold makes snapshots of writes. It is for one goroutine at a time, except Snapshot.
type Fold struct {
	cfg      FoldConfig
	venues   venue.List
	tree     tree
	accounts map[venue.Key]*history
	bytes    int64
	pools    pools
	under    underlay
	// resets counts the calls of Reset.
	resets uint64
	// changed are the accounts whose version at the head may differ from the snapshot's.
	changed  []*history
	snapshot atomic.Pointer[Snapshot]
	// confirmed is the highest slot that is known to be confirmed.
	confirmed uint64
	// searched is, by lane, what confirmed was when Wanted last looked at all wanted pools.
	searched map[int]uint64
	// late counts writes that came after their slot was final.
	late uint64
	// steps is called with each transaction that wrote a held pool, when its slot is complete; may
	// be nil.
	steps func(Step)
	// born is called with the program, mints and address of each pool that shows itself; may be
	// nil.
	born func(program, a, b, address pubkey.Key)
}

// NewFold returns an empty Fold.
func NewFold(cfg FoldConfig, venues venue.List) *Fold {
	f := &Fold{cfg: cfg.withDefaults(), venues: venues, tree: newTree(), accounts: map[venue.Key]*history{}, pools: newPools(), searched: map[int]uint64{}}
	f.under = f.underlayOf(&base{})
	f.snapshot.Store(newSnapshot(venues))
	return f
}

// Snapshot returns the state at the head. It is never nil, and safe for concurrent use.
func (f *Fold) Snapshot() *Snapshot { return f.snapshot.Load() }

// Write takes in an account update.
func (f *Fold) Write(w Write) {
	if w.Slot <= f.tree.root {
		f.late++
		return
	}
	h := f.history(w.Key)
	f.enter()
	if h == nil {
		if !f.discover(w.Key, w.Account) {
			return
		}
		h = f.accounts[w.Key]
	}
	f.put(h, version{slot: w.Slot, order: w.Order, transaction: w.Transaction, account: w.Account})
	f.remember(w)
}

// change records that the version of an account at the head may differ from the snapshot's.
func (f *Fold) change(h *history) {
	if !h.changed {
		h.changed = true
		f.changed = append(f.changed, h)
	}
}

func (f *Fold) put(h *history, v version) {
	if len(f.tree.slots) >= maxSlots && f.tree.slots[v.slot] == nil && v.slot > f.tree.root {
		return // Broken is true then
	}
	before := h.size()
	if !h.add(v) {
		return
	}
	f.bytes += h.size() - before
	if v.slot > f.tree.root {
		s := f.tree.at(v.slot)
		s.keys = append(s.keys, h.key)
	}
	if v.slot <= f.tree.root || f.tree.fork[v.slot] {
		f.change(h)
	}
}

// Block is the end of a slot.
type Block struct {
	Slot, Parent uint64
	// Hash and ParentHash are the block's hashes; zero if they are not told.
	Hash, ParentHash pubkey.Key
	// UnixTime of the block, in seconds. At is when it came, by our clock.
	UnixTime int64
	At       time.Time
}

// Block records that all writes of a slot have come.
func (f *Fold) Block(b Block) {
	if b.Slot <= f.tree.root || len(f.tree.slots) >= maxSlots && f.tree.slots[b.Slot] == nil {
		return
	}
	s := f.tree.at(b.Slot)
	if s.complete {
		return
	}
	if f.tree.started && b.Parent == f.tree.root {
		root := f.tree.final.hash
		f.tree.foreign = f.tree.foreign || root != b.ParentHash && root != (pubkey.Key{}) && b.ParentHash != (pubkey.Key{})
	}
	f.trace(b.Slot, b.Parent, b.UnixTime)
	s.complete, s.parent, s.hash, s.blockTime, s.receivedAt = true, b.Parent, b.Hash, b.UnixTime, b.At
	f.choose()
	// The stream may not report what is final.
	if len(f.tree.fork) > maxDepth {
		f.Finalized(f.ancestor(maxDepth / 2))
	}
}

// ancestor returns the slot of the head's fork that is the given number of slots below the head.
func (f *Fold) ancestor(above int) uint64 {
	number := f.tree.head
	for range above {
		number = f.tree.slots[number].parent
	}
	return number
}

// Dead records that a slot's block is dead.
func (f *Fold) Dead(number uint64) {
	if number > f.tree.root && len(f.tree.slots) < maxSlots {
		f.tree.at(number).dead = true
		f.choose()
	}
}

// Confirmed records that a slot is confirmed, which excludes forks without it. The state begins
// with the first slot whose block is already complete when the slot is confirmed.
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

// Finalized records that a slot is final, and with it all slots before it on its fork.
func (f *Fold) Finalized(number uint64) {
	f.Confirmed(number) // which makes its fork the head's
	root, fork := f.tree.root, f.tree.fork
	lost := map[uint64]bool{}
	for n := range f.tree.slots {
		lost[n] = !fork[n]
	}
	gone, ok := f.tree.finalize(number)
	if !ok {
		return // its block is missing; if it does not come, Broken becomes true
	}
	f.drop(gone, func(slot uint64) bool { return slot > root && lost[slot] })
}

// drop prunes the histories of the accounts that the slots in gone wrote. lost returns whether a
// slot is on a fork that lost.
func (f *Fold) drop(gone map[uint64]*slot, lost func(slot uint64) bool) {
	for _, s := range gone {
		for _, key := range s.keys {
			if h := f.accounts[key]; h != nil {
				before := h.size()
				h.prune(f.tree.root, lost)
				f.bytes += h.size() - before
			}
		}
		s.keys = nil // the root stays
	}
}

// choose finds the head again, and marks what its new slots wrote as changed.
func (f *Fold) choose() {
	for _, number := range f.tree.choose() {
		if s := f.tree.slots[number]; s != nil {
			for _, key := range s.keys {
				if h := f.accounts[key]; h != nil {
					f.change(h)
				}
			}
		}
	}
}

// Read takes in accounts that one call read at the end of a slot, at commitment confirmed. Accounts
// that were not yet subscribed to in that slot are ignored.
func (f *Fold) Read(number uint64, keys []venue.Key, accounts []*solana.Account) {
	if !f.tree.started || number < f.tree.first {
		return
	}
	for i, key := range keys {
		h := f.accounts[key]
		if h == nil || h.since > number {
			continue
		}
		f.put(h, version{slot: number, read: true, account: accounts[i]})
	}
}

// looseSlots is how many complete blocks above the head, without a path to it, mean that a block
// was lost.
const looseSlots = 8

// Broken returns whether the stream lost blocks, so that the head does not move any more, or is of
// another chain than the state.
func (f *Fold) Broken() bool {
	return f.tree.foreign || len(f.tree.slots) >= maxSlots || f.tree.started && f.tree.loose() >= looseSlots
}

// Reset forgets all state, because the stream has a gap. The pools stay known, and are wanted. The
// subscriptions stay.
func (f *Fold) Reset() {
	f.resets++
	f.enterAll()
	f.tree = f.tree.again()
	f.bytes = 0
	for _, h := range f.accounts {
		h.versions = nil
		if h.since != never {
			h.since = 0
		}
		f.change(h)
	}
	for _, s := range f.pools.asked {
		s.listed = false
		f.touch(s)
	}
	f.Publish()
}

// Pending returns whether the last snapshot is out of date.
func (f *Fold) Pending() bool {
	return len(f.changed)+len(f.pools.touched) > 0 || f.snapshot.Load().Slot != f.tree.head
}

// Head returns the slot of the state; 0 while there is none.
func (f *Fold) Head() uint64 { return f.tree.head }

// Root returns the last slot that is final; 0 while there is no state.
func (f *Fold) Root() uint64 { return f.tree.root }

// First returns the slot where the state began; 0 while there is none.
func (f *Fold) First() uint64 { return f.tree.first }

// Bytes returns how many bytes of account data are held.
func (f *Fold) Bytes() int64 { return f.bytes }

// Late returns how many writes came after their slot was final. They may be of a fork that lost, so
// they are ignored.
func (f *Fold) Late() uint64 { return f.late }

// versionBytes is the memory of a version beside its data.
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
