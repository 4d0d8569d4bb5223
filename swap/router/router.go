// Package router chooses how a trade is made: over one pool, split over several, or over two pools
// in a row.
//
// In: pools with their state, and a question. Out: plans, best first. Guarantees: pure and
// deterministic; no pool is used twice; what a plan promises is what its pools' own arithmetic
// gives for the literal amounts that stand in its transaction; the best direct pool is always among
// the plans.
//
// The objective is what the user receives (or, for exact-out, pays), net of what the plan costs
// beyond the swap itself: the priority fee of its compute units, and the rent of an account for a
// token in the middle.
package router

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// Edge is a pool with what the router must know about it.
type Edge struct {
	venue.Pool
	// Venue is its name.
	Venue string
	// Slot is the slot of the pool's state. Clock is the chain's clock that quotes are computed
	// with.
	Slot  uint64
	Clock venue.Clock
}

// Pools returns the pools that routes are made of, in a fixed order. *Graph implements it.
type Pools interface {
	// Between returns the pools of a pair, in either order of the mints.
	Between(a, b venue.Key) []Edge
	// Neighbours returns the mints that share a pool with mint.
	Neighbours(mint venue.Key) []venue.Key
}

// Question is what is asked for. Zero values of the limits mean the defaults at each field.
type Question struct {
	In, Out venue.Key
	// Amount is that of In, or of Out if ExactOut.
	Amount   uint64
	ExactOut bool
	// OnlyDirect leaves out routes over a second mint.
	OnlyDirect bool
	// Slack is the part of the first swap's output, in basis points, that the second swap does not
	// count on. So a small move of the price in between does not make the transaction fail.
	Slack uint64
	// UnitPrice is the price of a compute unit in millionths of a lamport, Rent the rent of a token
	// account in lamports. They count only if a pool has a price for SOL in the token that plans
	// are compared in.
	UnitPrice, Rent uint64
	// Native is the mint that stands for SOL.
	Native venue.Key
	// MaxParts bounds the pools of a split. Default 4.
	MaxParts int
}

// order returns the question's order to one pool.
func (q *Question) order(e *Edge, in venue.Key, amount uint64, exactOut bool) venue.Order {
	return venue.Order{In: in, Amount: amount, ExactOut: exactOut, Clock: e.Clock}
}

// Leg is one swap of a route.
type Leg struct {
	Edge
	Quote venue.Quote
}

// Route is one swap, or two of which the second sells what the first buys.
type Route struct {
	Legs []Leg
	// Chained says that the two swaps are one instruction of their venue: see venue.Chained.
	Chained bool
	// AmountIn and AmountOut are those of the whole route.
	AmountIn, AmountOut uint64
	// Residual is the most of the middle mint that may stay with the user.
	Residual uint64
}

// Plan is a way to make the trade.
type Plan struct {
	// Routes run side by side: one, or the parts of a split.
	Routes []Route
	// AmountIn and AmountOut are what the plan takes and gives.
	AmountIn, AmountOut uint64
	// ImpactBps is how much worse than the price before the trade it executes, fees aside; rounded
	// up.
	ImpactBps uint64
	// ComputeUnits is how many its swaps may use.
	ComputeUnits uint32
	// net is what plans are compared by: AmountOut less the costs, or for exact-out AmountIn plus
	// the costs.
	net uint64
}

// Refused is a pool that could not take part, and why.
type Refused struct {
	Edge
	Err error
}

// Answer is all plans, the best first, and what was found on the way.
type Answer struct {
	Plans []Plan
	// Refused are direct pools that gave no quote for the whole amount.
	Refused []Refused
}

// ErrNoPool is returned for a pair that neither one pool nor two in a row connect.
var ErrNoPool = errors.New("no pool")

// Find answers a question. Once over returns true, it returns the plans found so far, at least
// those of the direct pools; a nil over means that there is time. Its error wraps ErrNoPool, or a
// venue.Refusal if there are pools but none takes the trade.
func Find(over func() bool, pools Pools, q Question) (*Answer, error) {
	s := &search{over: over, pools: pools, q: q, answer: &Answer{}}
	if over == nil {
		s.over = func() bool { return false }
	}
	if s.q.MaxParts == 0 {
		s.q.MaxParts = 4
	}
	direct := s.direct()
	s.split(direct)
	if !q.OnlyDirect {
		s.hops()
	}
	if len(s.answer.Plans) == 0 {
		return s.answer, s.refusal()
	}
	slices.SortStableFunc(s.answer.Plans, s.compare)
	return s.answer, nil
}

