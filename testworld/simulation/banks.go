package simulation

import (
	"maps"
	"math/rand/v2"
	"time"

	"github.com/mintlake/mintlake/testworld/chain"
)

// NewBankWorld is like NewWorld, but always of Alpenglow. Some slots of the chain have two banks:
// the block of the first loses, with a successor or without, or the slot is declared dead before it
// has the second one. With ids, the provider tells which bank an update is of.
func NewBankWorld(seed uint64, slots int, ids bool) *World {
	w := newWorld(seed, slots, true, random(seed, 1))
	w.switchBanks(random(seed, 7))
	if ids {
		next := uint64(20)
		for _, s := range w.Slots {
			for _, b := range []*Block{s.First, s.Block} {
				if b != nil {
					next++
					b.Bank = next
				}
			}
		}
	}
	return w
}

// switchBanks gives some slots of the chain a first block, and delays what comes after.
func (w *World) switchBanks(rng *rand.Rand) {
	m := newMinter(rng, false)
	for i, s := range w.Slots {
		if s.Fate != OnChain || s.First != nil || i == 0 || s.Begins >= w.Calm || rng.IntN(10) > 0 {
			continue
		}
		s.First = m.first(s, w.At(s.Block.Parent).Block)
		depth := 1
		if s.FirstDied = rng.IntN(3) == 0; !s.FirstDied {
			if next := w.At(s.Number + 1); next != nil && next.Fate == OnChain && next.Begins < w.Calm && rng.IntN(2) == 0 {
				next.First = m.first(next, s.First)
				depth = 2
			}
		}
		// The second banks come one after the other, before the next slot's bank is created.
		for d := range depth {
			one := w.Slots[i+d]
			one.Again = w.Slots[i+depth-1].Begins + w.SlotTime + 1 + time.Duration(d)*2*w.replay()
			one.Confirmed = max(one.Confirmed, one.Again+2*w.replay())
		}
	}
	var confirmed time.Duration
	for _, s := range w.Slots {
		confirmed = max(confirmed, s.Confirmed)
		s.Confirmed, s.Finalized = confirmed, confirmed
	}
	w.End = confirmed
}

// replay is how long the replay of a second block takes: less than a quarter of a slot for two of
// them, as the next bank is created then.
func (w *World) replay() time.Duration { return w.SlotTime / 32 }

// first makes the block of a slot that loses to the slot's own. It may have transactions of that
// one, at other places and with other results.
func (m *minter) first(s *Slot, parent *Block) *Block {
	b := m.block(s.Number, parent, "first")
	for _, t := range s.Block.made {
		if m.rng.IntN(2) == 0 {
			t.Failed, t.Wrote = !t.Failed, nil
			b.add(t, parent.Hash)
		}
	}
	return b
}

// optional returns a bank's id, or nil for none.
func optional(bank uint64) *uint64 {
	if bank == 0 {
		return nil
	}
	return &bank
}

// Supply returns the supply of a mint after the block.
func (b *Block) Supply(mint chain.Key) uint64 { return b.states[mint].Supply }

// Mints returns the mints of the block's state.
func (b *Block) Mints() (mints []chain.Key) {
	for mint := range maps.Keys(b.states) {
		mints = append(mints, mint)
	}
	return mints
}
