// Package state keeps the pools' accounts up to date from a stream of account updates, and makes
// snapshots from which quotes are computed.
//
// In: account writes, complete blocks and slot statuses of a Yellowstone stream, in any order;
// accounts that were read by a call. Out: immutable snapshots of one slot, the head. Guarantees:
// the accounts of a pool in a snapshot are those at the end of one slot, the head's. The stream
// told every write up to there, so an account that it did not tell is unchanged. The head is a
// complete bank of a fork that is not known to be dead or given up for another bank of its slot,
// and that no confirmed slot excludes. Pools of which an account is not known are not in the
// snapshot, but wanted, so that they are read. Memory is bounded by Config.
//
// Fold is the pure part: no I/O, no clock; one goroutine feeds it. Feed has the subscription, the
// readings and the metrics. The design is explained in docs/decisions/0018.
package state

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// FoldConfig bounds what is held. Zero values take the defaults named at each field.
type FoldConfig struct {
	// MaxPools is how many pools are held; default 50,000. A pair with a pool beyond that is not
	// quoted from the held state.
	MaxPools int
	// MaxAsked bounds the pairs that Ask watches: for each of them it watches the addresses where a
	// pool may be that was not listed. Default 4,096. When one more is asked for, the pair that was
	// asked for first is forgotten.
	MaxAsked int
	// LeastDepth is the venue.Windowed.Depth that a pool must have for its arrays to be held;
	// default 10⁹, some 1,000 dollars. Shallower pools are left out of a pair that has another
	// pool, and a pair without one is read by JSON-RPC.
	LeastDepth uint64
	// maxBytes bounds the account data held; default 1 GiB. Beyond it, no pool is added.
	maxBytes int64
}

func (c FoldConfig) withDefaults() FoldConfig {
	c.MaxPools = cmp.Or(max(c.MaxPools, 0), 50_000)
	c.MaxAsked = cmp.Or(max(c.MaxAsked, 0), 4096)
	c.LeastDepth = cmp.Or(c.LeastDepth, 1_000_000_000)
	c.maxBytes = cmp.Or(max(c.maxBytes, 0), 1<<30)
	return c
}

// Write is one account update.
type Write struct {
	Slot uint64
	// Bank is the bank's id; 0 if none is told.
	Bank uint64
	// Order is the write_version: of two writes of an account in one slot, the later has the
	// greater.
	Order uint64
	Key   venue.Key
	// Transaction is HashOf the signature of the transaction that wrote it; 0 if the stream names
	// none.
	Transaction uint64
	// Account is nil if the account was closed.
	Account *solana.Account
}

// Fold makes snapshots of writes. It is for one goroutine at a time, except Snapshot.
type Fold struct {
	cfg      FoldConfig
	venues   venue.List
	tree     tree
	accounts map[venue.Key]*history
	bytes    int64 // the sum of history.size
	pools    pools
	// changed are the accounts whose version at the head may differ from the snapshot's.
	changed  []*history
	snapshot atomic.Pointer[Snapshot]
	// confirmed is the highest slot that is known to be confirmed, newest the highest of a write.
	confirmed, newest uint64
	// searched is, by lane, what confirmed was when Wanted last looked at all wanted pools.
	searched map[int]uint64
	// late counts writes that came after their slot was final.
	late uint64
	// steps is called with each transaction that wrote a held pool, when its slot is complete; may
	// be nil.
	steps func(Step)
	// born is called with the program, mints and address of each pool that a write or a listing
	// shows; may be nil.
	born func(program, a, b, address pubkey.Key)
}

// NewFold returns an empty Fold.
func NewFold(cfg FoldConfig, venues venue.List) *Fold {
	f := &Fold{cfg: cfg.withDefaults(), venues: venues, tree: newTree(), accounts: map[venue.Key]*history{}, pools: newPools(), searched: map[int]uint64{}}
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
	f.newest = max(f.newest, w.Slot)
	h := f.accounts[w.Key]
	if h == nil {
		if !f.discover(w.Key, w.Account) {
			return
		}
		h = f.accounts[w.Key]
	}
	s := f.tree.at(w.Slot)
	if s == nil {
		return // Broken is true then
	}
	if w.Bank == 0 && len(s.banks) > 1 {
		f.blur(h, w.Slot)
		return
	}
	b := f.bankOf(s, w.Bank)
	w.Account = f.venues.Shrunk(w.Account)
	f.put(h, version{slot: w.Slot, bank: b, order: w.Order, transaction: w.Transaction, account: w.Account})
	b.remember(f, w)
}

