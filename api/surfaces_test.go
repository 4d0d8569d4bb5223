package api_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
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
	launch := apitest.Event(key, 10)
	launch.Payload = &eventspb.TokenEvent_Launch{Launch: &eventspb.Launch{Launchpad: schemas.LaunchpadDBC, Creator: apitest.Mint(6)}}
	tell(launch)
	graduated := apitest.Event(key, 13)
	graduated.Payload = &eventspb.TokenEvent_Graduate{Graduate: &eventspb.Graduate{Launchpad: schemas.LaunchpadDBC}}
	tell(graduated)
	scaled := apitest.Event(key, 14)
	scaled.Payload = &eventspb.TokenEvent_ExtensionSet{ExtensionSet: &eventspb.ExtensionSet{Extension: "scaled_ui_amount", Attributes: []*eventspb.Attribute{
		{Name: "multiplier", Value: "1.25"}, {Name: "new_multiplier", Value: "1.5"}, {Name: "new_multiplier_effective_timestamp", Value: "1800000000"},
	}}}
	tell(scaled)
	enrich := func(entry *eventspb.TokenListEntry) {
		e := &eventspb.Enrichment{Mint: key, Fact: &eventspb.Enrichment_TokenListEntry{TokenListEntry: entry}}
		log.Message(schemas.TopicEnrichments, mint, e, time.Now())
		h.Read(e, "token_list", "token_list")
	}
	enrich(&eventspb.TokenListEntry{List: "b", Version: 1_700_000_000, Tags: []string{"verified"}, ListSha256: apitest.Mint(7), Signer: apitest.Mint(8), Signature: make([]byte, 64)})
	enrich(&eventspb.TokenListEntry{List: "a", Version: 1_600_000_000, Tags: []string{"meme"}})
	n := startNodeWith(t, log, withHistory(h)).awaitReady()
	stream := n.stream("?evidence=true&market=true&lists=true&fields=" + strings.Join(tokenFields(), ",") + ",evidence,price_usd,pools")
	stream.awaitID()
	volume, traded := 12.5, time.Unix(1_800_000_000, 0)
	price, before, organic, liquid, held := 1.25e-7, 1e-7, 10.5, 99.5, 12_000.0
	n.SetVolumes([]replica.Volume{{
		Mint: pubkey.MustParse(mint), DailyUSD: &volume, RankUSD: &volume, LastTradeAt: traded,
		Market: &replica.Market{
			PriceUSD: &price, PriceAt: &traded, Windows: [4]replica.Window{3: {PriceBeforeUSD: &before, Trades: 3, Traders: 30}}, HeldUSD: &held, LiquidityUSD: &liquid, LiquidityAt: &traded, Volume5mUSD: new(float64), Volume24hUSD: &volume,
			OrganicUSD: &organic, Trades: 3, Traders: 30, Pools: 5, AsOf: traded,
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
	all := "fields=" + strings.Join(tokenFields(), ",")
	lookup := "/tokens/" + mint
	evidence := n.get(lookup + "?evidence=true").decode(t)["evidence"]
	at, supply := float64(traded.UnixMilli()), 70e-6
	market := map[string]any{
		"price_usd": 1.25e-7, "price_at": at, "price_change_5m": nil, "price_change_1h": nil, "price_change_6h": nil, "price_change_24h": 25.0, "price_since_24h": nil,
		"market_cap_usd": price * supply, "market_cap_withheld": nil, "fdv_usd": price * supply, "held_usd": held, "liquidity_usd": 99.5, "liquidity_at": at,
		"volume_5m_usd": 0.0, "volume_1h_usd": nil, "volume_6h_usd": nil, "volume_24h_usd": 12.5, "organic_volume_usd": 10.5, "trades_24h": 3.0, "traders_24h": 30.0,
		"pools": 5.0, "first_pool_at": nil, "as_of": at,
	}
	sum := apitest.Mint(7)
	lists := []any{
		map[string]any{"list": "a", "as_of": 1.6e12, "tags": []any{"meme"}, "sha256": nil, "signer": nil, "signature": nil},
		map[string]any{
			"list": "b", "as_of": 1.7e12, "tags": []any{"verified"}, "sha256": hex.EncodeToString(sum), "signer": apitest.Address(apitest.Mint(8)),
			"signature": base64.StdEncoding.EncodeToString(make([]byte, 64)),
		},
	}
	require.Equal(t, []any{"meme", "verified"}, plain["tags"])
	require.Equal(t, "meteora_dbc", plain["launchpad"])
	require.Equal(t, apitest.Address(apitest.Mint(6)), plain["creator"])
	require.EqualValues(t, 1_700_000_013_000, plain["graduated_at"])
	require.Equal(t, []any{1.25, 1.5, 1.8e12}, []any{plain["ui_multiplier"], plain["next_ui_multiplier"], plain["next_ui_multiplier_at"]})
	for query, extra := range map[string][]string{
		"?" + all: nil, "?evidence=true": {"evidence"}, "?provenance=true": {"provenance"}, "?provenance=true&" + all: {"provenance"},
		"?provenance=true&evidence=true": {"provenance", "evidence"}, "?provenance=true&evidence=true&" + all: {"provenance", "evidence"},
		"?market=true": {"market"}, "?" + all + ",market": {"market"}, "?provenance=true&market=true": {"provenance", "market"},
		"?lists=true": {"lists"}, "?provenance=true&lists=true": {"provenance", "lists"}, "?" + all + ",lists,market": {"lists", "market"},
		"?" + all + ",price_usd,first_pool_at,as_of": {"price_usd", "first_pool_at", "as_of"}, "?provenance=true&" + all + ",pools&market=true": {"provenance", "pools", "market"},
	} {
		row := n.get(lookup + query).decode(t)
		if row["evidence"] != nil {
			require.Equal(t, evidence, row["evidence"], query)
		}
		if strings.Contains(query, "market") {
			require.Equal(t, market, row["market"], query)
		}
		if strings.Contains(query, "lists") {
			require.Equal(t, lists, row["lists"], query)
		}
		for name, value := range market { // a figure by itself is that of the market
			if _, given := row[name]; given {
				require.Equal(t, value, row[name], "%s of %s", name, query)
			}
		}
		require.Equal(t, plain, without(row, extra...), query)
	}
	require.Equal(t, map[string]any{"symbol": "ONE", "price_usd": 1.25e-7, "market_cap_usd": price * supply}, n.get(lookup+"?fields=market_cap_usd,symbol,price_usd").decode(t))
	for query, extra := range map[string][]string{
		"?q=": nil, "?q=one": nil, "?q=" + mint: nil, "?q=one&" + all: nil, "?q=one&explain=true&evidence=true": {"match", "evidence"}, "?sort=newest": nil,
		"?market=true&evidence=true": {"evidence", "market"}, "?lists=true&" + all + ",volume_24h_usd": {"lists", "volume_24h_usd"},
	} {
		items, _ := n.get("/tokens" + query).decode(t)["items"].([]any)
		require.Len(t, items, 1, query)
		require.Equal(t, plain, without(items[0], extra...), query)
	}
	for query, extra := range map[string][]string{"": nil, "?" + all: nil, "?evidence=true": {"evidence"}, "?market=true": {"market"}, "?lists=true": {"lists"}, "?" + all + ",as_of": {"as_of"}} {
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
	require.Equal(t, market, sent["market"], "a stream has the market too")
	require.Equal(t, lists, sent["lists"])
	require.EqualValues(t, 1.25e-7, sent["price_usd"])
	require.EqualValues(t, 5, sent["pools"])
	require.Equal(t, plain, without(sent, "evidence", "market", "lists", "price_usd", "pools"))

	origins := n.get(lookup + "?provenance=true").decode(t)["provenance"].(map[string]any)
	require.NotContains(t, origins, "last_seen_at", "no message of the mint is the origin of a trade")
	require.NotContains(t, origins, "daily_volume_usd")
	past := n.get(lookup + "?provenance=true&as_of_slot=12").decode(t)
	require.Nil(t, past["daily_volume_usd"], "of the past there is no volume")
	require.EqualValues(t, 1_700_000_012_000, past["last_seen_at"])
	require.Equal(t, "meteora_dbc", past["launchpad"])
	require.Nil(t, past["graduated_at"], "not yet")
	require.NotContains(t, past, "ui_multiplier", "neither")
	past = n.get(lookup + "?evidence=true&as_of_slot=12").decode(t)
	require.Contains(t, past, "evidence")
	require.Nil(t, past["evidence"], "of the past there is none")
	past = n.get(lookup + "?market=true&as_of_slot=12").decode(t)
	require.Contains(t, past, "market")
	require.Nil(t, past["market"], "of the past there is none")
	past = n.get(lookup + "?fields=price_usd,lists&as_of_slot=12").decode(t)
	require.Equal(t, map[string]any{"price_usd": nil, "lists": lists}, past, "a list has no slot")
	n.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(mint), LastTradeAt: traded}})
	require.Equal(t, map[string]any{"price_usd": nil, "pools": nil}, n.get(lookup+"?fields=price_usd,pools").decode(t))
	require.Nil(t, n.get(lookup + "?fields=market").decode(t)["market"], "what is not traded any more has no market")
}

// tokenFields are the names of a token's fields.
func tokenFields() (names []string) {
	token := reflect.TypeFor[registry.Token]()
	for i := range token.NumField() {
		name, _, _ := strings.Cut(token.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
