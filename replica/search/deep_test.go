package search

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDeepPagesEqualScan asks for pages anywhere, where a search keeps few documents.
func TestDeepPagesEqualScan(t *testing.T) {
	random := rand.New(rand.NewPCG(25, 26))
	const tokens = 5_000
	all := corpus(tokens)
	scan, index := NewScan(), NewInverted()
	scan.Fill(all)
	index.Fill(all)
	index.Filled()
	for range 400 {
		// With and without a helper.
		index.mostKept, index.manyTokens = 1+random.IntN(200), random.IntN(2)*tokens*2
		q := Query{
			Text: []string{"", "pepe", "p", "peep", "official trump", named("00000000000000000000000000000042").String()}[random.IntN(6)], IncludeToken22: random.IntN(4) > 0,
			Sort: []Sort{SortRelevance, SortVolume, SortNewest, SortOldest, SortFigure, SortMint}[random.IntN(6)], Figure: figureOf,
			Offset: random.IntN(tokens + 100), Limit: random.IntN(300),
		}
		switch random.IntN(4) {
		case 0:
			q.Filter.Passes = func(id uint32) bool { return id%3 != 1 }
		case 1:
			q.Offset = random.IntN(400)
		}
		require.Equal(t, scan.Search(q), index.Search(q), "%+v", q)
	}
}

// TestADeepPageTakesLittleMemory: not more for the last pages than for others.
func TestADeepPageTakesLittleMemory(t *testing.T) {
	const tokens = 60_000
	index := NewInverted()
	index.Fill(corpus(tokens))
	index.Filled()
	index.mostKept = 2_000
	for _, text := range []string{"", "e"} {
		for _, sort := range []Sort{SortRelevance, SortVolume} {
			query := Query{Text: text, IncludeToken22: true, Sort: sort, Limit: 200}
			query.Offset = index.Search(query).Total - 300
			require.Greater(t, query.Offset, 10*index.mostKept)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			require.Len(t, index.Search(query).Hits, 200)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20), "%q %d", text, sort)
		}
	}
}
