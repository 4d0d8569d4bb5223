package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/apitest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestEverySurfaceSaysTheSame: a token's row is one and the same however it is asked for, its
// figures of trading included.
func TestEverySurfaceSaysTheSame(t *testing.T) {
	log, h, mint := apitest.NewLog(), &apitest.History{}, apitest.Address(apitest.Mint(1))
	key := apitest.Mint(1)
	tell := func(event *eventspb.TokenEvent) {
		log.Message(schemas.TopicTokenEvents, mint, event, time.Now())
		h.Event(event)
	}
	tell(apitest.Created(key, 10))
	tell(apitest.Named(key, 10, "ONE", "The One"))
	minted := apitest.Event(key, 12)
	minted.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: 70}}
	tell(minted)
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	stream := n.stream("?evidence=true")
	stream.awaitID()
	volume, traded := 12.5, time.Unix(1_800_000_000, 0)
	price, before, organic, liquid := 1.25e-7, 1e-7, 10.5, 99.5
	n.SetVolumes([]replica.Volume{{
		Mint: mint, DailyUSD: &volume, RankUSD: &volume, LastTradeAt: traded,
		Market: &replica.Market{
			PriceUSD: &price, PriceAt: &traded, PriceBeforeUSD: &before, LiquidityUSD: &liquid, LiquidityAt: &traded, Volume5mUSD: new(float64), Volume24hUSD: &volume,
			OrganicUSD: &organic, Trades: 3, Traders: 2, Pools: 5, AsOf: traded,
		},
	}})

	plain := n.get("/tokens/" + mint).decode(t)
	require.EqualValues(t, 12.5, plain["daily_volume_usd"])
	require.EqualValues(t, traded.UnixMilli(), plain["last_seen_at"])
	without := func(row any, extra ...string) map[string]any {
		members, ok := row.(map[string]any)
		require.True(t, ok, "%v", row)
		for _, name := range extra {
			require.Contains(t, members, name)
			delete(members, name)
		}
		return members
	}
	var names []string
	token := reflect.TypeFor[registry.Token]()
	for i := range token.NumField() {
		name, _, _ := strings.Cut(token.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	all := "fields=" + strings.Join(names, ",")
	lookup := "/tokens/" + mint
	evidence := n.get(lookup + "?evidence=true").decode(t)["evidence"]
	at, supply := float64(traded.UnixMilli()), 70e-6
	market := map[string]any{
		"price_usd": 1.25e-7, "price_at": at, "price_change_24h": 25.0, "market_cap_usd": price * supply, "liquidity_usd": 99.5, "liquidity_at": at,
		"volume_5m_usd": 0.0, "volume_1h_usd": nil, "volume_6h_usd": nil, "volume_24h_usd": 12.5, "organic_volume_usd": 10.5, "trades_24h": 3.0, "traders_24h": 2.0,
		"pools": 5.0, "first_pool_at": nil, "as_of": at,
	}
	for query, extra := range map[string][]string{
		"?" + all: nil, "?evidence=true": {"evidence"}, "?provenance=true": {"provenance"}, "?provenance=true&" + all: {"provenance"},
		"?provenance=true&evidence=true": {"provenance", "evidence"}, "?provenance=true&evidence=true&" + all: {"provenance", "evidence"},
		"?market=true": {"market"}, "?" + all + ",market": {"market"}, "?provenance=true&market=true": {"provenance", "market"},
	} {
		row := n.get(lookup + query).decode(t)
		if row["evidence"] != nil {
			require.Equal(t, evidence, row["evidence"], query)
		}
		if strings.Contains(query, "market") {
			require.Equal(t, market, row["market"], query)
		}
		require.Equal(t, plain, without(row, extra...), query)
	}
	for query, extra := range map[string][]string{
		"?q=": nil, "?q=one": nil, "?q=" + mint: nil, "?q=one&" + all: nil, "?q=one&explain=true&evidence=true": {"match", "evidence"}, "?sort=newest": nil,
		"?market=true&evidence=true": {"evidence", "market"},
	} {
		items, _ := n.get("/tokens" + query).decode(t)["items"].([]any)
		require.Len(t, items, 1, query)
		require.Equal(t, plain, without(items[0], extra...), query)
	}
	for query, extra := range map[string][]string{"": nil, "?" + all: nil, "?evidence=true": {"evidence"}, "?market=true": {"market"}} {
		items, _ := n.do("POST", "/tokens/batch"+query, fmt.Sprintf(`{"mints":[%q]}`, mint), "Content-Type", "application/json").decode(t)["items"].([]any)
		require.Len(t, items, 1, query)
		require.Equal(t, plain, without(items[0], extra...), query)
	}
	var sent map[string]any
	for sent["daily_volume_usd"] == nil { // the first events may be of the time before
		e, more := stream.next()
		require.True(t, more)
		if e.data != "" {
			require.NoError(t, json.Unmarshal([]byte(e.data), &sent))
		}
	}
	require.Equal(t, plain, without(sent, "evidence"))

	origins := n.get(lookup + "?provenance=true").decode(t)["provenance"].(map[string]any)
	require.NotContains(t, origins, "last_seen_at", "no message of the mint is the origin of a trade")
	require.NotContains(t, origins, "daily_volume_usd")
	past := n.get(lookup + "?provenance=true&as_of_slot=12").decode(t)
	require.Nil(t, past["daily_volume_usd"], "of the past there is no volume")
	require.EqualValues(t, 1_700_000_012_000, past["last_seen_at"])
	past = n.get(lookup + "?evidence=true&as_of_slot=12").decode(t)
	require.Contains(t, past, "evidence")
	require.Nil(t, past["evidence"], "of the past there is none")
	past = n.get(lookup + "?market=true&as_of_slot=12").decode(t)
	require.Contains(t, past, "market")
	require.Nil(t, past["market"], "of the past there is none")
	n.SetVolumes([]replica.Volume{{Mint: mint, LastTradeAt: traded}})
	require.Nil(t, n.get(lookup + "?fields=market").decode(t)["market"], "what is not traded any more has no market")
}
