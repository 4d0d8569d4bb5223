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
	for _, rate := range []int{0, 1_000, o.rate} {
		if err := phase(ctx, o, b, n, corpus, size, rate); err != nil {
			return err
		}
	}
	return nil
}

func (n *node) print(when string) {
	now, highest := n.memory()
	fmt.Printf("  resident memory %s: %d MiB, at most so far %d MiB\n", when, now, highest)
}

// phase asks while updates come at a rate.
func phase(ctx context.Context, o *options, b *backends, n *node, corpus *registrytest.Corpus, size, rate int) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	updates := make(chan error, 1)
	go func() { updates <- update(ctx, b, corpus, size, rate) }()
	seen, err := startClient(ctx, o, n, size, rate)
	if err != nil {
		return err
	}
	stop()
	if err := <-updates; err != nil {
		return err
	}
	fmt.Printf("  %5d updates a second: lookup %v; search %v (one client, over HTTP, %d of each)\n", rate, seen.Lookups, seen.Searches, seen.Count)
	if rate > 0 {
		s, err := n.status()
		if err != nil {
			return err
		}
		if s.Freshness.P99 != nil {
			fmt.Printf("        from receipt to visible: p50 %d ms, p99 %d ms, of %d records\n", *s.Freshness.P50, *s.Freshness.P99, s.Freshness.Count)
		}
		n.print("after that")
	}
	return nil
}
