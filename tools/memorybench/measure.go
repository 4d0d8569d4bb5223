package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
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
	begin := time.Now()
	random := rand.New(rand.NewPCG(1, uint64(rate))) //nolint:gosec // a measurement's
	var lookups, searches []time.Duration
	for time.Since(begin) < o.phase {
		token := corpus.Token(random.IntN(size))
		took, err := ask(n.url + "/tokens/" + token.Mint)
		if err != nil {
			return err
		}
		lookups = append(lookups, took)
		query := token.Symbol
		switch random.IntN(4) {
		case 0:
			query = ""
		case 1:
			query = token.Name[:len(token.Name)/2]
		}
		if took, err = ask(n.url + "/tokens?limit=20&q=" + url.QueryEscape(query)); err != nil {
			return err
		}
		searches = append(searches, took)
	}
	stop()
	if err := <-updates; err != nil {
		return err
	}
	fmt.Printf("  %5d updates a second: lookup p50 %v p99 %v; search p50 %v p99 %v (one client, over HTTP, %d of each)\n", rate,
		quantile(lookups, .5), quantile(lookups, .99), quantile(searches, .5), quantile(searches, .99), len(lookups))
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

func ask(address string) (time.Duration, error) {
	begin := time.Now()
	response, err := http.Get(address) //nolint:noctx,gosec // on loopback, and short
	if err != nil {
		return 0, fmt.Errorf("ask: %w", err)
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests {
		return 0, fmt.Errorf("ask %s: %s", address, response.Status)
	}
	return time.Since(begin), err //nolint:wrapcheck // never
}

func quantile(list []time.Duration, q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)].Round(time.Microsecond)
}
