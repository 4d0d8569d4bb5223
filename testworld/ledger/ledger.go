// Package ledger keeps what a node has seen: recent blocks, their status, and the accounts
// at every commitment.
//
// In: slots from the chain generator, in order.
// Out: blocks, transactions and account states by commitment, and a stream of slot events to
// subscribers.
// Guarantees: a reader sees each slot whole or not at all; memory is bounded by Config.Blocks and
// Config.Transactions (accounts apart); a subscriber that falls behind is cut off with ErrLagged,
// never buffered without end.
package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mintlake/mintlake/testworld/chain"
)

// Commitment is how sure a block is.
type Commitment uint8

// The three levels, in rising order.
const (
	Processed Commitment = iota
	Confirmed
	Finalized
)

// Config bounds the history and sets how fast slots become sure.
type Config struct {
	// Blocks and Transactions bound the blocks kept; the older ones go first. Defaults 10,000 and
	// 100,000: a transaction takes about 5 KB with its metas and account versions, so that is about
	// 0.5 GB, or a quarter of an hour at 100 a second. minBlocks are always kept.
	Blocks, Transactions int
	// Votes makes a slot final 31 slots after its own, as before Alpenglow. Without them it is
	// confirmed and final at one moment: when Certify says so, or else with the next slot.
	Votes bool
	// confirmLag and finalizeLag are the slots after which a slot is confirmed and finalized;
	// defaults 1 and, with Votes, 31.
	confirmLag, finalizeLag uint64
}

// minBlocks is how many blocks are kept even if they have more than Config.Transactions.
const minBlocks = 64

// ErrLagged ends a subscription whose reader was too slow.
var ErrLagged = errors.New("subscriber too slow")

// UnavailableError refuses a replay from a slot that is no longer kept.
type UnavailableError struct{ From, First uint64 }

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("broadcast from %d is not available, last available: %d", e.From, e.First)
}

// Entry is a slot that had a block.
type Entry struct {
	Kind  chain.Kind
	Block *chain.Block
	// Bank is the number of the bank in which the node replayed the block, from 1.
	Bank uint64
	// overlay is what a live block wrote, until the block is finalized.
	overlay map[chain.Key]*chain.Account
	level   Commitment
	dead    bool
	// total is the transactions of the chain up to this block, its own included; live blocks only.
	total uint64
}

// Level returns the highest commitment that the slot reached. Only who holds the ledger's lock may
// call it.
func (e *Entry) Level() Commitment { return e.level }

// EventKind is what happened to a slot.
type EventKind uint8

// Slot events in the order in which they happen.
const (
	SlotFirstShred EventKind = iota
	SlotCreatedBank
	SlotCompleted
	SlotProcessed
	SlotConfirmed
	SlotFinalized
	SlotDead
)

// Event is a change of a slot, for subscribers.
type Event struct {
	Kind  EventKind
	Slot  uint64
	Entry *Entry
}

// txRef is where a transaction is: the slot of its block and its index there.
type txRef struct {
	slot  uint64
	index int
}

// Ledger is safe for concurrent use.
type Ledger struct {
	cfg         Config
	mu          sync.RWMutex
	slots       map[uint64]*Entry
	order       []uint64 // slots with a block, rising, oldest first
	transCount  int
	signatures  map[uint64]txRef // by the first eight bytes; verified on reading
	hashes      map[chain.Hash]uint64
	base        map[chain.Key]*chain.Account
	unrooted    []*Entry  // live blocks above the finalized one, rising
	tips        [3]*Entry // the newest live block, by commitment
	pendingDead *Entry    // a block of a fork, declared dead with the next slot
	last        uint64
	banks       uint64 // created so far
	total       uint64 // transactions of all live blocks
	genesisSlot uint64
	subs        map[*Subscription]struct{}
}

// New makes a ledger that holds the accounts before genesisSlot and no block. total is how many
// transactions there were before.
func New(cfg Config, genesisSlot, total uint64, genesis []chain.Write) *Ledger {
	if cfg.Blocks == 0 {
		cfg.Blocks = 10_000
	}
	if cfg.Transactions == 0 {
		cfg.Transactions = 100_000
	}
	if cfg.confirmLag == 0 {
		cfg.confirmLag = 1
	}
	if cfg.finalizeLag == 0 {
		cfg.finalizeLag = 1
		if cfg.Votes {
			cfg.finalizeLag = 31
		}
	}
	l := &Ledger{cfg: cfg, slots: map[uint64]*Entry{}, signatures: map[uint64]txRef{}, hashes: map[chain.Hash]uint64{},
		base: make(map[chain.Key]*chain.Account, len(genesis)), subs: map[*Subscription]struct{}{}, genesisSlot: genesisSlot, total: total}
	for _, w := range genesis {
		l.base[w.Key] = w.Account
	}
	return l
}

