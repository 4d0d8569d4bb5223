package router

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/pumpcurve"
)

// TestPlansAreAsGoodAsAnExhaustiveSearch: over 20,000 pools of realistic depth the best plan is
// within 0.05 % of the best of all routes over two pools and all splits over direct pools, and
// never below the best direct pool. The reference tries every pair of pools, and computes the
// splits in another way: by equal margins, in floating point, over every subset of pools.
// MINTLAKE_TEST_ROUTES is the number of trades.
func TestPlansAreAsGoodAsAnExhaustiveSearch(t *testing.T) {
	w, tokens := market(t, 20_000, 7)
	graph := graphOf(w.edges)
	random := rand.New(rand.NewPCG(11, 3))
	pairs := trades(t, 60)
	// Few draws would miss the curves: one pool in forty is one, and as they move SOL without
	// wrapping it, a route goes over them only where SOL is sold or bought.
	var coins []venue.Key
	for _, coin := range graph.Neighbours(sol) {
		if slices.ContainsFunc(graph.Between(sol, coin), func(e Edge) bool { return e.Venue == pumpcurve.Name }) {
			coins = append(coins, coin)
		}
	}
	splits, hops, short, worst, venues := 0, 0, 0, 0.0, map[string]int{}
	for done := 0; done < pairs; {
		a, b := tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))]
		amount := uint64(math.Exp(random.Float64()*25) * 1000)
		switch done % 4 { // most people trade against a hub
		case 0:
			a = tokens[random.IntN(4)]
		case 1:
			a, b = tokens[random.IntN(4)], tokens[random.IntN(4)]
		case 2:
			// Up to 9 SOL: more drains such pools, and then the reference prefers to waste SOL on a
			// bad pool.
			a, b, amount = sol, coins[random.IntN(len(coins))], uint64(math.Exp(random.Float64()*16)*1000)
		}
		if a == b {
			continue
		}
		q := question(a, b, amount)
		answer, err := Find(nil, graph, q)
		if errors.Is(err, ErrNoPool) || venue.RefusalOf(err) != "" {
			require.Zero(t, w.exhaustive(graph, q), "%v", err)
			continue
		}
		require.NoError(t, err)
		done++
		got, want, direct := answer.Plans[0].AmountOut, w.exhaustive(graph, q), bestDirect(graph, q)
		require.GreaterOrEqual(t, got, direct)
		require.GreaterOrEqual(t, float64(got)+1, float64(want)*0.9995, "%d of %s for %s", q.Amount, a.String(), b.String())
		if got < want {
			short, worst = short+1, max(worst, 1-float64(got)/float64(want))
		}
		for _, leg := range answer.Plans[0].Legs() {
			venues[leg.Venue]++
		}
		checkPlan(t, &q, &answer.Plans[0])
		splits += min(len(answer.Plans[0].Routes)-1, 1)
		hops += len(answer.Plans[0].Routes[0].Legs) - 1
	}
	t.Logf("%d trades: %d split, %d over two pools; below the exhaustive search %d, by %.4f %% at most; swaps by venue %v", pairs, splits, hops, short, 100*worst, venues)
	require.Len(t, venues, 5)
	require.Greater(t, splits, pairs/100, "the market has trades that are better split")
	require.Greater(t, hops, pairs/20, "and better routed")
}

// trades returns how many trades a test makes: MINTLAKE_TEST_ROUTES, or few.
func trades(t *testing.T, few int) int {
	text := os.Getenv("MINTLAKE_TEST_ROUTES")
	if text == "" {
		return few
	}
	count, err := strconv.Atoi(text)
	require.NoError(t, err)
	return count
}

// checkPlan holds a plan to what it says: amounts add up, pools appear once.
func checkPlan(t *testing.T, q *Question, p *Plan) {
	t.Helper()
	var in, out uint64
	seen := map[venue.Key]bool{}
	for _, r := range p.Routes {
		in, out = in+r.AmountIn, out+r.AmountOut
		bought, left := map[venue.Key]uint64{}, uint64(0)
		for _, l := range r.Legs {
			require.False(t, seen[l.Address()], "a pool is used twice")
			seen[l.Address()] = true
			if again, err := l.Pool.Quote(l.Quote.Order); !r.Chained {
				require.NoError(t, err)
				require.Equal(t, again, l.Quote)
			}
			if l.Quote.Order.In != q.In {
				most := max(l.Most, l.Quote.AmountIn)
				require.GreaterOrEqual(t, bought[l.Quote.Order.In], most, "what is sold was bought before")
				bought[l.Quote.Order.In] -= most
				left += most - l.Quote.AmountIn
			}
			if l.Quote.Out != q.Out {
				bought[l.Quote.Out] += l.Quote.AmountOut
				require.True(t, r.Chained || l.Quote.Order.ExactOut, "the next swap sells a literal amount")
			}
		}
		for _, rest := range bought {
			left += rest
		}
		for _, rest := range r.Residual {
			left -= rest.Units
		}
		require.Zero(t, left, "what stays is told")
	}
	require.Equal(t, []uint64{in, out}, []uint64{p.AmountIn, p.AmountOut})
	if q.ExactOut {
		require.GreaterOrEqual(t, out, q.Amount)
	} else {
		require.LessOrEqual(t, in, q.Amount)
	}
}

