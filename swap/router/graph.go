package router

import (
	"bytes"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Graph has pools by their mints. It is immutable and safe for concurrent use. A graph is made for
// each quote and has the pools of a few pairs, so it is a sorted list and no map.
type Graph struct {
	// pairs are sorted, and the edges of each by address.
	pairs []edgesOfPair
}

type edgesOfPair struct {
	pair  pair
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
	slices.SortStableFunc(edges, func(a, b Edge) int {
		if c := comparePairs(a.pair(), b.pair()); c != 0 {
			return c
		}
		return compareKeys(a.Address(), b.Address())
	})
	edges = slices.CompactFunc(edges, func(a, b Edge) bool { return a.Address() == b.Address() })
	g := &Graph{}
	for len(edges) > 0 {
		p, count := edges[0].pair(), 1
		for count < len(edges) && edges[count].pair() == p {
			count++
		}
		g.pairs = append(g.pairs, edgesOfPair{p, edges[:count]})
		edges = edges[count:]
	}
	return g
}

// Between implements Pools.
func (g *Graph) Between(a, b venue.Key) []Edge {
	at, found := slices.BinarySearchFunc(g.pairs, pairOf(a, b), func(e edgesOfPair, p pair) int { return comparePairs(e.pair, p) })
	if !found {
		return nil
	}
	return g.pairs[at].edges
}

// Neighbours implements Pools. It looks at all pairs.
func (g *Graph) Neighbours(mint venue.Key) (list []venue.Key) {
	for i := range g.pairs {
		switch p := &g.pairs[i].pair; mint {
		case p[0]:
			list = append(list, p[1])
		case p[1]:
			list = append(list, p[0])
		}
	}
	slices.SortFunc(list, compareKeys)
	return list
}