// Add takes the next slot, which moves the commitment of the older ones. A block that is Dead or
// Orphaned counts as dead when the next slot comes. Subscribers then get SlotDead for chain.Dead,
// but not for chain.Orphaned. A block of Slot.Again takes the place of its slot's first one.
func (l *Ledger) Add(s chain.Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = s.Number
	if d := l.pendingDead; d != nil {
		d.dead, l.pendingDead = true, nil
		if d.Kind == chain.Dead {
			l.publish(Event{Kind: SlotDead, Slot: d.Block.Slot, Entry: d})
		}
	}
	for _, again := range s.Again {
		l.put(again)
	}
	if s.Block != nil {
		l.put(s)
	}
	if s.Kind == chain.Dead || s.Kind == chain.Orphaned {
		l.pendingDead = l.slots[s.Number]
	}
	l.settle(s.Number-min(s.Number, l.cfg.confirmLag), s.Number-min(s.Number, l.cfg.finalizeLag))
	l.trim()
}

// put stores a block and tells of its bank. Of a second block of a slot only the bank is told, as
// the shreds came before.
func (l *Ledger) put(s chain.Slot) {
	l.banks++
	e := &Entry{Kind: s.Kind, Block: s.Block, Bank: l.banks}
	second := l.store(e)
	for _, k := range []EventKind{SlotFirstShred, SlotCreatedBank, SlotCompleted, SlotProcessed} {
		if !second || k == SlotCreatedBank || k == SlotProcessed {
			l.publish(Event{Kind: k, Slot: s.Number, Entry: e})
		}
	}
}

// Certify confirms and finalizes the live blocks up to a slot, as a certificate of Alpenglow does.
func (l *Ledger) Certify(slot uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(slot, slot)
}

// Forward takes a slot of the past whose block is not kept: its writes are final at once, and the
// block cannot be read. It may be called only before the first Add.
func (l *Ledger) Forward(s chain.Slot) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = s.Number
	for _, again := range s.Again {
		l.forward(again)
	}
	if s.Kind == chain.Live {
		l.forward(s)
	}
	l.genesisSlot = s.Number + 1
}

// forward makes the writes of a live block final.
func (l *Ledger) forward(s chain.Slot) {
	l.total += uint64(len(s.Block.Txs))
	for _, tx := range s.Block.Txs {
		for _, w := range tx.Writes {
			if w.Account == nil {
				delete(l.base, w.Key)
			} else {
				l.base[w.Key] = w.Account
			}
		}
	}
}

// Settle confirms and finalizes every live block, as time would if no more were made.
func (l *Ledger) Settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(l.last, l.last)
}

// store adds a block, and returns whether it is a second one of its slot: then the first one is
// forgotten. A live one becomes the tip, and its writes are an overlay until it is finalized.
func (l *Ledger) store(e *Entry) (second bool) {
	slot := e.Block.Slot
	if first := l.slots[slot]; first != nil {
		second = true
		l.transCount -= len(first.Block.Txs)
	} else {
		at, _ := slices.BinarySearch(l.order, slot)
		l.order = slices.Insert(l.order, at, slot)
	}
	l.slots[slot] = e
	l.transCount += len(e.Block.Txs)
	for i, tx := range e.Block.Txs {
		if e.Kind == chain.Live && len(tx.Signatures) > 0 {
			l.signatures[binary.LittleEndian.Uint64(tx.Signatures[0][:])] = txRef{slot, i}
		}
	}
	if e.Kind != chain.Live {
		return second
	}
	e.overlay = make(map[chain.Key]*chain.Account, 4*len(e.Block.Txs))
	for _, tx := range e.Block.Txs {
		for _, w := range tx.Writes {
			e.overlay[w.Key] = w.Account
		}
	}
	l.total += uint64(len(e.Block.Txs))
	e.total = l.total
	l.hashes[e.Block.Hash] = e.Block.Height
	l.unrooted = append(l.unrooted, e)
	l.tips[Processed] = e
	return second
}

// settle confirms the live blocks up to one slot and finalizes those up to another.
func (l *Ledger) settle(confirmed, final uint64) {
	for _, e := range l.unrooted {
		if e.level < Confirmed && e.Block.Slot <= confirmed {
			e.level, l.tips[Confirmed] = Confirmed, e
			l.publish(Event{Kind: SlotConfirmed, Slot: e.Block.Slot, Entry: e})
		}
	}
	for len(l.unrooted) > 0 && l.unrooted[0].Block.Slot <= final {
		e := l.unrooted[0]
		l.unrooted = l.unrooted[1:]
		for k, a := range e.overlay {
			if a == nil {
				delete(l.base, k)
			} else {
				l.base[k] = a
			}
		}
		e.overlay, e.level, l.tips[Finalized] = nil, Finalized, e
		l.publish(Event{Kind: SlotFinalized, Slot: e.Block.Slot, Entry: e})
	}
}

// trim drops the oldest finalized or dead blocks beyond the bounds.
func (l *Ledger) trim() {
	for len(l.order) > l.cfg.Blocks || l.transCount > l.cfg.Transactions && len(l.order) > minBlocks {
		e := l.slots[l.order[0]]
		if e.Kind == chain.Live && e.level != Finalized {
			return
		}
		for _, tx := range e.Block.Txs {
			if len(tx.Signatures) == 0 {
				continue
			}
			id := binary.LittleEndian.Uint64(tx.Signatures[0][:])
			if l.signatures[id].slot == l.order[0] {
				delete(l.signatures, id)
			}
		}
		l.transCount -= len(e.Block.Txs)
		delete(l.hashes, e.Block.Hash)
		delete(l.slots, l.order[0])
		l.order = l.order[1:]
	}
}
