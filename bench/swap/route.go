package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/state"
)

const (
	// routedPools is how many pools there are to choose from.
	routedPools = 100_000
	// asked is how many routes are looked for, each time.
	asked = 20_000
	// updatesPerSecond are the account updates that arrive meanwhile, slotTime apart.
	updatesPerSecond = 5000
	slotTime         = 400 * time.Millisecond

	mostQuotes = 5000.0 // of a constant product, that a route may cost
	mostTail   = 5.0    // times the median, at the 99th percentile
	mostSlowed = 2.0    // times what a route costs while the state stands still
)

// routes measures what a route costs over many pools: the state of its pairs, the graph, and the
// search.
func routes(r *report.Report) error {
	quote, err := constantProduct()
	if err != nil {
		return err
	}
	var quotes []float64
	for range rounds {
		quotes = append(quotes, timed(quote))
	}
	one := median(quotes)
	c, err := realistic(routedPools, venues)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(18, 2))
	if _, err := c.ask(random, asked/10); err != nil { // decodes most of the hubs' pools
		return err
	}
	still, err := c.ask(random, asked)
	if err != nil {
		return err
	}
	moving, rate, err := c.askMoving(random)
	if err != nil {
		return err
	}
	moved := moving.wall
	p50 := median(moved)
	r.Add(report.Figure{
		Name: fmt.Sprintf("route over %d pools, p50", routedPools), Value: p50 / one, Unit: "quotes", Goal: fmt.Sprintf("<= %.0f", mostQuotes), Met: p50 <= mostQuotes*one,
		Note: fmt.Sprintf("%.0f µs, while %.0f account updates a second arrive; a quote takes %.0f ns", p50/1000, rate, one),
	})
	p99 := quantile(moved, 0.99)
	r.Add(report.Figure{Name: "p99 of it", Value: p99 / 1000, Unit: "µs", Peer: "p50", PeerValue: p50 / 1000, Goal: fmt.Sprintf("ratio <= %.0f", mostTail), Met: p99 <= mostTail*p50})
	r.Add(report.Figure{
		Name: "p99 of its processor time", Value: quantile(moving.processor, 0.99) / 1000, Unit: "µs", Peer: "p50", PeerValue: median(moving.processor) / 1000,
		Note: "without the time that other processes have the processor",
	})
	r.Add(report.Figure{Name: "p50 with updates", Value: p50 / 1000, Unit: "µs", Peer: "without", PeerValue: median(still.wall) / 1000, Goal: fmt.Sprintf("ratio <= %.0f", mostSlowed), Met: p50 <= mostSlowed*median(still.wall)})
	r.Add(report.Figure{Name: "p99 with updates", Value: p99 / 1000, Unit: "µs", Peer: "without", PeerValue: quantile(still.wall, 0.99) / 1000})
	return nil
}

// times are nanoseconds of calls: those that passed, and those that the processor worked for the
// calling thread.
type times struct{ wall, processor []float64 }

// threadTime returns how long the processor worked for this thread, in nanoseconds.
func threadTime() float64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // never fails with this clock
	return float64(t.Nano())
}

// askMoving is ask while updates arrive.
func (c *chain) askMoving(random *rand.Rand) (taken times, rate float64, err error) {
	over, done := make(chan struct{}), make(chan struct{})
	var updates atomic.Int64
	began := time.Now()
	go func() {
		defer close(done)
		writer := rand.New(rand.NewPCG(18, 3))
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		next := began.Add(slotTime)
		for {
			select {
			case <-over:
				return
			case now := <-tick.C:
				for due := int64(now.Sub(began).Seconds() * updatesPerSecond); updates.Load() < due; updates.Add(3) {
					c.trade(c.pools[writer.IntN(len(c.pools))], writer)
				}
				if now.After(next) {
					next = next.Add(slotTime)
					c.seal()
				}
				if c.fold.Pending() {
					c.fold.Publish()
				}
			}
		}
	}()
	taken, err = c.ask(random, asked)
	rate = float64(updates.Load()) / time.Since(began).Seconds()
	close(over)
	<-done
	return taken, rate, err
}

// ask looks for routes between random tokens.
func (c *chain) ask(random *rand.Rand, count int) (taken times, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range count {
		a, b := c.tokens[random.IntN(len(c.tokens))], mint.WrappedSOL
		if random.IntN(2) == 0 {
			b = c.tokens[random.IntN(len(c.tokens))]
		}
		if random.IntN(2) == 0 {
			a, b = b, a
		}
		if a == b {
			continue
		}
		amount := uint64(math.Exp(random.Float64()*12) * 1e4)
		began, worked := time.Now(), threadTime()
		if err := route(c.fold.Snapshot(), a, b, amount); err != nil {
			return times{}, err
		}
		taken.processor = append(taken.processor, threadTime()-worked)
		taken.wall = append(taken.wall, float64(time.Since(began).Nanoseconds()))
	}
	return taken, nil
}

// route does what the swap API does for a quote without its transaction: it takes the state of the
// pair and of both mints with the hubs, and looks for a route. No route is no error.
func route(snapshot *state.Snapshot, a, b pubkey.Key, amount uint64) error {
	pairs := []router.Pair{{Mints: [2]pubkey.Key{a, b}}}
	for _, hub := range []pubkey.Key{mint.WrappedSOL, usdc} {
		if hub != a && hub != b {
			pairs = append(pairs, router.Pair{Mints: [2]pubkey.Key{a, hub}}, router.Pair{Mints: [2]pubkey.Key{hub, b}})
		}
	}
	for i := range pairs {
		pair := &pairs[i]
		found, err := snapshot.Pair(pair.Mints[0], pair.Mints[1])
		if errors.Is(err, market.ErrNotHeld) {
			continue // two tokens that nobody asked for have no pool here
		}
		if err != nil {
			return err
		}
		for _, p := range found.Pools {
			pair.Edges = append(pair.Edges, router.Edge{Pool: p.Pool, Venue: p.Venue, Slot: p.Slot, Clock: p.Clock})
		}
	}
	began := time.Now()
	over := func() bool { return time.Since(began) > 50*time.Millisecond }
	_, _ = router.Find(over, router.NewGraph(pairs), router.Question{In: a, Out: b, Amount: amount, Slack: 25, UnitPrice: 10_000, Rent: 2_039_280, Native: mint.WrappedSOL})
	return nil
}
