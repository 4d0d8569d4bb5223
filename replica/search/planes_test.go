package search

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanesCount(t *testing.T) {
	random := rand.New(rand.NewPCG(13, 14))
	for count := range maxPlaned + 1 {
		lists := make([]list, count)
		for i := range lists {
			lists[i].set = []uint64{0, random.Uint64() | random.Uint64()}
		}
		got := addPlanes(lists, 1)
		for bit := range 64 {
			want, have := 0, 0
			for i := range lists {
				want += int(lists[i].set[1] >> bit & 1)
			}
			for i := range got {
				have += int(got[i]>>bit&1) << i
			}
			require.Equal(t, want, have)
			for need := 1; need <= maxPlaned; need++ {
				require.Equal(t, want >= need, atLeast(&got, need)>>bit&1 != 0, "%d of %d", want, need)
			}
		}
	}
}
