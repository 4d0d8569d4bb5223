package search

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSlicedCount: bitmaps and single terms are counted as one would.
func TestSlicedCount(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for count := range maxSliced + 1 {
		lists := make([]postingList, count)
		want := [64]int{}
		singles := []uint64{}
		for i := range lists {
			set := random.Uint64() | random.Uint64()
			for bit := range want {
				want[bit] += int(set >> bit & 1)
			}
			if i%3 == 0 { // a list without a bitmap
				singles = append(singles, set)
			} else {
				lists[i].bitmap = []uint64{0, set}
			}
		}
		got := sumBitmaps(lists, 1)
		for _, set := range singles {
			got.increment(set)
		}
		for bit := range want {
			require.EqualValues(t, want[bit], got.of(bit))
			for need := 1; need <= maxSliced; need++ {
				require.Equal(t, want[bit] >= need, got.atLeast(need)>>bit&1 != 0, "%d of %d", want[bit], need)
			}
		}
	}
}
