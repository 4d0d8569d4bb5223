package order

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// settled is how many blocks after a contested block decide whether it is on the chain, if the
// stream tells nothing of finality. A block is contested if it contradicts another one although
// both were called confirmed. One of the two is then the provider's fault, and the chain shows
// which. After 32 blocks, the chain's older consensus could no longer go back. Nothing else depends
// on the number.
const settled = 32

// link is what is remembered of a delivered block: its parent.
type link struct{ parent place }

// contest notes which delivered blocks b contradicts: blocks in slots that b's link skips, another
// block in the slot of b's parent, and another block in b's own slot. If the link of a delivered
// block skips b's slot, b itself is contested.
func (l *Line) contest(b *chain.Block) {
	if !l.cfg.Skips { // the stream has several forks, whose blocks may contradict each other
		return
	}
	parent := place{*b.ParentSlot, b.ParentBlockhash}
	if b.Slot-parent.slot <= maxJump {
		for s := parent.slot + 1; s < b.Slot; s++ {
			l.doubt(place{s, l.bySlot[s]}, s != 0)
		}
	}
	if parent.hash != (pubkey.Key{}) && !b.ParentGuessed {
		l.doubt(place{parent.slot, l.bySlot[parent.slot]}, l.bySlot[parent.slot] != parent.hash)
	}
	l.doubt(place{b.Slot, l.bySlot[b.Slot]}, l.bySlot[b.Slot] != b.Blockhash)
	if l.jumped[b.Slot] {
		l.contested[at(b)] = true
	}
}

// doubt marks the delivered block at p as contested if contradicted is true.
func (l *Line) doubt(p place, contradicted bool) {
	if _, ok := l.bySlot[p.slot]; ok && contradicted {
		l.contested[p] = true
	}
}

// settle decides which contested blocks lost, as far as the chain on top of them tells.
func (l *Line) settle(steps []Step) []Step {
	for p := range l.contested {
		switch l.passes(p) {
		case onPath:
			delete(l.contested, p)
		case offPath:
			delete(l.contested, p)
			steps = append(steps, l.lose(p)...)
		case undecided:
		}
	}
	return steps
}

// verdict is whether a block is on the chain, as far as that is known.
type verdict int

const (
	undecided verdict = iota
	onPath
	offPath
)

// passes tells whether the chain that ends at the tip contains p. The verdict is undecided if the
// chain has fewer than settled blocks after p, or a gap.
func (l *Line) passes(p place) verdict {
	here := place{l.tip, l.bySlot[l.tip]}
	for depth := 0; ; depth++ {
		switch {
		case here.slot <= p.slot && depth < settled:
			return undecided
		case here == p:
			return onPath
		case here.slot <= p.slot:
			return offPath
		}
		from, ok := l.delivered[here]
		if !ok {
			return undecided // there is a gap
		}
		here = from.parent
	}
}

// lose removes a delivered block that lost its fork, so that the block is delivered again if it
// comes again. lose returns Lost for the slot, and also a Gap if another delivered block shows that
// the slot has a block on the chain. It returns nothing if another block of the slot was delivered
// after the lost one.
func (l *Line) lose(p place) []Step {
	if _, ok := l.delivered[p]; !ok {
		return nil
	}
	delete(l.delivered, p)
	delete(l.contested, p)
	if l.bySlot[p.slot] != p.hash {
		return nil // the last block of its slot is another one
	}
	delete(l.bySlot, p.slot)
	steps := []Step{{Kind: Lost, From: p.slot}}
	for other, from := range l.delivered {
		if other.slot == p.slot || from.parent.slot == p.slot && from.parent != p {
			return append(steps, Step{Kind: Gap, From: p.slot, To: p.slot})
		}
	}
	return steps
}

// built reports whether a delivered block names p as its parent.
func (l *Line) built(p place) bool {
	for _, from := range l.delivered {
		if from.parent == p {
			return true
		}
	}
	return false
}
