package router

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// joint is a pool that shares vaults with others.
type joint struct {
	venue.Pool
	vaults []venue.Key
}

// Joints implements venue.Joint.
func (j *joint) Joints() []venue.Key { return j.vaults }

// join makes a world's last pool share a vault.
func (w *world) join(name string) {
	e := &w.edges[len(w.edges)-1]
	e.Pool = &joint{e.Pool, []venue.Key{swaptest.Named(name)}}
}

// TestPoolsThatShareAVaultAreNotOnOneRoute: a pool that shares nothing takes the place of the
// second one. Without one there is no route.
func TestPoolsThatShareAVaultAreNotOnOneRoute(t *testing.T) {
	for _, exactOut := range []bool{false, true} {
		w := newWorld(t)
		first := w.pool("first", usdc, sol, 1e12, 1e12, 2500)
		w.join("vault of SOL")
		w.pool("second", sol, coin, 1e12, 1e12, 2500)
		w.join("vault of SOL")
		q := question(usdc, coin, 1_000_000)
		q.ExactOut = exactOut
		_, err := Find(nil, graphOf(w.edges), q)
		require.ErrorIs(t, err, venue.ErrUnverified)
		require.ErrorContains(t, err, "share a vault")

		shallow := w.pool("shallow", sol, coin, 1e10, 1e10, 2500)
		answer, err := Find(nil, graphOf(w.edges), q)
		require.NoError(t, err)
		legs := answer.Plans[0].Legs()
		require.Equal(t, []venue.Key{first, shallow}, []venue.Key{legs[0].Address(), legs[1].Address()})
	}
}

// TestASplitIsOverPoolsThatShareNothing: of two that share a vault, the better one takes part.
func TestASplitIsOverPoolsThatShareNothing(t *testing.T) {
	for _, exactOut := range []bool{false, true} {
		w := newWorld(t)
		better := w.pool("better", coin, sol, 1e12, 1e12, 2500)
		w.join("vault")
		w.pool("other", coin, sol, 1e12, 1e12, 3000)
		w.join("vault")
		third := w.pool("third", coin, sol, 1e11, 1e11, 2500)
		q := question(coin, sol, 1e11)
		q.ExactOut = exactOut
		answer, err := Find(nil, graphOf(w.edges), q)
		require.NoError(t, err)
		legs := answer.Plans[0].Legs()
		require.Len(t, legs, 2)
		require.ElementsMatch(t, []venue.Key{better, third}, []venue.Key{legs[0].Address(), legs[1].Address()})
	}
}

// TestNoPlanHasTwoPoolsThatShareAVault, whatever the market is.
func TestNoPlanHasTwoPoolsThatShareAVault(t *testing.T) {
	plans, longer := 0, 0
	for seed := range uint64(4) {
		w, tokens := market(t, 150, seed)
		random := rand.New(rand.NewPCG(seed, 2))
		for i := range w.edges {
			if e := &w.edges[i]; random.IntN(3) > 0 {
				e.Pool = &joint{e.Pool, []venue.Key{swaptest.Named(fmt.Sprint("vault ", random.IntN(12)))}}
			}
		}
		graph := graphOf(w.edges)
		for range 40 {
			q := question(tokens[random.IntN(len(tokens))], tokens[random.IntN(len(tokens))], 1<<(20+random.IntN(16)))
			q.ExactOut = random.IntN(3) == 0
			if q.In == q.Out {
				continue
			}
			answer, err := Find(nil, graph, q)
			if err != nil {
				continue
			}
			for i := range answer.Plans {
				legs := answer.Plans[i].Legs()
				plans++
				if len(legs) > 1 {
					longer++
				}
				for j, leg := range legs {
					for _, other := range legs[:j] {
						require.True(t, venue.Apart(leg.Pool, venue.JointsOf(other.Pool)))
					}
				}
			}
		}
	}
	t.Logf("%d plans, %d of several pools", plans, longer)
	require.Greater(t, longer, 50)
}
