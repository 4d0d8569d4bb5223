package parse

import "github.com/mintlake/mintlake/ingest/chain"

// minInner is the lowest stack height of an inner instruction, which an outer instruction calls. A
// lower number counts as not stated. Older nodes recorded no heights.
const minInner = 2

// deriveHeights fills in the stack heights that some inner instructions of a transaction do not
// state, while others do. Two rules hold: a call is one higher than the program that makes it, and
// calls come in the order of execution. So the first call of an outer instruction has height 2, and
// each later one is at most one higher than the call before it. Where the rules allow only one
// height, deriveHeights sets it. Where they allow several, it refuses the transaction: which calls
// belong to which swap would be a guess. A transaction that states no height at all stays as it is,
// and the decoder of swaps handles it.
func (b *builder) deriveHeights() error {
	stated := 0
	for i := range b.scratch {
		if b.scratch[i].StackHeight >= minInner {
			stated++
		}
	}
	if stated == 0 || stated == len(b.scratch) {
		return nil
	}
	for _, g := range b.groups {
		if at, ok := deriveGroup(b.scratch[g.from:g.to]); !ok {
			return malformed("inner instruction %d of instruction %d does not state its stack height, as others do, and it does not follow from theirs", at, g.index)
		}
	}
	return nil
}

// deriveGroup fills in the heights of one outer instruction's calls. If the height of a call does
// not follow from the others, ok is false and at is the call's index.
func deriveGroup(calls []chain.Call) (at int, ok bool) {
	before := minInner - 1 // the height of the call before
	for i := range calls {
		if calls[i].StackHeight < minInner {
			// The highest possible height is before+1. The lowest follows from the next stated
			// height, as each call adds at most one.
			lowest := minInner
			for next := i + 1; next < len(calls); next++ {
				if calls[next].StackHeight >= minInner {
					lowest = max(lowest, calls[next].StackHeight-(next-i))
					break
				}
			}
			if lowest != before+1 {
				return i, false
			}
			calls[i].StackHeight = lowest
		}
		before = calls[i].StackHeight
	}
	return 0, true
}
