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
	edge *Edge
	// first is the pool's answer to the first step.
	first reply
	// share is the pool's answer to its share; the zero value as long as it has none.
	share reply
	// more and less are what the pool answered last when it was asked for more and for less.
	more, less reply
}

// reply is a pool's answer to an amount: what it takes and gives, unless it refuses. The zero value
// is the answer to no amount.
type reply struct {
	amount, in, out uint64
	refused         bool
}

// split adds plans that split the amount over direct pools. A pool's output is concave in its
// input, so the best shares have equal margins. Greedy steps come near them, and moves between
// pairs of pools then refine them. split also adds plans with fewer pools, in case the best one
// does not fit a transaction.
func (s *search) split(edges []Edge) {
	if len(edges) < 2 {
		return
	}
	parts := s.promising(edges)
	for most := min(len(parts), s.q.MaxSwaps); most > 1 && !s.over(); {
		used := s.shares(parts)
		if len(used) < 2 {
			return
		}
		if len(used) <= most {
			s.addSplit(used)
			most = len(used) - 1
		}
		// The next, smaller split has only the pools with the greatest shares.
		parts = used[:most]
	}
}

// shares returns the parts of the best split over the pools of parts, the greatest first. Pools
// without a share are left out. It changes parts.
func (s *search) shares(parts []part) []part {
	if !s.fill(parts) {
		return nil
	}
	s.refine(parts)
	used := slices.DeleteFunc(parts, func(p part) bool { return p.share.amount == 0 })
	slices.SortStableFunc(used, func(a, b part) int { return cmp.Compare(b.share.amount, a.share.amount) })
	return used
}

// addSplit adds the plan of the parts' shares, unless a venue has stopped since it answered them.
func (s *search) addSplit(used []part) {
	routes := make([]Route, len(used))
	for i := range used {
		p := &used[i]
		quote, err := p.edge.Quote(s.q.order(p.edge, s.q.In, p.share.amount, s.q.ExactOut))
		if err != nil {
			return
		}
		routes[i] = Route{Legs: []Leg{{Edge: *p.edge, Quote: quote}}, AmountIn: quote.AmountIn, AmountOut: quote.AmountOut}
	}
	s.add(routes...)
}

// promising returns the maxPools pools that give most for the first step, without shares. A pool
// that gives less for the first step seldom gets a share. Of pools that share an account, the best
// one is returned.
func (s *search) promising(edges []Edge) []part {
	parts := make([]part, 0, len(edges))
	for i := range edges {
		p := part{edge: &edges[i]}
		if s.ask(&p, &p.first, s.share(firstSteps)) {
			parts = append(parts, p)
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int {
		if s.q.ExactOut {
			return cmp.Compare(a.first.in, b.first.in)
		}
		return cmp.Compare(b.first.out, a.first.out)
	})
	var joints []venue.Key
	parts = slices.DeleteFunc(parts, func(p part) bool {
		own := venue.JointsOf(p.edge.Pool)
		shares := !venue.Apart(p.edge.Pool, joints)
		joints = append(joints, own...)
		return shares
	})
	return parts[:min(len(parts), maxPools)]
}

// share returns 1/n of the amount, at least 1.
func (s *search) share(n uint64) uint64 { return max(s.q.Amount/n, 1) }

// fill gives the amount away in equal steps, each to the pool that gains most by it. The last step
// includes the division's rest. It returns false if no pool takes a step.
func (s *search) fill(parts []part) bool {
	for i := range parts {
		p := &parts[i]
		p.share, p.more, p.less = reply{}, p.first, reply{}
	}
	for left := s.q.Amount; left > 0; {
		step := min(s.share(firstSteps), left)
		if left-step < step {
			step = left // the division's rest
		}
		chosen := -1
		for i := range parts {
			if p := &parts[i]; s.ask(p, &p.more, p.share.amount+step) && (chosen < 0 || s.gainsMore(p, &parts[chosen])) {
				chosen = i
			}
		}
		if chosen < 0 {
			return false
		}
		parts[chosen].share = parts[chosen].more
		left -= step
	}
	return true
}

// ask asks a pool for an amount and keeps the answer in last, unless last is the answer to this
// amount already: after a step, only the pools that took or gave it are asked for new amounts. It
// returns false if the pool refuses.
func (s *search) ask(p *part, last *reply, amount uint64) bool {
	if last.amount != amount {
		quote, err := p.edge.Quote(s.q.order(p.edge, s.q.In, amount, s.q.ExactOut))
		*last = reply{amount, quote.AmountIn, quote.AmountOut, err != nil}
	}
	return !last.refused
}

// gainsMore returns whether the next step on a gains more than the next step on b.
func (s *search) gainsMore(a, b *part) bool {
	if s.q.ExactOut {
		return a.more.in-a.share.in < b.more.in-b.share.in
	}
	return a.more.out-a.share.out > b.more.out-b.share.out
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
		if step <= max(s.q.Amount/finest, 1) {
			return
		}
	}
}

// move shifts step from one pool to another if that gains.
func (s *search) move(from, to *part, step uint64) bool {
	step = min(step, from.share.amount)
	if step == 0 {
		return false
	}
	var rest reply
	if from.share.amount > step {
		if !s.ask(from, &from.less, from.share.amount-step) {
			return false
		}
		rest = from.less
	}
	if !s.ask(to, &to.more, to.share.amount+step) || !s.gains(from.share, to.share, rest, to.more) {
		return false
	}
	from.share, to.share = rest, to.more
	return true
}

// gains returns whether two pools, a and b, are better after a move than before. greater is used
// because sums of two amounts may exceed 64 bits.
func (s *search) gains(a, b, afterA, afterB reply) bool {
	if s.q.ExactOut {
		return greater(a.in, b.in, afterA.in, afterB.in)
	}
	return greater(afterA.out, afterB.out, a.out, b.out)
}
