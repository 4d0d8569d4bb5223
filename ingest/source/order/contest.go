package order

import (
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// settled is how many blocks on top of a fork decide it where the stream says nothing of finality:
// two blocks that both were said to be confirmed contradict each other, so one of them is the
// provider's fault, and the chain shows which. 32 is the depth at which the longest-lived consensus
// of the chain could not go back any more; nothing else depends on it.
const settled = 32

// link is what is remembered of a delivered block.
type link struct{ parent place }

// contest notes what b contradicts among the blocks that were delivered before it.
func (l *Line) contest(b *chain.Block) {
	if !l.cfg.Skips { // several forks are the stream's nature
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

func (l *Line) doubt(p place, contradicted bool) {
	if _, ok := l.bySlot[p.slot]; ok && contradicted {
		l.contested[p] = true
	}
}

// settle says which contested blocks lost, as far as the chain on top of them tells.
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

type verdict int

const (
	undecided verdict = iota
	onPath
	offPath
)

// passes says whether the chain that ends at the tip goes through p, once it goes on for long
// enough after p.
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
			return undecided // behind a gap
		}
		here = from.parent
	}
}

// lose forgets a delivered block, so that it is taken again should it come again, and says that it
// lost its fork.
func (l *Line) lose(p place) []Step {
	if _, ok := l.delivered[p]; !ok {
		return nil
	}
	delete(l.delivered, p)
	delete(l.contested, p)
	if l.bySlot[p.slot] != p.hash {
		return nil // its slot's last record is another block's
	}
	delete(l.bySlot, p.slot)
	steps := []Step{{Kind: Lost, From: p.slot}}
	for other, from := range l.delivered {
		// the slot's true block has to be read (again)
		if other.slot == p.slot || from.parent.slot == p.slot && from.parent != p {
			return append(steps, Step{Kind: Gap, From: p.slot, To: p.slot})
		}
	}
	return steps
}

// built says that a delivered block names p as its parent.
func (l *Line) built(p place) bool {
	for _, from := range l.delivered {
		if from.parent == p {
			return true
		}
	}
	return false
}
