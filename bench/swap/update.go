package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/state"
)

const (
	// followedPools are held while updates arrive.
	followedPools = 20_000
	// mostLate is how many times the median the 99th percentile may be.
	mostLate = 5.0
	// slots are those that are measured, fastSlot apart.
	slots    = 400
	fastSlot = 100 * time.Millisecond
)

// updates measures how soon a trade is quotable: from the end of its block, as the server sends it,
// until a question for its pair is answered with the pool as the trade left it.
func updates(r *report.Report) error {
	c, err := realistic(followedPools, venues)
	if err != nil {
		return err
	}
	n, f, end, err := follow(c)
	if err != nil {
		return err
	}
	defer end()
	type traded struct {
		slot uint64
		pool *pool
		at   time.Time
	}
	sealed, over := make(chan traded, 4), make(chan struct{})
	go n.keepGoing(c, fastSlot, over, func(slot uint64, p *pool) {
		select {
		case sealed <- traded{slot, p, time.Now()}:
		default:
		}
	})
	defer close(over)
	var times []float64
	for len(times) < slots {
		next := <-sealed
		if err := quotable(f, next.pool, next.slot); err != nil {
			return err
		}
		if next.slot > 20 { // before, it catches up
			times = append(times, float64(time.Since(next.at).Microseconds())/1000)
		}
	}
	p50, p99 := median(times), quantile(times, 0.99)
	r.Add(report.Figure{
		Name: "update quotable, p99", Value: p99, Unit: "ms", Peer: "p50", PeerValue: p50, Goal: fmt.Sprintf("ratio <= %.0f", mostLate), Met: p99 <= mostLate*p50,
		Note: fmt.Sprintf("%d updates a second in slots of %s, %d pools", updatesPerSecond, fastSlot, followedPools),
	})
	return nil
}

// patience is how long a trade may take until it is quotable.
const patience = 10 * time.Second

// quotable waits until a pair is answered with the pool as a trade of a slot left it.
func quotable(f *state.Feed, traded *pool, slot uint64) error {
	late := time.After(patience)
	for {
		changed := f.Changed()
		found, err := f.Pair(traded.mints[0], traded.mints[1])
		if err == nil && slices.ContainsFunc(found.Pools, func(p market.Pool) bool { return p.Address() == traded.accounts[0].key && p.Slot >= slot }) {
			return nil
		}
		select {
		case <-changed:
		case <-late:
			return fmt.Errorf("a trade of slot %d is not quotable: the state is at %d: %w", slot, f.Slot(), cmp.Or(err, errNotThere))
		}
	}
}

var errNotThere = errors.New("the pool is as it was before")

// follow starts a feed that goes on from a checkpoint of the chain.
func follow(c *chain) (n *node, f *state.Feed, end func(), err error) {
	if n, err = startNode(c.fold.Head()); err != nil {
		return nil, nil, nil, err
	}
	name, err := c.save()
	if err != nil {
		return nil, nil, nil, err
	}
	f, err = state.New(state.Config{Endpoint: n.endpoint, File: name, Fold: bounds}, state.Deps{RPC: n, Venues: venues})
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	return n, f, func() {
		cancel()
		<-done
		n.stop()
		_ = os.Remove(name)
	}, nil
}