// search is the state of one call of Find.
type search struct {
	over   func() bool
	pools  Pools
	q      Question
	answer *Answer
	// hopRefusal is why no two pools in a row took the trade, if some connect the pair.
	hopRefusal error
	// worth is what SOL is worth in the token that plans are compared in; nil until it is needed.
	worth *worth
}

// refusal returns why there is no plan. Of several reasons it returns the one with the highest
// severity.
func (s *search) refusal() error {
	var worst error
	for _, r := range s.answer.Refused {
		if worst == nil || severity(r.Err) > severity(worst) {
			worst = r.Err
		}
	}
	switch {
	case worst != nil:
		return worst
	case s.hopRefusal != nil:
		return s.hopRefusal
	}
	return fmt.Errorf("%w trades %s for %s", ErrNoPool, s.q.In.String(), s.q.Out.String())
}

// severity orders refusals. Those that the client can avoid by another amount are the highest.
func severity(err error) int {
	order := []venue.Refusal{venue.ErrMalformed, venue.ErrUnverified, venue.ErrStopped, venue.ErrMint, venue.ErrClosed, venue.ErrNoLiquidity, venue.ErrTooSmall, venue.ErrTooLarge, venue.ErrBeyond}
	return slices.Index(order, venue.RefusalOf(err))
}

// direct asks every pool of the pair for the whole amount, and makes a plan of each quote. It
// returns all pools, also those that refused.
func (s *search) direct() []Edge {
	edges := s.pools.Between(s.q.In, s.q.Out)
	s.answer.Plans = make([]Plan, 0, len(edges)+2) // a split and a route over two pools come too
	for i := range edges {
		e := &edges[i]
		quote, err := e.Quote(s.q.order(e, s.q.In, s.q.Amount, s.q.ExactOut))
		if err != nil {
			s.answer.Refused = append(s.answer.Refused, Refused{*e, err})
			continue
		}
		s.add(Route{Legs: []Leg{{*e, quote}}, AmountIn: quote.AmountIn, AmountOut: quote.AmountOut})
	}
	return edges
}

// add makes a plan of routes that run side by side. It makes none if their amounts exceed 64 bits.
func (s *search) add(routes ...Route) {
	p := Plan{Routes: routes}
	var weighted uint64
	rents := uint64(0)
	for i := range routes {
		r := &routes[i]
		in, carry := p.AmountIn+r.AmountIn, p.AmountIn+r.AmountIn < p.AmountIn
		out := p.AmountOut + r.AmountOut
		if carry || out < p.AmountOut {
			return // more than 64 bits
		}
		p.AmountIn, p.AmountOut = in, out
		for j := range r.Legs {
			p.ComputeUnits += r.Legs[j].Quote.ComputeUnits
		}
		if len(r.Legs) > 1 && !r.Chained && r.Legs[0].Quote.Out != s.q.Native {
			rents++
		}
	}
	for i := range routes {
		r := &routes[i]
		weighted += mulDivUp(impact(r), r.AmountIn, p.AmountIn)
	}
	p.ImpactBps = min(weighted, wholeBps)
	cost := s.cost(p.ComputeUnits, rents)
	if s.q.ExactOut {
		p.net = p.AmountIn + min(cost, ^uint64(0)-p.AmountIn)
	} else {
		p.net = p.AmountOut - min(cost, p.AmountOut)
	}
	s.answer.Plans = append(s.answer.Plans, p)
}

// impact returns the price impact of a route. Each leg leaves a part of the price; the product of
// these parts is what the route leaves.
func impact(r *Route) uint64 {
	left := uint64(wholeBps)
	for i := range r.Legs {
		left = left * (wholeBps - min(r.Legs[i].Quote.ImpactBps, wholeBps)) / wholeBps
	}
	return wholeBps - left
}

// compare orders plans: by net, then by the number of swaps, then by the pools' addresses.
func (s *search) compare(a, b Plan) int {
	if a.net != b.net {
		if (a.net > b.net) != s.q.ExactOut {
			return -1
		}
		return 1
	}
	x, y := a.Legs(), b.Legs()
	if len(x) != len(y) {
		return len(x) - len(y)
	}
	for i := range x {
		p, r := x[i].Address(), y[i].Address()
		if c := bytes.Compare(p[:], r[:]); c != 0 {
			return c
		}
	}
	return 0
}

// Legs returns all swaps of the plan, in the order of the transaction.
func (p *Plan) Legs() []*Leg {
	var list []*Leg
	for _, r := range p.Routes {
		for i := range r.Legs {
			list = append(list, &r.Legs[i])
		}
	}
	return list
}
