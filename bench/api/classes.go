package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/bench/report"
)

// clients is how many goroutines ask at the same time when throughput is measured: one for each
// core.
var clients = runtime.NumCPU()

// measured has the results of one class of queries.
type measured struct {
	answers    []answer
	throughput float64
	worked     []time.Duration // processor time of each query, see clock
}

// measureAll measures each class of queries and prints a line for it: latencies, when each query is
// asked once, one after another, then the throughput, when all clients ask them again. want has the
// results of the engine that e is compared with; nil compares with nothing.
//
// An engine that caches answers (forgetter) is asked with an empty cache. A second line then shows
// the figures with the answers cached.
func measureAll(ctx context.Context, e engine, classes []class, want map[string]measured, o *options) map[string]measured {
	found := map[string]measured{}
	fmt.Printf("%-12s %-22s %9s %9s %9s %9s %12s  %s\n", "", "", "p50 ms", "p99 ms", "max ms", "queries", "queries/s", "same answers")
	for i := range classes {
		queries, repeat := classes[i].queries, 1
		if len(queries) == 1 {
			repeat = o.queries
		}
		first(ctx, e, classes[i].others, 1, 1, o.budget/4) // warms up
		m, times := first(ctx, e, queries, repeat, o.best, o.budget)
		cache, caches := e.(forgetter)
		if caches && repeat == 1 {
			cache.forget()
		}
		m.throughput = throughput(ctx, e, queries[:max(1, min(len(queries), len(times)))], o.budget/2)
		found[classes[i].name] = m
		if caches {
			printSlowest(queries, m.worked, o.slowest)
		}
		slices.Sort(times)
		line := fmt.Sprintf("%-12s %-22s %9.3f %9.3f %9.3f %9d %12.1f", e.name(), classes[i].name,
			millis(times, 0.5), millis(times, 0.99), millis(times, 1), len(times), m.throughput)
		slices.Sort(m.worked)
		ours, compared := want[classes[i].name]
		o.figure(e, classes[i].name, m, millis(times, 0.99), ours.throughput)
		if caches { // Mintlake, which runs in this process: clock has its time
			line += fmt.Sprintf("  processor time: p50 %.3f ms, p99 %.3f ms", millis(m.worked, 0.5), millis(m.worked, 0.99))
		}
		if compared {
			line += fmt.Sprintf("  %s; mintlake answers %.0f times as many", compare(queries, ours.answers, m.answers), ours.throughput/m.throughput)
		}
		fmt.Println(strings.TrimRight(line, " "))
		if caches && repeat == 1 {
			_, times = first(ctx, e, queries, 1, 1, o.budget)
			slices.Sort(times)
			fmt.Printf("%-12s %-22s %9.3f %9.3f %9.3f %9d %12.1f\n", "", "  asked before", millis(times, 0.5), millis(times, 0.99), millis(times, 1), len(times),
				throughput(ctx, e, queries, o.budget/2))
		}
	}
	fmt.Println()
	return found
}

// figure reports a class of queries: Mintlake's throughput and p99, or a peer's throughput beside
// Mintlake's. ours is Mintlake's throughput if m is a peer's, else 0.
func (o *options) figure(e engine, class string, m measured, p99, ours float64) {
	if ours == 0 {
		o.report.Add(report.Figure{Name: class, Value: m.throughput, Unit: "queries/s", Note: fmt.Sprintf("p99 %.3f ms", p99)})
		return
	}
	o.report.Add(report.Figure{
		Name: class, Value: ours, Unit: "queries/s", Peer: e.name(), PeerValue: m.throughput, Note: fmt.Sprintf("the peer's p99 %.3f ms", p99),
	})
}

// printSlowest prints the queries that took the most processor time.
func printSlowest(queries []query, worked []time.Duration, count int) {
	order := make([]int, min(len(queries), len(worked)))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(worked[b], worked[a]) })
	for _, i := range order[:min(count, len(order))] {
		fmt.Printf("  %7.3f ms  %q\n", worked[i].Seconds()*1000, queries[i].text)
	}
}

// compare returns a note: how many answers are equal, and the first query whose answers differ. The
// tests of package search have an oracle that decides which answer is right.
func compare(queries []query, want, got []answer) string {
	same, other := 0, ""
	for i := range got {
		switch {
		case i < len(want) && got[i].equal(want[i]):
			same++
		case other == "":
			other = fmt.Sprintf(", not %q", queries[i].text)
		}
	}
	return fmt.Sprintf("%d of %d%s", same, len(got), other)
}

// first asks each query, repeat times, until budget is used up. Each time it asks best times and
// keeps the shortest. If best is above 1, an engine that caches answers forgets them before each of
// these, so that each is as slow as the first.
func first(ctx context.Context, e engine, queries []query, repeat, best int, budget time.Duration) (m measured, times []time.Duration) {
	deadline := time.Now().Add(budget)
	for range repeat {
		for i := range queries {
			var got answer
			took, worked := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for range best {
				if f, ok := e.(forgetter); ok && best > 1 && repeat == 1 {
					f.forget()
				}
				started, before := time.Now(), clock()
				var err error
				if got, err = e.search(ctx, &queries[i]); err != nil {
					fmt.Fprintf(os.Stderr, "%s: %q: %v\n", e.name(), queries[i].text, err)
					return m, times
				}
				took, worked = min(took, time.Since(started)), min(worked, clock()-before)
			}
			times = append(times, took)
			m.worked = append(m.worked, worked)
			if len(m.answers) < len(queries) {
				m.answers = append(m.answers, got)
			}
			if time.Now().After(deadline) {
				return m, times
			}
		}
	}
	return m, times
}

// throughput returns the answers a second. All clients ask until budget is used up or each query
// was asked once; a single query is asked again and again for up to two seconds.
func throughput(ctx context.Context, e engine, queries []query, budget time.Duration) float64 {
	var next atomic.Int64
	var done atomic.Int64
	all := int64(len(queries))
	if all == 1 {
		all = 1 << 62
		budget = min(budget, 2*time.Second)
	}
	started := time.Now()
	deadline := started.Add(budget)
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for time.Now().Before(deadline) {
				i := next.Add(1) - 1
				if i >= all {
					return
				}
				if _, err := e.search(ctx, &queries[i%int64(len(queries))]); err != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	return float64(done.Load()) / time.Since(started).Seconds()
}

// forgetter is an engine that caches answers. forget empties the cache.
type forgetter interface{ forget() }

// millis returns a quantile of sorted times in milliseconds: share is 0.5 for the median.
func millis(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(share*float64(len(sorted))))].Seconds() * 1000
}

// heap returns the live heap in MiB.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc >> 20
}

// resident returns the process's resident memory in MiB; 0 on systems without /proc.
func resident() int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	pages, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return pages * os.Getpagesize() >> 20
}
