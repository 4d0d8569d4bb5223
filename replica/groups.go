package replica

import "github.com/mintlake/mintlake/registry"

// groups sorts facts by their mints, so that a state is unpacked and packed once for all that a
// batch says of it. It keeps its memory.
type groups struct {
	numbers map[string]int
	lists   [][]registry.Fact
}

// of returns the facts of each mint in their order, mints in the order in which they come first.
// What it returns holds until the next call.
func (g *groups) of(facts []registry.Fact) [][]registry.Fact {
	if g.numbers == nil {
		g.numbers = map[string]int{}
	}
	clear(g.numbers)
	count := 0
	for from := 0; from < len(facts); {
		to := from + 1
		for to < len(facts) && facts[to].Mint == facts[from].Mint { // a record's
			to++
		}
		number, ok := g.numbers[facts[from].Mint]
		if !ok {
			number = count
			g.numbers[facts[from].Mint] = number
			if count++; count > len(g.lists) {
				g.lists = append(g.lists, nil)
			}
			clear(g.lists[number]) // lets go of what a batch before said
			g.lists[number] = g.lists[number][:0]
		}
		g.lists[number] = append(g.lists[number], facts[from:to]...)
		from = to
	}
	return g.lists[:count]
}
