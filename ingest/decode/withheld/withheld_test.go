package withheld_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/ingest/decode/withheld"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// TestDivide: fees of one rate are found from their sum, and whatever is found has that sum.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOfN(rapid.Uint64Range(0, 1<<50), 1, 20).Draw(t, "amounts")
		rate := rapid.Uint64Range(0, 10_000).Draw(t, "rate")
		var short, large uint64
		for _, amount := range amounts {
			short += (amount*rate + 9_999) / 10_000
			large = max(large, amount)
		}
		fees, ok := withheld.Divide(short, amounts)
		// With amounts of dust the roundings are larger than the rates that are tried.
		require.True(t, ok || large < 10_000_000)
		var sum uint64
		for i, fee := range fees {
			require.LessOrEqual(t, fee, amounts[i])
			sum += fee
		}
		require.True(t, !ok || sum == short)
	})
	fees, ok := withheld.Divide(0, []uint64{0, 0})
	require.True(t, ok)
	require.Equal(t, []uint64{0, 0}, fees)
	for _, bad := range []struct {
		short   uint64
		amounts []uint64
	}{{1, nil}, {11, []uint64{10}}, {31, []uint64{10, 20}}, {1, []uint64{1 << 40, 1 << 40}}} {
		_, ok := withheld.Divide(bad.short, bad.amounts)
		require.False(t, ok, "%+v", bad)
	}
}
