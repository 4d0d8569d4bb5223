package router

import (
	"cmp"
	"fmt"

	"github.com/mintlake/mintlake/swap/venue"
)

// hops looks for routes over one mint in the middle.
//
// The transaction must state the amount of the second swap before the first one has run. So the
// first swap buys exactly that amount of the middle mint, and the second sells exactly that amount.
// If the price moves in between, more or less of the sold token is used. At most Route.Residual of
// the middle mint is left over, because either swap rounds: a purchase on a venue of pump's may not
// use the last unit. handed returns the amount that the first swap buys, from which the plan's
// amounts are computed.
func (s *search) hops() {
	for _, middle := range s.middles() {
		if s.over() {
			return
		}
		s.chain(middle)
		route, err := s.hop(middle)
		if err != nil {
			if s.hopRefusal == nil || severity(err) > severity(s.hopRefusal) {
				s.hopRefusal = err
			}
			continue
		}
		s.add(route)
	}
}

// chain adds the best route over a middle mint that is one instruction of its venue. Such a route
// leaves nothing in the middle, so it needs no slack. It is for exact-in questions.
func (s *search) chain(middle venue.Key) {
	if s.q.ExactOut {
		return
	}
	var best Route
	firsts, nexts := s.pools.Between(s.q.In, middle), s.pools.Between(middle, s.q.Out)
	for i := range firsts {
		e := &firsts[i]
		first, ok := e.Pool.(venue.Chained)
		if !ok || s.over() {
			continue
		}
		one, err := first.QuoteFirst(s.q.order(e, s.q.In, s.q.Amount, false))
		if err != nil {
			continue
		}
		for j := range nexts {
			next := &nexts[j]
			if next.Venue != e.Venue || s.over() {
				continue
			}
			two, err := first.QuoteNext(one, next.Pool)
			if err == nil && (len(best.Legs) == 0 || two.AmountOut > best.AmountOut) {
				best = Route{Legs: []Leg{{Edge: *e, Quote: one}, {Edge: *next, Quote: two}}, Chained: true, Passes: first.NeedsMiddle(), AmountIn: one.AmountIn, AmountOut: two.AmountOut}
			}
		}
	}
	if len(best.Legs) > 0 {
		s.add(best)
	}
}

// middles returns the mints that have a pool with both mints of the question.
func (s *search) middles() []venue.Key {
	few, other := s.pools.Neighbours(s.q.In), s.q.Out
	if more := s.pools.Neighbours(s.q.Out); len(more) < len(few) {
		few, other = more, s.q.In
	}
	var list []venue.Key
	for _, m := range few {
		if m != s.q.In && m != s.q.Out && len(s.pools.Between(m, other)) > 0 {
			list = append(list, m)
		}
	}
	return list
}

// form is how a swap moves SOL: wrapped, or natively from and to the wallet (unwrapped).
type form int

const (
	anyForm form = iota
	wrapped
	unwrapped
)

func (f form) fits(quote *venue.Quote) bool { return f == anyForm || quote.Native == (f == unwrapped) }

// hop returns the best route over a middle mint: the first swap takes the pool that asks least for
// the amount handed on, the second the pool that gives most for it. If the middle is SOL, both
// swaps must move it in the same form.
func (s *search) hop(middle venue.Key) (Route, error) {
	forms := []form{anyForm}
	if middle == s.q.Native {
		forms = []form{wrapped, unwrapped}
	}
	var best Route
	var refusal error
	for _, f := range forms {
		route, err := s.join(middle, f)
		switch {
		case err != nil:
			refusal = cmp.Or(refusal, err)
		case len(best.Legs) == 0, s.q.ExactOut && route.AmountIn < best.AmountIn, !s.q.ExactOut && route.AmountOut > best.AmountOut:
			best = route
		}
	}
	if len(best.Legs) == 0 {
		return Route{}, refusal
	}
	return best, nil
}

// handed returns how much of the middle mint the first swap buys and the second sells. For an
// exact-in question that is what the first pool would give, less the slack. For an exact-out
// question it is what the second pool asks, plus the slack: unless the price moves, the user then
// receives more than he asked for.
func (s *search) handed(middle venue.Key, f form) (uint64, error) {
	if s.q.ExactOut {
		second, err := s.best(middle, s.q.Out, s.q.Amount, true, f)
		return more(second.Quote.AmountIn, s.q.Slack), err
	}
	first, err := s.best(s.q.In, middle, s.q.Amount, false, f)
	return less(first.Quote.AmountOut, s.q.Slack), err
}

// join returns the route over a middle mint in one form.
func (s *search) join(middle venue.Key, f form) (Route, error) {
	amount, err := s.handed(middle, f)
	if err != nil {
		return Route{}, err
	}
	first, err := s.best(s.q.In, middle, amount, true, f)
	if err != nil {
		return Route{}, err
	}
	if !s.q.ExactOut && first.Quote.AmountIn > s.q.Amount {
		return Route{}, venue.ErrTooSmall // rounding takes more than the slack
	}
	second, err := s.best(middle, s.q.Out, amount, false, f, venue.JointsOf(first.Pool)...)
	if err != nil {
		return Route{}, err
	}
	if s.q.ExactOut && second.Quote.AmountOut < s.q.Amount {
		return Route{}, venue.ErrNoLiquidity
	}
	r := Route{Legs: []Leg{first, second}, AmountIn: first.Quote.AmountIn, AmountOut: second.Quote.AmountOut}
	r.leftovers(s.q.Out)
	return r, nil
}

// best returns the pool of a pair that gives most or, for an exact-out order, takes least. Its
// quote must have the form f, and it must not share any of joints, which are accounts of the
// route's other pools. If there is no such pool, the error wraps a venue.Refusal.
func (s *search) best(in, out venue.Key, amount uint64, exactOut bool, f form, joints ...venue.Key) (Leg, error) {
	var leg Leg
	var refusal error = venue.ErrNoLiquidity
	found := false
	edges := s.pools.Between(in, out)
	for i := range edges {
		e := &edges[i]
		if !venue.Apart(e.Pool, joints) {
			refusal = errJoint
			continue
		}
		quote, err := e.Quote(s.q.order(e, in, amount, exactOut))
		if err != nil {
			refusal = err
			s.beyond(e, err)
			continue
		}
		if f.fits(&quote) && (!found || better(&quote, &leg.Quote, exactOut)) {
			leg, found = Leg{Edge: *e, Quote: quote}, true
		}
	}
	if !found {
		return Leg{}, refusal
	}
	return leg, nil
}

// errJoint refuses a second pool that shares accounts with the first: what it gives after the
// first swap is not what it gives alone.
var errJoint = fmt.Errorf("%w: the pools of the route share a vault", venue.ErrUnverified)

// better returns whether quote a is better than b for the same order. It returns false for equal
// quotes.
func better(a, b *venue.Quote, exactOut bool) bool {
	if exactOut {
		return a.AmountIn < b.AmountIn
	}
	return a.AmountOut > b.AmountOut
}
