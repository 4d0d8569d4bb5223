package chain

import (
	"crypto/sha256"
	"math/rand/v2"
)

// A leader may sign two blocks of a slot. A node that has replayed the one that loses sets it aside
// with all that is built on it, and replays the other: in the middle of the chain, and without a
// word about the first. It does so too where it had declared the slot dead.

// banks are the blocks that lose to others of their slots.
type banks struct {
	// losing are made and not yet given out. redo are the slots that the chain makes again after
	// them.
	losing []Slot
	redo   []uint64
}

// minBetween is the least number of slots from one replaced block to the next.
const minBetween = 5

// lose makes, if it is time, the block of a slot that will be Replaced or Dead. Of a Replaced one a
// successor may be lost with it.
func (g *Generator) lose(slot uint64) {
	every := func(n uint64) bool { return n > 0 && (slot-g.cfg.GenesisSlot+1)%n == 0 }
	kind := Replaced
	if !every(g.cfg.Switched) {
		kind = Dead
	}
	if len(g.losing)+len(g.redo) > 0 || slot < g.cfg.Live()+2 || kind == Dead && !every(g.cfg.Dead) {
		return
	}
	r := rand.New(rand.NewPCG(g.cfg.Seed^0x6c6f73696e67, slot)) //nolint:gosec // a simulation wants reproducible numbers
	depth := 1
	if kind == Replaced {
		depth += r.IntN(2)
	}
	parent, height, on := g.parent, g.height, g.hash
	g.st.begin()
	for n := slot; n < slot+uint64(depth); n++ {
		b := g.enter(n, parent, height, on)
		b.Hash = sha256.Sum256(append([]byte("the other block"), b.Hash[:]...))
		g.fill(b, r, g.count(r), true)
		g.losing, g.redo = append(g.losing, Slot{Number: n, Kind: kind, Block: b}), append(g.redo, n)
		parent, height, on = n, b.Height, b.Hash
	}
	g.st.rollback()
}
