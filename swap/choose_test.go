package swap

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/router"
	"github.com/mintlake/mintlake/swap/venue"
)

// addressed is a pool of which only the address is asked.
type addressed struct {
	venue.Pool
	address venue.Key
}

func (a addressed) Address() venue.Key { return a.address }

// TestPoolsThatNoRouteNeedsAreLeftOut: those of a mint in the middle without a pool on the other
// side. SOL's stay, for its price, and all pools count for the age of the state.
func TestPoolsThatNoRouteNeedsAreLeftOut(t *testing.T) {
	const none, unread = 0, -1
	usdc, other := swaptest.Named("usdc"), swaptest.Named("other")
	for name, e := range map[string]struct {
		in, out, middle venue.Key
		// counts are the pools of the pair, and of both sides of the middle: as they are, and as
		// the graph has them.
		counts, want [3]int
	}{
		"both sides":      {coin, other, usdc, [3]int{1, 2, 3}, [3]int{1, 2, 3}},
		"no first side":   {coin, other, usdc, [3]int{1, none, 3}, [3]int{1, none, none}},
		"no second side":  {coin, other, usdc, [3]int{1, 2, none}, [3]int{1, none, none}},
		"a side unread":   {coin, other, usdc, [3]int{1, 2, unread}, [3]int{1, none, none}},
		"only the middle": {coin, other, usdc, [3]int{none, 2, 3}, [3]int{none, 2, 3}},
		"SOL is priced":   {coin, other, mint.WrappedSOL, [3]int{1, none, 3}, [3]int{1, none, 3}},
		"SOL is sold":     {mint.WrappedSOL, other, usdc, [3]int{1, 2, none}, [3]int{1, none, none}},
	} {
		pairs := []router.Pair{{Mints: [2]venue.Key{e.in, e.out}}, {Mints: [2]venue.Key{e.in, e.middle}}, {Mints: [2]venue.Key{e.middle, e.out}}}
		v := &view{snapshots: make([]*market.Snapshot, len(pairs)), pairs: pairs, middles: 1}
		newest := uint64(0)
		for i, count := range e.counts {
			if count == unread {
				continue
			}
			v.snapshots[i] = &market.Snapshot{Slot: 100}
			for n := range count {
				newest++
				pool := addressed{address: venue.Key{byte(i), byte(n)}}
				v.snapshots[i].Pools = append(v.snapshots[i].Pools, market.Pool{Pool: pool, Venue: "venue", Slot: newest})
			}
		}
		mints := [3][2]venue.Key{pairs[0].Mints, pairs[1].Mints, pairs[2].Mints}
		require.Equal(t, newest, v.merge(&request{}), name)
		for i, want := range e.want {
			require.Len(t, v.graph.Between(mints[i][0], mints[i][1]), want, "%s, pair %d", name, i)
		}
	}
}
