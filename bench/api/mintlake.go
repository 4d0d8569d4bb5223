package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/bench/report"

	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/replica/search"
)

// batchSize is how many tokens an index gets at once while it loads, as in an API node.
const batchSize = 50_000

type mintlake struct{ index *search.Inverted }

func newMintlake() *mintlake { return &mintlake{search.NewInverted()} }

func (m *mintlake) name() string    { return "mintlake" }
func (m *mintlake) notes() []string { return nil }
func (m *mintlake) close()          {}

func (m *mintlake) load(ctx context.Context, c *registrytest.Corpus, tokens int) error {
	loadInto(ctx, m.index, c, tokens)
	m.index.Wait()
	return ctx.Err()
}

func loadInto(ctx context.Context, index *search.Inverted, c *registrytest.Corpus, tokens int) {
	changes := make([]search.Document, 0, batchSize)
	for token := range c.Tokens(tokens) {
		changes = append(changes, search.Document{ID: uint32(token.Index), Mint: token.Mint, Token: token.Registry()})
		if len(changes) == batchSize {
			index.Fill(changes)
			changes = changes[:0]
		}
		if ctx.Err() != nil {
			return
		}
	}
	index.Fill(changes)
	index.Filled()
}

func (m *mintlake) search(_ context.Context, q *query) (answer, error) {
	return answerOf(m.index.Search(search.Query{Text: q.text, IncludeToken22: true, Limit: pageSize})), nil
}

func answerOf(result search.Result) answer {
	a := answer{total: result.Total, ids: make([]int, 0, len(result.Hits))}
	for _, hit := range result.Hits {
		a.ids = append(a.ids, int(hit.ID))
	}
	return a
}

// forget empties the cache of answers, so that the next search for each text is computed.
func (m *mintlake) forget() { m.index.Forget() }

// measureUpdates measures all classes without updates, and then again while 5,000 tokens change
// each second, in batches of 100. Each gets another volume, and half of them another name.
func (m *mintlake) measureUpdates(ctx context.Context, c *registrytest.Corpus, classes []class, o *options) error {
	measureAll(ctx, m, classes, nil, o)
	deadline := time.Now().Add(o.updates)
	var applied atomic.Int64
	var slowest time.Duration
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		random := rand.New(rand.NewPCG(o.seed, 5)) //nolint:gosec // chance that is the same each time
		ticker := time.NewTicker(20 * time.Millisecond)
		defer ticker.Stop()
		for time.Now().Before(deadline) {
			<-ticker.C
			changes := make([]search.Document, 0, 100)
			for range 100 {
				token := c.Token(random.IntN(o.tokens))
				row := token.Registry()
				volume := random.ExpFloat64() * 1000
				row.DailyVolumeUSD = &volume
				if random.IntN(2) == 0 {
					row.Name = c.Token(random.IntN(o.tokens)).Name
				}
				changes = append(changes, search.Document{ID: uint32(token.Index), Mint: token.Mint, Token: row})
			}
			started := time.Now()
			m.index.Apply(changes)
			slowest = max(slowest, time.Since(started))
			applied.Add(100)
		}
	}()
	started := time.Now()
	for i := range classes {
		var times, worked []time.Duration
		for classEnd := time.Now().Add(o.updates / time.Duration(len(classes))); time.Now().Before(classEnd); {
			m, round := first(ctx, m, classes[i].queries, 1, 1, time.Until(classEnd))
			times, worked = append(times, round...), append(worked, m.worked...)
		}
		slices.Sort(times)
		slices.Sort(worked)
		fmt.Printf("with updates %-22s %9.3f %9.3f %9.3f %9d  processor time: p50 %.3f ms, p99 %.3f ms\n", classes[i].name,
			millis(times, 0.5), millis(times, 0.99), millis(times, 1), len(times), millis(worked, 0.5), millis(worked, 0.99))
		o.report.Add(report.Figure{
			Name: classes[i].name + ", p99 with updates", Value: millis(times, 0.99), Unit: "ms", Note: fmt.Sprintf("p99 of processor time %.3f ms", millis(worked, 0.99)),
		})
	}
	<-stopped
	fmt.Printf("%.0f changes a second, the slowest batch took %.1f ms, heap %d MiB, resident %d MiB\n",
		float64(applied.Load())/time.Since(started).Seconds(), slowest.Seconds()*1000, heap(), resident())
	return nil
}
