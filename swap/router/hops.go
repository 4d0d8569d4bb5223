package router

import (
	"cmp"

	"github.com/mintlake/mintlake/swap/venue"
)

// hops looks for routes over one mint in the middle.
//
// The chain wants a literal amount for the second swap, before the first one has run. So the first
// swap buys exactly that amount and the second sells exactly that amount: what the price moved in
// between stays in the token that is sold, and nothing is left in the middle. The amount is what
// the first swap would give less the slack; what the plan promises is computed from it.
func (s *search) hops() {
	for _, middle := range s.middles() {
		if s.over() {
			return
		}
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

// middles are the mints that have a pool with both sides.
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

// form says how a swap moves SOL: wrapped, from and to the wallet, or either.
type form int

const (
	anyForm form = iota
	wrapped
	unwrapped
)

func (f form) fits(quote venue.Quote) bool { return f == anyForm || quote.Native == (f == unwrapped) }

// hop is the best route over a middle: each of its two swaps takes the pool that gives most. SOL in
// the middle is either wrapped or not, for both.
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

// handed is how much of the middle the first swap hands to the second. An exact-out question asks
// the second pool, and the slack comes on top: the user receives it, unless the price moves.
func (s *search) handed(middle venue.Key, f form) (uint64, error) {
	if s.q.ExactOut {
		second, err := s.best(middle, s.q.Out, s.q.Amount, true, f)
		return more(second.Quote.AmountIn, s.q.Slack), err
	}
	first, err := s.best(s.q.In, middle, s.q.Amount, false, f)
	return less(first.Quote.AmountOut, s.q.Slack), err
}

// join makes the route.
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
		return Route{}, venue.ErrTooSmall // so little that the rounding is more than the slack
	}
	second, err := s.best(middle, s.q.Out, amount, false, f)
	if err != nil {
		return Route{}, err
	}
	if s.q.ExactOut && second.Quote.AmountOut < s.q.Amount {
		return Route{}, venue.ErrNoLiquidity
	}
	return Route{
		Legs: []Leg{first, second}, AmountIn: first.Quote.AmountIn, AmountOut: second.Quote.AmountOut,
		Residual: first.Quote.AmountOut - amount,
	}, nil
}

// best is the pool of a pair that gives most, or takes least.
func (s *search) best(in, out venue.Key, amount uint64, exactOut bool, f form) (Leg, error) {
	var leg Leg
	var refusal error = venue.ErrNoLiquidity
	found := false
	for _, e := range s.pools.Between(in, out) {
		quote, err := e.Quote(s.q.order(e, in, amount, exactOut))
		if err != nil {
			refusal = err
			continue
		}
		if f.fits(quote) && (!found || better(quote, leg.Quote, exactOut)) {
			leg, found = Leg{e, quote}, true
		}
	}
	if !found {
		return Leg{}, refusal
	}
	return leg, nil
}

// better compares quotes of one order. The first of equal ones stays.
func better(a, b venue.Quote, exactOut bool) bool {
	if exactOut {
		return a.AmountIn < b.AmountIn
	}
	return a.AmountOut > b.AmountOut
}
