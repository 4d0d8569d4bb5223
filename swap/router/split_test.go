package router

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// forgetful is a search that asks the pools anew each time: greedy steps, then moves, as fill and
// refine make them. It returns the shares.
type forgetful struct{ *search }

func (f forgetful) ask(e Edge, amount uint64) (venue.Quote, bool) {
	if amount == 0 {
		return venue.Quote{}, true
	}
	quote, err := e.Quote(f.q.order(&e, f.q.In, amount, f.q.ExactOut))
	return quote, err == nil
}

// gain is how much more two pools give, or how much less they take, for new amounts than for old.
func (f forgetful) gain(old, new [2]venue.Quote) float64 {
	sum := func(quotes [2]venue.Quote) float64 {
		if f.q.ExactOut {
			return -float64(quotes[0].AmountIn) - float64(quotes[1].AmountIn)
		}
		return float64(quotes[0].AmountOut) + float64(quotes[1].AmountOut)
	}
	return sum(new) - sum(old)
}

func (f forgetful) shares(pools []Edge) []uint64 {
	amounts := make([]uint64, len(pools))
	for left := f.q.Amount; left > 0; {
		step := min(max(f.q.Amount/firstSteps, 1), left)
		if left-step < step {
			step = left
		}
		chosen, most := -1, 0.0
		for i, e := range pools {
			now, _ := f.ask(e, amounts[i])
			next, ok := f.ask(e, amounts[i]+step)
			if gain := f.gain([2]venue.Quote{now}, [2]venue.Quote{next}); ok && (chosen < 0 || gain > most) {
				chosen, most = i, gain
			}
		}
		if chosen < 0 {
			return make([]uint64, len(pools)) // no pool has room for its share
		}
		amounts[chosen] += step
		left -= step
	}
	for step := max(f.q.Amount/(2*firstSteps), 1); ; step /= 2 {
		for moved := true; moved; {
			moved = false
			for from := range pools {
				for to := range pools {
					moved = from != to && f.move(pools, amounts, from, to, step) || moved
				}
			}
		}
		if step <= max(f.q.Amount/finest, 1) {
			return amounts
		}
	}
}

func (f forgetful) move(pools []Edge, amounts []uint64, from, to int, step uint64) bool {
	if step = min(step, amounts[from]); step == 0 {
		return false
	}
	a, _ := f.ask(pools[from], amounts[from])
	b, _ := f.ask(pools[to], amounts[to])
	rest, ok := f.ask(pools[from], amounts[from]-step)
	grown, grows := f.ask(pools[to], amounts[to]+step)
	if !ok || !grows || f.gain([2]venue.Quote{a, b}, [2]venue.Quote{rest, grown}) <= 0 {
		return false
	}
	amounts[from] -= step
	amounts[to] += step
	return true
}

// TestSharesDoNotDependOnWhatIsRemembered: they are those of a search that asks the pools anew for
// each step, and each quote is its pool's for the share.
func TestSharesDoNotDependOnWhatIsRemembered(t *testing.T) {
	random := rand.New(rand.NewPCG(18, 6))
	split := 0
	for i := range 300 {
		w := newWorld(t)
		for range 2 + random.IntN(5) {
			// Small pools refuse large amounts. Sums are below 2^53: float64 has them exactly.
			depth := uint64(math.Exp(random.Float64()*20) * 1000)
			w.pool(swaptest.Named(string(rune(len(w.edges)))).String(), coin, sol, depth, depth+uint64(random.IntN(int(depth/50)+1)), uint64(100+random.IntN(20_000)))
		}
		q := question(coin, sol, uint64(math.Exp(random.Float64()*20)*10))
		q.ExactOut = i%3 == 0
		s := &search{over: func() bool { return false }, pools: graphOf(w.edges), q: q, answer: &Answer{}}
		parts := s.promising(w.edges)
		var pools []Edge
		for _, p := range parts {
			pools = append(pools, *p.edge)
		}
		want := forgetful{s}.shares(pools)
		used := s.shares(parts)
		got := make([]uint64, len(pools))
		for _, p := range used {
			got[slices.IndexFunc(pools, func(e Edge) bool { return e.Address() == p.edge.Address() })] = p.share.amount
			quote, err := p.edge.Quote(q.order(p.edge, coin, p.share.amount, q.ExactOut))
			require.NoError(t, err)
			require.Equal(t, reply{p.share.amount, quote.AmountIn, quote.AmountOut, false}, p.share)
		}
		require.Equal(t, want, got)
		split += min(len(used)/2, 1)
	}
	require.Greater(t, split, 100)
}
