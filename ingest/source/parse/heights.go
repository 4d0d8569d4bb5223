package parse

import "github.com/mintlake/mintlake/ingest/chain"

// minInner is the stack height of what an outer instruction calls. A lower one counts as not
// stated. Older nodes recorded none.
const minInner = 2

// deriveHeights fills in the stack heights that a transaction's inner instructions do not state, if
// others of it do: a program that calls is one lower than what it calls, and calls come in the
// order of execution. So the first call of an outer instruction has height 2, each later one is at
// most one higher than the call before it, and of some only one height is possible. If one may have
// several heights, the transaction is refused: which calls belong to which swap would be a guess. A
// transaction that states no height at all is left as it is, see swap's closeUnknown.
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

// deriveGroup fills in the heights of one outer instruction's calls. If one does not follow, ok is
// false, and at is its place.
func deriveGroup(calls []chain.Call) (at int, ok bool) {
	before := minInner - 1
	for i := range calls {
		if calls[i].StackHeight < minInner {
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
