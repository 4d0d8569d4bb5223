package router

import (
	"bytes"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Graph has pools by their mints. It is immutable and safe for concurrent use. A graph is made for
// each quote and has the pools of a few pairs, so it is a sorted list and no map.
type Graph struct {
	// edges are sorted by their pair, then by address.
	edges []Edge
}

// pair is two mints.
type pair [2]venue.Key

func pairOf(a, b venue.Key) pair {
	a, b = venue.Ordered(a, b)
	return pair{a, b}
}

func (e *Edge) pair() pair {
	mints := e.Mints()
	return pairOf(mints[0], mints[1])
}

func compareKeys(a, b venue.Key) int { return bytes.Compare(a[:], b[:]) }

func comparePairs(a, b pair) int {
	if c := compareKeys(a[0], b[0]); c != 0 {
		return c
	}
	return compareKeys(a[1], b[1])
}

// NewGraph makes a graph. It sorts edges, and keeps them. A pool that is given twice counts once.
func NewGraph(edges []Edge) *Graph {
	g := &Graph{edges: edges}
	slices.SortStableFunc(g.edges, func(a, b Edge) int {
		if c := comparePairs(a.pair(), b.pair()); c != 0 {
			return c
		}
		return compareKeys(a.Address(), b.Address())
	})
	g.edges = slices.CompactFunc(g.edges, func(a, b Edge) bool { return a.Address() == b.Address() })
	return g
}

// Between implements Pools.
func (g *Graph) Between(a, b venue.Key) []Edge {
	p := pairOf(a, b)
	from, _ := slices.BinarySearchFunc(g.edges, p, func(e Edge, p pair) int { return comparePairs(e.pair(), p) })
	to := from
	for to < len(g.edges) && g.edges[to].pair() == p {
		to++
	}
	return g.edges[from:to]
}

// Neighbours implements Pools. It looks at all edges.
func (g *Graph) Neighbours(mint venue.Key) (list []venue.Key) {
	for i := range g.edges {
		mints := g.edges[i].Mints()
		other := mints[0]
		if other == mint {
			other = mints[1]
		} else if mints[1] != mint {
			continue
		}
		if len(list) == 0 || list[len(list)-1] != other {
			list = append(list, other)
		}
	}
	slices.SortFunc(list, compareKeys)
	return list
}
