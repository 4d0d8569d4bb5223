package main

import (
	"fmt"
	"runtime"

	"github.com/mintlake/mintlake/bench/report"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/mint"
)

// heldPools is how many pools of a venue are held to see what one takes.
const heldPools = 20_000

// memory measures what a held pool takes: its accounts, its mint, the pair that was asked for, and
// the decoded state after a quote.
func memory(r *report.Report) error {
	product, err := cpmmTemplate()
	if err != nil {
		return err
	}
	pump, err := pumpTemplate()
	if err != nil {
		return err
	}
	damm, err := dammTemplate()
	if err != nil {
		return err
	}
	for _, t := range []*template{product, ammTemplate(), pump, damm} {
		start := heap()
		c := hold(tokens(t, heldPools), []pubkey.Key{mint.WrappedSOL}, venues)
		c.pools = nil
		pool, err := c.bytes(start)
		if err != nil {
			return err
		}
		r.Add(report.Figure{Name: "memory of a " + t.venue.Name() + " pool", Value: pool.quoted, Unit: "bytes", Note: fmt.Sprintf("%.0f before its first quote", pool.held)})
	}
	return nil
}

// poolBytes is the memory of one pool.
type poolBytes struct{ held, quoted float64 }

// bytes returns what each of the pools takes, where start is the heap without them.
func (c *chain) bytes(start int64) (b poolBytes, err error) {
	b.held = float64(heap()-start) / heldPools
	snapshot := c.fold.Snapshot()
	for i := range heldPools {
		if _, err := snapshot.Pair(token(i), mint.WrappedSOL); err != nil {
			return b, fmt.Errorf("pool %d: %w", i, err)
		}
	}
	b.quoted = float64(heap()-start) / heldPools
	runtime.KeepAlive(c)
	return b, nil
}

func token(i int) pubkey.Key { return swaptest.Named(fmt.Sprint("token ", i)) }

// tokens makes pools of a venue, each of another token with SOL.
func tokens(t *template, count int) []*pool {
	pools := make([]*pool, count)
	for i := range pools {
		pools[i] = t.pool(fmt.Sprint("pool ", i), [2]pubkey.Key{token(i), mint.WrappedSOL}, [2]uint64{1e12, 1e12})
	}
	return pools
}

// heap returns the bytes in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
