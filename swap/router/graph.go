package router

import (
	"bytes"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Graph has pools by their mints. It is immutable and safe for concurrent use.
type Graph struct {
	pairs      map[[2]venue.Key][]Edge
	neighbours map[venue.Key][]venue.Key
}

// NewGraph makes a graph. A pool that is given twice counts once.
func NewGraph(edges []Edge) *Graph {
	g := &Graph{pairs: map[[2]venue.Key][]Edge{}, neighbours: map[venue.Key][]venue.Key{}}
	seen := make(map[venue.Key]bool, len(edges))
	for _, e := range edges {
		if seen[e.Address()] {
			continue
		}
		seen[e.Address()] = true
		mints := e.Mints()
		p := pairOf(mints[0], mints[1])
		if len(g.pairs[p]) == 0 {
			g.neighbours[p[0]] = append(g.neighbours[p[0]], p[1])
			g.neighbours[p[1]] = append(g.neighbours[p[1]], p[0])
		}
		g.pairs[p] = append(g.pairs[p], e)
	}
	for _, list := range g.pairs {
		slices.SortFunc(list, func(a, b Edge) int {
			x, y := a.Address(), b.Address()
			return bytes.Compare(x[:], y[:])
		})
	}
	for _, list := range g.neighbours {
		slices.SortFunc(list, func(a, b venue.Key) int { return bytes.Compare(a[:], b[:]) })
	}
	return g
}

func pairOf(a, b venue.Key) [2]venue.Key {
	a, b = venue.Ordered(a, b)
	return [2]venue.Key{a, b}
}

// Between implements Pools.
func (g *Graph) Between(a, b venue.Key) []Edge { return g.pairs[pairOf(a, b)] }

// Neighbours implements Pools.
func (g *Graph) Neighbours(mint venue.Key) []venue.Key { return g.neighbours[mint] }
