package replica

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

func TestFreshnessQuantiles(t *testing.T) {
	epoch := time.Unix(1_000, 0)
	f := newFreshness(epoch)
	for ms := range 1_000 {
		f.observe(epoch, time.Duration(ms+1)*time.Millisecond)
	}
	s := f.summary(epoch.Add(time.Minute))
	require.EqualValues(t, 1_000, s.Count)
	require.InEpsilon(t, 500, *s.P50, 0.02)
	require.InEpsilon(t, 990, *s.P99, 0.02)
	require.Zero(t, f.summary(epoch.Add(6*time.Minute)).Count, "older ones fall out")
	f.observe(epoch.Add(10*time.Minute), 7*time.Millisecond)
	s = f.summary(epoch.Add(10 * time.Minute))
	require.EqualValues(t, 1, s.Count)
	require.EqualValues(t, 7, *s.P50)
}

func TestFreshnessCells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(0, 1<<31-1).Draw(t, "ms")
		cell := cellOf(ms)
		require.Less(t, cell, freshnessCells)
		require.LessOrEqual(t, ms, upperEnd(cell))
		require.LessOrEqual(t, upperEnd(cell)-ms, ms/subBuckets)
		if cell > 0 {
			require.Less(t, upperEnd(cell-1), ms)
		}
	})
}
