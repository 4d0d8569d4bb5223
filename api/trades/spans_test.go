package trades

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAFewQueriesReadWhatHasNoTrades: a page of two trades looks for them in a day that no
// valuation has seen.
func TestAFewQueriesReadWhatHasNoTrades(t *testing.T) {
	day := time.Unix(1_750_000_000, 0).Truncate(24 * time.Hour)
	var hours []hour
	for i := range 24 {
		hours = append(hours, hour{start: day.Add(time.Duration(23-i) * time.Hour)})
	}
	want := wanted(2, false)
	spans := spansOf(hours, want)
	end, queries := day.Add(24*time.Hour), 0
	for len(spans) > 0 {
		batch := nextBatch(&spans, want)
		require.Equal(t, end, batch[0].to)
		require.Len(t, batch, 1, "neighbours are one")
		end, want = batch[0].from, min(4*want, mostRead)
		queries++
	}
	require.Equal(t, day, end)
	require.LessOrEqual(t, queries, 9)
}

// TestAQueryHasFewSpans: hours apart stay apart, and one query has only so many.
func TestAQueryHasFewSpans(t *testing.T) {
	var hours []hour
	for i := range 300 {
		hours = append(hours, hour{start: time.Unix(int64(1_750_003_200-7200*i), 0), trades: 1})
	}
	spans := spansOf(hours, mostRead)
	for _, size := range []int{mostSpans, mostSpans, mostSpans} {
		require.Len(t, nextBatch(&spans, mostRead), size)
	}
	require.Empty(t, spans)
}
