package replica_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestHolders: counts of more tokens than a page holds, set in any parts and again.
func TestHolders(t *testing.T) {
	const tokens = 600
	log := apitest.NewLog()
	for i := range tokens {
		log.Token(i+1, 10, "T", "Token", time.Now())
	}
	minted := apitest.Event(apitest.Mint(1), 12)
	minted.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 1000}}
	log.Message(schemas.TopicTokenEvents, apitest.Address(apitest.Mint(1)), minted, time.Now())
	n := start(t, t.Context(), log, nil)
	defer n.stop()
	n.awaitReady(t)
	mint := func(i int) pubkey.Key { return pubkey.Key(apitest.Mint(i)) }
	of := func(i int) (replica.Holders, bool) {
		id, member := n.ID(mint(i))
		require.True(t, member)
		count, known := n.HolderCount(id)
		holders, same := n.Holders(id)
		require.Equal(t, known, same)
		require.InDelta(t, float64(holders.Count), count, 0)
		return holders, known
	}
	_, known := of(1)
	require.False(t, known)
	want, random := map[int]uint64{}, rand.New(rand.NewPCG(7, 7))
	for range 5 {
		var list []replica.HolderCount
		for range 200 {
			i := 1 + random.IntN(tokens-1)
			want[i] = random.Uint64N(1 << 33)
			list = append(list, replica.HolderCount{Mint: mint(i), Holders: want[i]})
		}
		n.SetHolders(append(list, replica.HolderCount{Mint: mint(9999), Holders: 1}))
	}
	for i := 1; i <= tokens; i++ {
		holders, known := of(i)
		count, counted := want[i]
		require.Equal(t, counted, known, i)
		require.Equal(t, min(count, 1<<32-2), holders.Count, i)
		require.Nil(t, holders.Change)
		if i > 1 {
			require.Nil(t, holders.Top10Pct, "it has no supply")
		}
	}
	n.SetHolders([]replica.HolderCount{{Mint: mint(1), Holders: 0, Top10: 123, Balance: 5}, {Mint: mint(2), Top10: 1, Balance: 4}})
	one, known := of(1)
	require.True(t, known)
	require.InDelta(t, 12.3, *one.Top10Pct, 0, "of the supply, which is 1,000")

	ten, cut := uint64(10), time.Unix(1_700_000_010, 0) // when the tokens were made
	n.SetHolderChanges([]replica.HolderChange{{Mint: mint(1), Before: &ten, Cut: cut}, {Mint: mint(2), Cut: cut}, {Mint: mint(3), Cut: cut.Add(time.Second)}, {Mint: mint(9999)}})
	n.SetHolders([]replica.HolderCount{{Mint: mint(1), Holders: 7}, {Mint: mint(2), Holders: 7}, {Mint: mint(3), Holders: 7}, {Mint: mint(4), Holders: 7}})
	for i, want := range map[int]*int64{1: number(-3), 2: number(7), 3: nil, 4: number(0)} {
		holders, _ := of(i)
		require.Equal(t, want, holders.Change, i)
	}
	n.SetHolderChanges(nil)
	one, _ = of(1)
	require.Zero(t, *one.Change)
}

func number(n int64) *int64 { return &n }
