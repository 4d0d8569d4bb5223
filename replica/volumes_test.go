package replica_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestVolumes: figures come and go, for members and for mints that become one, and the index orders
// by what it was told to.
func TestVolumes(t *testing.T) {
	log := apitest.NewLog()
	a := pubkey.MustParse(log.Token(1, 10, "AAA", "The first", time.Now()))
	b := pubkey.MustParse(log.Token(2, 11, "BBB", "The second", time.Now()))
	n := start(t, t.Context(), log, nil)
	defer n.stop()
	n.awaitReady(t)
	usd := func(v float64) *float64 { return &v }
	top := func() (mints []pubkey.Key) {
		for _, hit := range n.Search(search.Query{IncludeToken22: true, Limit: 5}).Hits {
			mints = append(mints, n.Token(hit.ID).Mint)
		}
		return mints
	}
	late := pubkey.Key(apitest.Mint(3))
	n.SetVolumes([]replica.Volume{
		{Mint: a, DailyUSD: usd(5), RankUSD: usd(5)}, {Mint: b, DailyUSD: usd(7), RankUSD: usd(1), LastTradeAt: time.UnixMilli(4e12)},
		{Mint: late, DailyUSD: usd(6), RankUSD: usd(6)},
	})
	require.Equal(t, usd(5), n.Lookup(a).DailyVolumeUSD)
	require.Equal(t, usd(7), n.Lookup(b).DailyVolumeUSD)
	require.EqualValues(t, int64(4e12), *n.Lookup(b).LastSeenAt)
	require.Equal(t, []pubkey.Key{a, b}, top(), "by what they rank by")
	least := func(usd float64) (total int) {
		return n.Search(search.Query{IncludeToken22: true, Filter: search.Filter{MinVolume: &usd}, Limit: 5}).Total
	}
	require.Equal(t, []int{2, 1, 0}, []int{least(5), least(5.5), least(7.5)}, "a least volume is of the one that is shown")
	onlyA, _ := n.ID(a)
	filter := search.Filter{MinVolume: usd(5), Passes: func(id uint32) bool { return id == onlyA }}
	require.Equal(t, 1, n.Search(search.Query{IncludeToken22: true, Filter: filter, Limit: 5}).Total)
	require.Nil(t, n.Lookup(late))
	log.Token(3, 12, "CCC", "The third", time.Now())
	require.Eventually(t, func() bool { return n.Lookup(late) != nil }, hang, time.Millisecond)
	require.Eventually(t, func() bool { return len(top()) == 3 }, hang, time.Millisecond)
	require.Equal(t, []pubkey.Key{late, a, b}, top())

	n.SetVolumes([]replica.Volume{{Mint: b, DailyUSD: usd(2), RankUSD: usd(2)}})
	require.Nil(t, n.Lookup(a).DailyVolumeUSD)
	require.EqualValues(t, int64(4e12), *n.Lookup(b).LastSeenAt, "a last trade stays")
	require.Equal(t, b, top()[0])
}

// TestNeitherTimeIsShownWithoutTheOther: the trade of a mint whose first block said no time.
func TestNeitherTimeIsShownWithoutTheOther(t *testing.T) {
	log := apitest.NewLog()
	created := apitest.Created(apitest.Mint(1), 10)
	created.BlockTime = 0
	mint := apitest.Address(apitest.Mint(1))
	log.Message(schemas.TopicTokenEvents, mint, created, time.Now())
	n := start(t, t.Context(), log, nil)
	defer n.stop()
	n.awaitReady(t)
	require.NotNil(t, n.Lookup(pubkey.MustParse(mint)))
	n.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(mint), LastTradeAt: time.UnixMilli(4e12)}})
	require.Nil(t, n.Lookup(pubkey.MustParse(mint)).FirstSeenAt)
	require.Nil(t, n.Lookup(pubkey.MustParse(mint)).LastSeenAt)
}
