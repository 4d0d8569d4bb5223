// Package router chooses how a trade is made: over one pool, over up to three in a row, or split
// over several of these.
//
// In: pools with their state, and a question. Out: plans, best first. Guarantees: pure and
// deterministic; no pool is used twice, and no plan has two pools that share an account; what a
// plan promises is what its pools' own arithmetic gives for the literal amounts that stand in its
// transaction; the best direct pool is always among the plans.
//
// The objective is what the user receives (or, for exact-out, pays), net of what the plan costs
// beyond the swap itself: the priority fee of its compute units, and the rent of accounts for
// tokens in the middle. What a plan leaves of the sold token and of those in the middle counts at
// the plan's own price. But no plan is preferred to a direct pool that gives more.
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
	// Amount is the amount of In, or of Out if ExactOut.
	Amount   uint64
	ExactOut bool
	// OnlyDirect leaves out routes over other mints.
	OnlyDirect bool
	// Slack is the part of a swap's output, in basis points, that the next swap does not count on.
	// So a small move of the price in between does not make the transaction fail.
	Slack uint64
	// UnitPrice is the price of a compute unit in millionths of a lamport, Rent the rent of a token
	// account in lamports. They count only if a pool has a price for SOL in the token that plans
	// are compared in.
	UnitPrice, Rent uint64
	// Native is the mint that stands for SOL.
	Native venue.Key
	// MaxSwaps bounds the swaps of a plan. Default 6.
	MaxSwaps int
}

// order returns the question's order to one pool.
func (q *Question) order(e *Edge, in venue.Key, amount uint64, exactOut bool) venue.Order {
	return venue.Order{In: in, Amount: amount, ExactOut: exactOut, Clock: e.Clock}
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
	// Beyond are pools, direct ones and others, that refused an amount with venue.ErrBeyond.
	Beyond []venue.Key
}

// ErrNoPool is returned for a pair that neither one pool nor several in a row connect.
var ErrNoPool = errors.New("no pool")

// Find answers a question. Once over returns true, it returns the plans found so far, at least
// those of the direct pools. If over is nil, the time is not bounded. Its error wraps ErrNoPool, or
// a venue.Refusal if there are pools but none takes the trade.
func Find(over func() bool, pools Pools, q Question) (*Answer, error) {
	s := &search{over: over, pools: pools, q: q, answer: &Answer{}}
	if over == nil {
		s.over = func() bool { return false }
	}
	if s.q.MaxSwaps == 0 {
		s.q.MaxSwaps = 6
	}
	direct := s.direct()
	if q.ExactOut {
		s.split(direct)
	} else {
		s.flow()
	}
	if !q.OnlyDirect {
		s.hops()
		s.threes()
	}
	if len(s.answer.Plans) == 0 {
		return s.answer, s.refusal()
	}
	s.least = s.bestDirect()
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
	// least is the net of the best direct pool; 0 if there is none.
	least uint64
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
			s.beyond(e, err)
			continue
		}
		s.add(Route{Legs: []Leg{{Edge: *e, Quote: quote}}, AmountIn: quote.AmountIn, AmountOut: quote.AmountOut})
	}
	return edges
}

// beyond notes a pool in Answer.Beyond if err says that the order needs more of its accounts than
// are held.
func (s *search) beyond(e *Edge, err error) {
	if address := e.Address(); errors.Is(err, venue.ErrBeyond) && !slices.Contains(s.answer.Beyond, address) {
		s.answer.Beyond = append(s.answer.Beyond, address)
	}
}

// flow adds plans that send an exact-in amount through all pools and paths that gain by it: a plan
// of at most MaxSwaps swaps, and plans of fewer swaps, in case the first does not fit a
// transaction.
func (s *search) flow() {
	n := newNetwork(s)
	if !n.fill() {
		return
	}
	n.refine(2 * parts)
	for n.used() > 1 && !s.over() {
		if n.used() <= s.q.MaxSwaps {
			if routes, ok := n.settle(); ok {
				s.add(routes...)
			}
		}
		if !n.drop() {
			return
		}
		n.refine(refineAgain)
	}
}

// bestDirect returns the net of the best direct pool of an exact-in question; 0 if there is none.
func (s *search) bestDirect() (best uint64) {
	for i := range s.answer.Plans {
		if p := &s.answer.Plans[i]; !s.q.ExactOut && len(p.Routes) == 1 && len(p.Routes[0].Legs) == 1 {
			best = max(best, p.net)
		}
	}
	return best
}

// add makes a plan of routes that run side by side. It makes none if their amounts exceed 64 bits.
func (s *search) add(routes ...Route) {
	p := Plan{Routes: routes}
	var weighted uint64
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
	}
	for i := range routes {
		r := &routes[i]
		weighted += mulDivUp(impact(r), r.AmountIn, p.AmountIn)
	}
	p.ImpactBps = min(weighted, wholeBps)
	cost := s.cost(p.ComputeUnits, s.rents(routes))
	if s.q.ExactOut {
		p.net = p.AmountIn + min(cost, ^uint64(0)-p.AmountIn)
		p.worth = p.net
	} else {
		p.net = p.AmountOut - min(cost, p.AmountOut)
		whole := s.credited(&p)
		p.worth = whole - min(cost, whole)
	}
	s.answer.Plans = append(s.answer.Plans, p)
}

// credited returns what an exact-in plan gives if what it leaves, of the sold token and of mints in
// the middle, counts at the plan's own price. It is 0 if that exceeds 64 bits.
func (s *search) credited(p *Plan) uint64 {
	whole := p.AmountOut
	for i := range p.Routes {
		r := &p.Routes[i]
		for _, left := range r.Residual {
			whole += r.sold(left.Mint, left.Units, s.q.Out)
		}
	}
	whole = mulDiv(whole, max(s.q.Amount, p.AmountIn), p.AmountIn)
	if len(p.Routes) == 1 && p.Routes[0].Chained {
		whole += min(s.spared(p), ^uint64(0)-whole)
	}
	return whole
}

// spared returns what credited adds to a chained plan, so that the comparison with other plans is
// fair. A chained plan sells everything. Another plan sells less by the slack, so its price is
// better by the slack's part of the impact. credited counts what it leaves at that better price, at
// which it would not sell. 1 is added to the impact and to the sum, to make up for rounding.
func (s *search) spared(p *Plan) uint64 {
	return 1 + mulDivUp(p.AmountOut, s.q.Slack*(p.ImpactBps+1), wholeBps*wholeBps)
}

// rents returns how many accounts for mints in the middle are opened.
func (s *search) rents(routes []Route) uint64 {
	var mints []venue.Key
	for i := range routes {
		if routes[i].Chained && !routes[i].Passes {
			continue
		}
		for j := range routes[i].Legs {
			mint := routes[i].Legs[j].Quote.Out
			if mint != s.q.Out && mint != s.q.Native && !slices.Contains(mints, mint) {
				mints = append(mints, mint)
			}
		}
	}
	return uint64(len(mints))
}

// compare orders plans. Plans that give less than the best direct pool are last. Otherwise the
// order is by worth, then by the number of swaps, then by the pools' addresses.
func (s *search) compare(a, b Plan) int {
	if short := a.net < s.least; short != (b.net < s.least) {
		if short {
			return 1
		}
		return -1
	}
	if a.worth != b.worth {
		if (a.worth > b.worth) != s.q.ExactOut {
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
