package main

import (
	"context"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/registry/registrytest"
)

// measure starts a node over what is loaded and prints its figures.
func measure(ctx context.Context, o *options, b *backends, corpus *registrytest.Corpus, size int) error {
	begin := time.Now()
	n, err := startNode(ctx, o, b)
	if err != nil {
		return err
	}
	defer n.stop()
	if err := n.awaitReady(ctx); err != nil {
		return err
	}
	fmt.Printf("  ready in %.1f s, with %.1f s of the node's processor time\n", time.Since(begin).Seconds(), n.processorTime().Seconds())
	n.print("at that moment")
	for {
		s, err := n.status()
		if err != nil {
			return err
		}
		if s.Root.Hash != nil {
			fmt.Printf("  root known %.1f s after the start\n", time.Since(begin).Seconds())
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	for _, rates := range [][]int{{1_000}, {0, o.rate}} {
		if err := compare(ctx, o, b, n, corpus, size, rates); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) print(when string) {
	now, highest := n.memory()
	fmt.Printf("  resident memory %s: %d MiB, at most so far %d MiB\n", when, now, highest)
}

// rounds are in how many parts each rate is measured, in turn: a machine that others use, too, has
// good moments and bad ones, which no rate must have alone.
const rounds = 4

// compare asks while updates come at one rate, and at another.
func compare(ctx context.Context, o *options, b *backends, n *node, corpus *registrytest.Corpus, size int, rates []int) error {
	seen := make([]figures, len(rates))
	for range rounds {
		for i, rate := range rates {
			if err := seen[i].phase(ctx, o, b, n, corpus, size, rate); err != nil {
				return err
			}
		}
	}
	for i, rate := range rates {
		f := &seen[i]
		fmt.Printf("  %5d updates a second: lookup %v; search %v; batch of %d %v (one client, over HTTP, %d of each, and %d batches, %.2f of a core; %.1f %% of the machine went to others)\n",
			rate, f.Lookups.quantiles(), f.Searches.quantiles(), batchMints, f.Batches.quantiles(), len(f.Lookups), len(f.Batches), f.node.Seconds()/o.phase.Seconds(), f.machine.percent())
	}
	s, err := n.status()
	if err != nil {
		return err
	}
	if s.Freshness.P99 != nil {
		fmt.Printf("        from receipt to visible: p50 %d ms, p99 %d ms, of %d records of the last five minutes\n", *s.Freshness.P50, *s.Freshness.P99, s.Freshness.Count)
	}
	n.print("after that")
	return nil
}

// phase adds what a client sees in a round.
func (f *figures) phase(ctx context.Context, o *options, b *backends, n *node, corpus *registrytest.Corpus, size, rate int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	length := o.phase / rounds
	made, err := b.updates(length, corpus, size, rate)
	if err != nil {
		return err
	}
	before, began := n.processorTime(), machineTimeNow()
	written := make(chan error, 1)
	go func() { written <- b.write(ctx, made) }()
	seen, err := startClient(ctx, o, n, size, b.slot, length)
	if err != nil {
		return err
	}
	f.node += n.processorTime() - before
	f.machine.add(began, machineTimeNow())
	f.Lookups, f.Searches, f.Batches = append(f.Lookups, seen.Lookups...), append(f.Searches, seen.Searches...), append(f.Batches, seen.Batches...)
	stop()
	return <-written
}
