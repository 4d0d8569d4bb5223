package router

import (
	"bytes"
	"slices"
	"sort"

	"github.com/mintlake/mintlake/swap/venue"
)

// Graph has pools by their mints. It is immutable, but for Replace, and safe for concurrent use. A
// graph is made for each quote and has the pools of a few pairs, so it is a sorted list and no map.
type Graph struct{ pairs []Pair }

// Pair has the pools of two mints, in either order of the mints.
type Pair struct {
	Mints [2]venue.Key
	Edges []Edge
}

func compareKeys(a, b venue.Key) int { return bytes.Compare(a[:], b[:]) }

func comparePairs(a, b *[2]venue.Key) int {
	if c := compareKeys(a[0], b[0]); c != 0 {
		return c
	}
	return compareKeys(a[1], b[1])
}

// NewGraph makes a graph. Each pair must be given once. It takes over the slice pairs, and sorts it
// and its edges in place. A pool that is given twice counts once.
func NewGraph(pairs []Pair) *Graph {
	pairs = slices.DeleteFunc(pairs, func(p Pair) bool { return len(p.Edges) == 0 })
	for i := range pairs {
		p := &pairs[i]
		p.Mints[0], p.Mints[1] = venue.Ordered(p.Mints[0], p.Mints[1])
		slices.SortStableFunc(p.Edges, func(a, b Edge) int { return compareKeys(a.Address(), b.Address()) })
		p.Edges = slices.CompactFunc(p.Edges, func(a, b Edge) bool { return a.Address() == b.Address() })
	}
	slices.SortFunc(pairs, func(a, b Pair) int { return comparePairs(&a.Mints, &b.Mints) })
	return &Graph{pairs}
}

// Replace puts another state of a pool in the place of the one that the graph has. Only the maker
// of the graph may call it, while no other goroutine uses the graph.
func (g *Graph) Replace(e Edge) {
	mints := e.Mints()
	edges, address := g.Between(mints[0], mints[1]), e.Address()
	for i := range edges {
		if edges[i].Address() == address {
			edges[i] = e
		}
	}
}

// Between implements Pools.
func (g *Graph) Between(a, b venue.Key) []Edge {
	var mints [2]venue.Key
	mints[0], mints[1] = venue.Ordered(a, b)
	at, found := sort.Find(len(g.pairs), func(i int) int { return comparePairs(&mints, &g.pairs[i].Mints) })
	if !found {
		return nil
	}
	return g.pairs[at].Edges
}

// Neighbours implements Pools. It looks at all pairs.
func (g *Graph) Neighbours(mint venue.Key) []venue.Key {
	list := make([]venue.Key, 0, len(g.pairs))
	for i := range g.pairs {
		switch mints := &g.pairs[i].Mints; mint {
		case mints[0]:
			list = append(list, mints[1])
		case mints[1]:
			list = append(list, mints[0])
		}
	}
	slices.SortFunc(list, compareKeys)
	return list
}