func bestDirect(g *Graph, q Question) uint64 {
	var best uint64
	for _, e := range g.Between(q.In, q.Out) {
		if quote, err := e.Quote(q.order(&e, q.In, q.Amount, false)); err == nil {
			best = max(best, quote.AmountOut)
		}
	}
	return best
}

// exhaustive is the best output over all routes of one and two pools, and all splits.
func (w *world) exhaustive(g *Graph, q Question) uint64 {
	best := max(bestDirect(g, q), w.bestSplit(g.Between(q.In, q.Out), q))
	for _, middle := range g.Neighbours(q.In) {
		if middle == q.Out {
			continue
		}
		for _, first := range g.Between(q.In, middle) {
			quote, err := first.Quote(q.order(&first, q.In, q.Amount, false))
			if err != nil {
				continue
			}
			handed := less(quote.AmountOut, q.Slack)
			for _, second := range g.Between(middle, q.Out) {
				last, err := second.Quote(q.order(&second, middle, handed, false))
				if err == nil && (middle != q.Native || quote.Native == last.Native) {
					// The middle is SOL wrapped for both, or for none.
					best = max(best, last.AmountOut)
				}
			}
		}
	}
	return best
}

// bestSplit tries each subset of up to four pools.
func (w *world) bestSplit(edges []Edge, q Question) uint64 {
	var best uint64
	for subset := 1; subset < 1<<len(edges); subset++ {
		var chosen []Edge
		for i := range edges {
			if subset>>i&1 == 1 {
				chosen = append(chosen, edges[i])
			}
		}
		if len(chosen) <= 4 {
			best = max(best, w.equalMargins(chosen, q))
		}
	}
	return best
}

// equalMargins gives every pool the share at which its margin is that of the others: with output
// h·R·g·x/(r+g·x), x is (√(g·h·R·r/λ)−r)/g at margin λ.
func (w *world) equalMargins(edges []Edge, q Question) uint64 {
	amount := float64(q.Amount)
	shares := make([]float64, len(edges))
	low, high := math.Log(1e-30), math.Log(1e30)
	for range 200 {
		margin, sum := math.Exp((low+high)/2), 0.0
		for i, e := range edges {
			pool := w.rates[e.Address()]
			in, out, left := pool.reserves[q.In], pool.reserves[q.Out], pool.in[q.In]
			shares[i] = max(0, (math.Sqrt(left*pool.out[q.In]*out*in/margin)-in)/left)
			sum += shares[i]
		}
		if sum > amount {
			low = math.Log(margin)
		} else {
			high = math.Log(margin)
		}
	}
	var total uint64
	left := q.Amount
	for i, e := range edges {
		x := min(uint64(shares[i]), left)
		if i == len(edges)-1 {
			x = left
		}
		left -= x
		if x == 0 {
			continue
		}
		quote, err := e.Quote(q.order(&e, q.In, x, false))
		if err != nil {
			return 0
		}
		total += quote.AmountOut
	}
	return total
}

// BenchmarkFind is a route out of 20,000 and 100,000 pools: a graph of the pairs with the hubs, as
// a quote makes it, and the search; ns/quote is one quote of a pool, as a measure of it.
func BenchmarkFind(b *testing.B) {
	for _, pools := range []int{20_000, 100_000} {
		w, tokens := market(b, pools, 7)
		all := graphOf(w.edges)
		random := rand.New(rand.NewPCG(5, 5))
		questions := make([]Question, 1000)
		for i := range questions {
			questions[i] = question(tokens[random.IntN(4)], tokens[4+random.IntN(len(tokens)-4)], 1_000_000_000)
		}
		b.Run(map[int]string{20_000: "20k", 100_000: "100k"}[pools], func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q := questions[i%len(questions)]
				var pairs []Pair
				add := func(a, b venue.Key) { pairs = append(pairs, Pair{[2]venue.Key{a, b}, slices.Clone(all.Between(a, b))}) }
				add(q.In, q.Out)
				for _, hub := range tokens[:4] {
					if hub != q.In && hub != q.Out {
						add(q.In, hub)
						add(hub, q.Out)
					}
				}
				_, _ = Find(nil, NewGraph(pairs), q)
			}
			b.StopTimer()
			began := time.Now()
			for range 10_000 {
				_, _ = w.edges[0].Quote(venue.Order{In: w.edges[0].Mints()[0], Amount: 1_000_000, Clock: clock})
			}
			b.ReportMetric(float64(time.Since(began).Nanoseconds())/10_000, "ns/quote")
		})
	}
}
