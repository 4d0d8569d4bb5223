package replica

import (
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// groups groups the facts of a batch by mint, so that the state of a mint is unpacked and packed
// once a batch. It reuses its memory.
type groups struct {
	indexes map[pubkey.Key]int // of mints in lists
	lists   [][]registry.Fact
}

// of returns one list for each mint, in the order in which the mints first come. A list has the
// mint's facts in their order. The result is valid until the next call.
func (g *groups) of(facts []registry.Fact) [][]registry.Fact {
	if g.indexes == nil {
		g.indexes = map[pubkey.Key]int{}
	}
	clear(g.indexes)
	count := 0
	for from := 0; from < len(facts); {
		to := from + 1
		for to < len(facts) && facts[to].Mint == facts[from].Mint { // facts of one record
			to++
		}
		index, ok := g.indexes[facts[from].Mint]
		if !ok {
			index = count
			g.indexes[facts[from].Mint] = index
			if count++; count > len(g.lists) {
				g.lists = append(g.lists, nil)
			}
			clear(g.lists[index]) // frees the strings of an earlier batch
			g.lists[index] = g.lists[index][:0]
		}
		g.lists[index] = append(g.lists[index], facts[from:to]...)
		from = to
	}
	return g.lists[:count]
}
