package router

import (
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Shares of a split begin as steps of 1/16 of the amount. Then they move between pools in ever
// smaller steps, down to 1/4096.
const (
	firstSteps = 16
	finest     = 4096
	// maxPools is how many pools a split is tried on.
	maxPools = 6
)

// part is a pool's share of a split.
type part struct {
	edge   Edge
	amount uint64
	quote  venue.Quote // of amount, when that is not 0
}

// split adds plans that split the amount over direct pools. A pool's output is concave in its
// input, so the best shares have equal margins. Greedy steps come near them, and moves between
// pairs of pools then refine them. split also adds plans with fewer pools, in case the best one
// does not fit a transaction.
func (s *search) split(edges []Edge) {
	pools := s.promising(edges)
	for most := min(len(pools), s.q.MaxParts); most > 1 && !s.over(); {
		used := s.shares(pools)
		if len(used) < 2 {
			return
		}
		if len(used) <= most {
			s.addSplit(used)
			most = len(used) - 1
		}
		// The pools with the greatest shares take over those of the others.
		pools = pools[:0]
		for _, p := range used[:most] {
			pools = append(pools, p.edge)
		}
	}
}

// shares returns the parts of the best split over pools, the greatest first. Pools without a share
// are left out.
func (s *search) shares(pools []Edge) []part {
	parts := s.fill(pools)
	s.refine(parts)
	used := slices.DeleteFunc(parts, func(p part) bool { return p.amount == 0 })
	slices.SortStableFunc(used, func(a, b part) int { return cmp.Compare(b.amount, a.amount) })
	return used
}

func (s *search) addSplit(used []part) {
	routes := make([]Route, len(used))
	for i, p := range used {
		routes[i] = Route{Legs: []Leg{{p.edge, p.quote}}, AmountIn: p.quote.AmountIn, AmountOut: p.quote.AmountOut}
	}
	s.add(routes...)
}

// promising returns the maxPools pools that give most for the first step. A pool that gives less
// for it seldom gets a share.
func (s *search) promising(edges []Edge) []Edge {
	type offer struct {
		edge  Edge
		quote venue.Quote
	}
	var offers []offer
	for _, e := range edges {
		if quote, err := e.Quote(s.q.order(e, s.q.In, s.share(firstSteps), s.q.ExactOut)); err == nil {
			offers = append(offers, offer{e, quote})
		}
	}
	slices.SortStableFunc(offers, func(a, b offer) int {
		switch {
		case better(a.quote, b.quote, s.q.ExactOut):
			return -1
		case better(b.quote, a.quote, s.q.ExactOut):
			return 1
		}
		return 0
	})
	var list []Edge
	for _, o := range offers[:min(len(offers), maxPools)] {
		list = append(list, o.edge)
	}
	return list
}

// share returns 1/n of the amount, at least 1.
func (s *search) share(n uint64) uint64 { return max(s.q.Amount/n, 1) }

// fill gives the amount away in equal steps, each to the pool that gains most by it. The last step
// includes the division's rest. It returns nil if no pool takes a step.
func (s *search) fill(pools []Edge) []part {
	parts := make([]part, len(pools))
	for i := range pools {
		parts[i].edge = pools[i]
	}
	for left := s.q.Amount; left > 0; {
		step := min(s.share(firstSteps), left)
		if left-step < step {
			step = left // the division's rest
		}
		chosen, most := -1, venue.Quote{}
		for i := range parts {
			quote, ok := s.ask(&parts[i], parts[i].amount+step)
			if ok && (chosen < 0 || s.margin(&parts[i], quote, &parts[chosen], most)) {
				chosen, most = i, quote
			}
		}
		if chosen < 0 {
			return nil
		}
		parts[chosen].amount += step
		parts[chosen].quote = most
		left -= step
	}
	return parts
}

func (s *search) ask(p *part, amount uint64) (venue.Quote, bool) {
	quote, err := p.edge.Quote(s.q.order(p.edge, s.q.In, amount, s.q.ExactOut))
	return quote, err == nil
}

// margin returns whether a step on a gains more than the same step on b.
func (s *search) margin(a *part, withA venue.Quote, b *part, withB venue.Quote) bool {
	if s.q.ExactOut {
		return withA.AmountIn-a.quote.AmountIn < withB.AmountIn-b.quote.AmountIn
	}
	return withA.AmountOut-a.quote.AmountOut > withB.AmountOut-b.quote.AmountOut
}

// refine moves shares between pools as long as that gains, first in large steps, then in steps of
// half the size, down to 1/finest of the amount.
func (s *search) refine(parts []part) {
	for step := s.share(2 * firstSteps); ; step /= 2 {
		for moved := true; moved && !s.over(); {
			moved = false
			for from := range parts {
				for to := range parts {
					moved = from != to && s.move(&parts[from], &parts[to], step) || moved
				}
			}
		}
		if step <= max(s.q.Amount/finest, 1) || s.over() {
			return
		}
	}
}

// move shifts step from one pool to another if that gains.
func (s *search) move(from, to *part, step uint64) bool {
	step = min(step, from.amount)
	if step == 0 {
		return false
	}
	var rest venue.Quote
	ok := true
	if from.amount > step {
		rest, ok = s.ask(from, from.amount-step)
	}
	if !ok {
		return false
	}
	grown, ok := s.ask(to, to.amount+step)
	if !ok || !s.gains(from.quote, to.quote, rest, grown) {
		return false
	}
	from.amount, from.quote = from.amount-step, rest
	to.amount, to.quote = to.amount+step, grown
	return true
}

// gains returns whether two pools are better after a move than before. Sums of two quotes may
// exceed 64 bits, hence greater.
func (s *search) gains(a, b, afterA, afterB venue.Quote) bool {
	if s.q.ExactOut {
		return greater(a.AmountIn, b.AmountIn, afterA.AmountIn, afterB.AmountIn)
	}
	return greater(afterA.AmountOut, afterB.AmountOut, a.AmountOut, b.AmountOut)
}
