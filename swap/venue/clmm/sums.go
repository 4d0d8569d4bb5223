package clmm

import (
	"sort"

	"github.com/mintlake/mintlake/swap/venue/arith"
)

// reach returns the walk for a side and a phase, with as many steps as an order needs. The pool
// keeps the walk: what a step moves as a whole does not depend on the order, so a quote is a binary
// search over steps and one partial step.
func (p *Pool) reach(side int, ph phase, amount uint64, exactOut bool) *walk {
	kept := &p.walks[side][ph]
	w := kept.Load()
	if w != nil && w.covers(amount, exactOut) {
		return w
	}
	if w == nil {
		w = newWalk(p, side, ph, ends[side])
	} else {
		w = w.clone()
	}
	// Twice as many steps at least, so that many small extensions do not copy them often.
	for least := 2 * len(w.steps); w.stopped == nil && (!w.covers(amount, exactOut) || len(w.steps) < least); {
		w.advance()
	}
	kept.Store(w)
	return w
}

// ends are the prices at which a swap without a price limit ends, by side: the program's swap_v2
// gives these to swap_internal. Such a swap fails if it gets there.
var ends = [2]arith.U128{{Lo: minPrice.Lo + 1, Hi: minPrice.Hi}, {Lo: maxPrice.Lo - 1, Hi: maxPrice.Hi}}

// clone returns a copy with room for twice as many steps. Others may still read the original.
func (w *walk) clone() *walk {
	next := *w
	next.steps = append(make([]step, 0, 2*len(w.steps)+4), w.steps...)
	return &next
}

// covers returns whether the walk has the steps for an order of amount: the order ends with one of
// them, or no step can follow them.
func (w *walk) covers(amount uint64, exactOut bool) bool {
	if exactOut {
		return w.stopped != nil || amount <= w.buys
	}
	return w.stopped != nil || amount <= w.sells
}

// count returns how many steps an order of amount makes. It is greater than len(w.steps) if the
// order goes beyond all steps.
func (w *walk) count(amount uint64, exactOut bool) int {
	return 1 + sort.Search(len(w.steps), func(i int) bool {
		if exactOut {
			return amount <= w.steps[i].buys
		}
		return amount <= w.steps[i].sells
	})
}
