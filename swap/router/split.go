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
	// more and less are what the pool answered last when it was asked for more and for less.
	more, less reply
}

// reply is a pool's answer to an amount: the quote, unless it is refused. The zero value is the
// answer to no amount.
type reply struct {
	amount  uint64
	quote   venue.Quote
	refused bool
}

// split adds plans that split the amount over direct pools. A pool's output is concave in its
// input, so the best shares have equal margins. Greedy steps come near them, and moves between
// pairs of pools then refine them. split also adds plans with fewer pools, in case the best one
// does not fit a transaction.
func (s *search) split(edges []Edge) {
	if len(edges) < 2 {
		return
	}
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
	offers := make([]offer, 0, len(edges))
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
	offers = offers[:min(len(offers), maxPools)]
	list := make([]Edge, len(offers))
	for i, o := range offers {
		list[i] = o.edge
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
		chosen := -1
		for i := range parts {
			if p := &parts[i]; s.ask(p, &p.more, p.amount+step) && (chosen < 0 || s.margin(p, &parts[chosen])) {
				chosen = i
			}
		}
		if chosen < 0 {
			return nil
		}
		p := &parts[chosen]
		p.amount, p.quote = p.more.amount, p.more.quote
		left -= step
	}
	return parts
}

// ask asks a pool for an amount, unless last is its answer to that already: after a step, only the
// pools that took or gave it have new answers. It returns false if the pool refuses.
func (s *search) ask(p *part, last *reply, amount uint64) bool {
	if last.amount != amount {
		quote, err := p.edge.Quote(s.q.order(p.edge, s.q.In, amount, s.q.ExactOut))
		*last = reply{amount, quote, err != nil}
	}
	return !last.refused
}

// margin returns whether the next step on a gains more than that on b.
func (s *search) margin(a, b *part) bool {
	if s.q.ExactOut {
		return a.more.quote.AmountIn-a.quote.AmountIn < b.more.quote.AmountIn-b.quote.AmountIn
	}
	return a.more.quote.AmountOut-a.quote.AmountOut > b.more.quote.AmountOut-b.quote.AmountOut
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
	rest := &venue.Quote{}
	if from.amount > step {
		if !s.ask(from, &from.less, from.amount-step) {
			return false
		}
		rest = &from.less.quote
	}
	if !s.ask(to, &to.more, to.amount+step) || !s.gains(&from.quote, &to.quote, rest, &to.more.quote) {
		return false
	}
	from.amount, from.quote = from.amount-step, *rest
	to.amount, to.quote = to.more.amount, to.more.quote
	return true
}

// gains returns whether two pools are better after a move than before. Sums of two quotes may
// exceed 64 bits, hence greater.
func (s *search) gains(a, b, afterA, afterB *venue.Quote) bool {
	if s.q.ExactOut {
		return greater(a.AmountIn, b.AmountIn, afterA.AmountIn, afterB.AmountIn)
	}
	return greater(afterA.AmountOut, afterB.AmountOut, a.AmountOut, b.AmountOut)
}