// change records that the version of an account at the head may differ from the snapshot's.
func (f *Fold) change(h *history) {
	if !h.changed {
		h.changed = true
		f.changed = append(f.changed, h)
	}
}

func (f *Fold) put(h *history, v version) {
	before := h.size()
	added, ok := h.add(v)
	if !ok {
		return
	}
	f.bytes += h.size() - before
	if v.bank != nil && added {
		v.bank.keys = append(v.bank.keys, h.key)
	}
	if v.bank == nil || v.bank.fork {
		f.change(h)
	}
}

// Block is the end of a bank.
type Block struct {
	Slot, Parent uint64
	// Bank is the bank's id; 0 if none is told.
	Bank uint64
	// Hash and ParentHash are the block's hashes; zero if they are not told.
	Hash, ParentHash pubkey.Key
	// UnixTime of the block, in seconds. At is when it came, by our clock.
	UnixTime int64
	At       time.Time
}

// Block records that all writes of a bank have come.
func (f *Fold) Block(told Block) {
	s := f.tree.at(told.Slot)
	if s == nil {
		return
	}
	var b *bank
	if told.Bank == 0 {
		b = s.open(told.Hash)
	}
	if b == nil {
		b = f.bankOf(s, told.Bank)
	}
	if b.complete {
		return
	}
	b.hash, b.parentHash, b.blockTime, b.receivedAt = told.Hash, told.ParentHash, told.UnixTime, told.At
	f.tree.follow(b, told.Parent)
	f.trace(b)
	b.complete = true
	s.settle(b)
	f.begin(s)
	f.choose()
}

// drop prunes the histories of the accounts that the banks of slots wrote.
func (f *Fold) drop(gone []*slot) {
	for _, s := range gone {
		for _, b := range append(s.banks, s.reading) {
			if b != nil {
				f.each(b, func(h *history) { h.prune(f.tree.root) })
				// The root is one of these banks, and must not keep the others in memory.
				b.keys, b.writes, b.below, b.over = nil, nil, nil, nil
			}
		}
		s.banks, s.current, s.reading = nil, nil, nil
	}
}

// each calls use with the accounts of which a bank has a version, and counts their bytes anew.
func (f *Fold) each(b *bank, use func(h *history)) {
	for _, key := range b.keys {
		if h := f.accounts[key]; h != nil {
			before := h.size()
			use(h)
			f.bytes += h.size() - before
		}
	}
}

// choose finds the head again, and marks what its new banks wrote as changed. It moves the root to
// the last bank of the head's fork that is final.
func (f *Fold) choose() {
	for _, b := range f.tree.choose() {
		for _, key := range b.keys {
			if h := f.accounts[key]; h != nil {
				f.change(h)
			}
		}
	}
	if b := f.tree.settled(); b != nil {
		f.drop(f.tree.finalize(b))
	}
}

// Read takes in accounts that one call read at the end of a slot, at commitment confirmed. They
// count when the stream says which bank of the slot is confirmed. Accounts that were not yet
// subscribed to in that slot are ignored.
func (f *Fold) Read(number uint64, keys []venue.Key, accounts []*solana.Account) {
	if !f.tree.started || number < f.tree.first {
		return
	}
	var b *bank // nil for a slot up to the root, which is final
	if s := f.tree.at(number); s != nil {
		b = s.read()
	} else if number > f.tree.root {
		return
	}
	for i, key := range keys {
		if h := f.accounts[key]; h != nil && h.since <= number {
			f.put(h, version{slot: number, bank: b, read: true, account: f.venues.Shrunk(accounts[i])})
		}
	}
}

// looseSlots is how many slots above the head must have a complete block that a missing block
// separates from the head, for the stream to count as broken.
const looseSlots = 8

// Broken returns whether the stream lost blocks, so that the head does not move any more, or
// whether the stream is of another chain than the state.
func (f *Fold) Broken() bool {
	return f.tree.foreign || f.tree.full() || f.tree.started && f.tree.loose() >= looseSlots
}

// Reset forgets all state, because the stream has a gap. The pools stay known, and are wanted. The
// subscriptions stay.
func (f *Fold) Reset() {
	f.tree = f.tree.restarted()
	f.bytes = 0
	for _, h := range f.accounts {
		h.versions = nil
		if h.since != never { // the subscription goes on, so every version from now on counts
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

// versionBytes is the estimated memory of a version without its account data.
const versionBytes = 128

func (h *history) size() (bytes int64) {
	for _, v := range h.versions {
		bytes += versionBytes
		if v.account != nil {
			bytes += int64(len(v.account.Data))
		}
	}
	return bytes
}
