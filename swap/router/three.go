package router

import (
	"slices"

	"github.com/mintlake/mintlake/swap/venue"
)

// threes looks for exact-out routes over two mints in the middle. Those of exact-in questions are
// paths of the network.
//
// As on a route over one mint, each swap but the last buys an exact amount: what the next one asks,
// plus the slack. The last one sells exactly what the second buys. What the second swap does not
// use of the first middle mint stays with the user.
func (s *search) threes() {
	const swaps = 3
	if !s.q.ExactOut || s.q.MaxSwaps < swaps {
		return
	}
	ends := s.pools.Neighbours(s.q.Out)
	for _, first := range s.pools.Neighbours(s.q.In) {
		for _, second := range ends {
			if first == second || first == s.q.Out || second == s.q.In || len(s.pools.Between(first, second)) == 0 {
				continue
			}
			if s.over() {
				return
			}
			s.three(first, second)
		}
	}
}

// three adds the best route over two mints. If one of them is SOL, the swaps that buy and sell it
// must move it in the same form.
func (s *search) three(first, second venue.Key) {
	forms := []form{anyForm}
	if first == s.q.Native || second == s.q.Native {
		forms = []form{wrapped, unwrapped}
	}
	var best Route
	for _, f := range forms {
		of := [3]form{anyForm, f, f}
		if first == s.q.Native {
			of = [3]form{f, f, anyForm}
		}
		if route, err := s.joinThree(first, second, of); err == nil && (len(best.Legs) == 0 || route.AmountIn < best.AmountIn) {
			best = route
		}
	}
	if len(best.Legs) > 0 {
		s.add(best)
	}
}

// joinThree returns the route over two mints, with a form for each swap.
func (s *search) joinThree(first, second venue.Key, of [3]form) (Route, error) {
	asks, err := s.best(second, s.q.Out, s.q.Amount, true, of[2])
	if err != nil {
		return Route{}, err
	}
	handed := more(asks.Quote.AmountIn, s.q.Slack)
	middle, err := s.best(first, second, handed, true, of[1])
	if err != nil {
		return Route{}, err
	}
	middle.Most = more(middle.Quote.AmountIn, s.q.Slack)
	joints := venue.JointsOf(middle.Pool)
	opening, err := s.best(s.q.In, first, middle.Most, true, of[0], joints...)
	if err != nil {
		return Route{}, err
	}
	last, err := s.best(second, s.q.Out, handed, false, of[2], slices.Concat(joints, venue.JointsOf(opening.Pool))...)
	if err != nil {
		return Route{}, err
	}
	if last.Quote.AmountOut < s.q.Amount {
		return Route{}, venue.ErrNoLiquidity
	}
	r := Route{Legs: []Leg{opening, middle, last}, AmountIn: opening.Quote.AmountIn, AmountOut: last.Quote.AmountOut}
	r.leftovers(s.q.Out)
	return r, nil
}
