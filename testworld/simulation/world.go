// Package simulation is a made-up cluster, and a provider of its blocks that fails in every way in
// which providers are known to fail.
//
// In: a seed. Out: a chain with forks, dead and skipped slots and token transactions; a Geyser
// server and a JSON-RPC node that serve it with faults. Guarantees: the same seed makes the same
// chain and the same plan of faults. Faults of the stream end some time before the chain does, so
// that a client that recovers can be complete at its end. Only a block that the node hides may stay
// hidden longer, see Plan.Missing.
package simulation

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mintlake/mintlake/testworld/chain"
)

// Fate is what happened to a slot.
type Fate int

// The fates of a slot.
const (
	// Skipped: nobody produced a block.
	Skipped Fate = iota
	// OnChain: its block is confirmed.
	OnChain
	// Lost: it has a block, but on a fork that lost.
	Lost
	// Dead: it has a block that does not replay.
	Dead
)

// Slot is one slot of the cluster.
type Slot struct {
	Number uint64
	Fate   Fate
	// Block is nil if the slot was skipped.
	Block *Block
	// First is a block that was replayed before Block and set aside for it, without a word or, if
	// FirstDied is set, after the slot was declared dead. Again is when that happened.
	First     *Block
	FirstDied bool
	Again     time.Duration
	// Begins is when the slot begins. Confirmed and Finalized are when its block is. All count from
	// the beginning of the world.
	Begins, Confirmed, Finalized time.Duration
}

// World is a cluster's history.
type World struct {
	Seed uint64
	// Alpenglow: slots of 200 ms, no vote transactions, confirmed and final at one moment.
	Alpenglow bool
	SlotTime  time.Duration
	Slots     []*Slot
	// Calm is when the last fault is over.
	Calm, End time.Duration
}

// firstSlot is where every world begins.
const firstSlot = 300_000_000

// calmTime is how long the chain goes on after the last fault: long enough to notice a silent
// connection and open another.
const calmTime = 25 * time.Second

// NewWorld makes the world of a seed, with slots slots in which things may go wrong, followed by
// calm ones for calmTime. The first and the last slot always have a block of the chain.
func NewWorld(seed uint64, slots int) *World {
	rng := random(seed, 1)
	return newWorld(seed, slots, rng.IntN(3) == 0, rng)
}

func newWorld(seed uint64, slots int, alpenglow bool, rng *rand.Rand) *World {
	w := &World{Seed: seed, Alpenglow: alpenglow, SlotTime: 400 * time.Millisecond}
	settle := 32
	if w.Alpenglow {
		w.SlotTime, settle = 200*time.Millisecond, 0
	}
	calmSlots := int(calmTime / w.SlotTime)
	slots += calmSlots
	skip, fork, dead := rng.Float64()*0.3, rng.Float64()*0.15, rng.Float64()*0.1
	tip := newBlock(chain.Block{Slot: firstSlot - 1, Hash: chain.MadeUp("genesis", firstSlot-1)}, genesis())
	branch, left := tip, 0 // a losing fork under way, and how long it may go on
	m := newMinter(rng, !w.Alpenglow)
	var confirmed time.Duration
	for i := range slots {
		s := &Slot{Number: firstSlot + uint64(i), Begins: time.Duration(i) * w.SlotTime}
		calm := i == 0 || i >= slots-calmSlots
		switch {
		case left > 0 && !calm && rng.IntN(4) > 0:
			s.Fate, s.Block = Lost, m.block(s.Number, branch, "lost")
			branch, left = s.Block, left-1
		case i == 0:
			s.Fate, s.Block = OnChain, m.block(s.Number, tip, "chain")
			tip = s.Block
		case rng.Float64() < skip:
			// Nobody produces a block: the fate stays Skipped. Sometimes most of the next slots are
			// skipped too, as when a leader misses all of its slots and more.
			if rng.IntN(20) == 0 && !calm {
				skip = 0.9 - skip
			}
		case !calm && rng.Float64() < dead:
			s.Fate, s.Block = Dead, m.block(s.Number, tip, "dead")
		case !calm && rng.Float64() < fork:
			s.Fate, s.Block = Lost, m.block(s.Number, tip, "lost")
			branch, left = s.Block, rng.IntN(4)
		default:
			s.Fate, s.Block = OnChain, m.block(s.Number, tip, "chain")
			tip = s.Block
		}
		if skip > 0.3 && rng.IntN(8) == 0 || calm {
			skip = rng.Float64() * 0.3
		}
		if i == slots-1 && s.Fate != OnChain { // a last block closes the chain
			s.Fate, s.Block = OnChain, m.block(s.Number, tip, "chain")
			tip = s.Block
		}
		delay := w.SlotTime + time.Duration(rng.Int64N(int64(2*w.SlotTime)))
		confirmed = max(confirmed, s.Begins+delay)
		s.Confirmed = confirmed
		s.Finalized = s.Confirmed + time.Duration(settle)*w.SlotTime
		w.Slots = append(w.Slots, s)
	}
	w.Calm = w.Slots[slots-calmSlots].Begins
	w.End = w.Slots[slots-1].Finalized
	return w
}

// Chain returns the blocks of the chain, in order.
func (w *World) Chain() (blocks []*Block) {
	for _, s := range w.Slots {
		if s.Fate == OnChain {
			blocks = append(blocks, s.Block)
		}
	}
	return blocks
}

// At returns the slot with that number; nil outside of the world.
func (w *World) At(slot uint64) *Slot {
	if slot < firstSlot || slot >= firstSlot+uint64(len(w.Slots)) {
		return nil
	}
	return w.Slots[slot-firstSlot]
}

// confirmed returns the highest slot of the chain that is confirmed at a time; the first one before
// any is. Slots are confirmed in their order.
func (w *World) confirmed(now time.Duration) uint64 {
	after, _ := slices.BinarySearchFunc(w.Slots, now, func(s *Slot, now time.Duration) int {
		if s.Confirmed <= now {
			return -1
		}
		return 1
	})
	for after > 0 && w.Slots[after-1].Fate != OnChain {
		after--
	}
	return firstSlot + uint64(max(after-1, 0))
}

// Last returns the last slot, which has a block of the chain.
func (w *World) Last() uint64 { return firstSlot + uint64(len(w.Slots)) - 1 }

// Goal returns the slot that ingest must reach. It is not the last one: nothing later can show what
// a stream loses at its very end.
func (w *World) Goal() uint64 { return w.Last() - uint64(10*time.Second/w.SlotTime) }

// random returns one of several independent generators of a seed.
func random(seed, stream uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, stream)) //nolint:gosec // the same seed has to make the same world
}
