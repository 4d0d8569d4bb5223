package api_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestOrdersByTheMarket: by each figure descending, unknown last, ties by mint. A min_liquidity
// leaves out what is less, or unknown.
func TestOrdersByTheMarket(t *testing.T) {
	log := apitest.NewLog()
	mints := make([]string, 4)
	for i := range mints {
		mints[i] = log.Token(i+1, uint64(i+1), "SYM", "Name", time.Now())
		supply := apitest.Event(apitest.Mint(i+1), 100)
		supply.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: uint64(10 - i)}}
		log.Message(schemas.TopicTokenEvents, mints[i], supply, time.Now())
	}
	n := startNode(t, log).awaitReady()
	f := func(value float64) *float64 { return &value }
	early, late := time.Unix(1_700_000_000, 0), time.Unix(1_800_000_000, 0)
	a := replica.Market{
		PriceUSD: f(2), Windows: [4]replica.Window{3: {PriceBeforeUSD: f(4), Trades: 5, Traders: 25}}, HeldUSD: f(20_000), LiquidityUSD: f(10), Volume5mUSD: f(0), Volume1hUSD: f(6), Volume6hUSD: f(7), Volume24hUSD: f(24), OrganicUSD: f(9),
		Trades: 5, Traders: 25, Pools: 1, FirstPoolAt: &early, AsOf: late,
	}
	b := replica.Market{
		PriceUSD: f(2), Windows: [4]replica.Window{3: {PriceBeforeUSD: f(1), Trades: 6, Traders: 25}}, HeldUSD: f(20_000), LiquidityUSD: f(11), Volume5mUSD: f(1), Volume1hUSD: f(1), Volume6hUSD: f(8), Volume24hUSD: f(25), OrganicUSD: f(9),
		Trades: 6, Traders: 25, Pools: 2, FirstPoolAt: &late, AsOf: late,
	}
	n.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(mints[0]), Market: &a}, {Mint: pubkey.MustParse(mints[1]), Market: &b}, {Mint: pubkey.MustParse(mints[2]), Market: &replica.Market{Trades: 1, AsOf: late}}})
	order := func(query string) (list []string) {
		items, ok := n.get("/tokens?" + query).decode(t)["items"].([]any)
		require.True(t, ok, query)
		for _, item := range items {
			list = append(list, item.(map[string]any)["mint"].(string))
		}
		return list
	}
	tied := []string{mints[0], mints[1]}
	if tied[0] > tied[1] {
		tied[0], tied[1] = tied[1], tied[0]
	}
	aFirst, bFirst := []string{mints[0], mints[1]}, []string{mints[1], mints[0]}
	for sort, want := range map[string][]string{
		"trending": aFirst, "price_usd": tied, "price_change_24h": bFirst, "market_cap_usd": aFirst, "liquidity_usd": bFirst, "volume_5m_usd": bFirst,
		"volume_1h_usd": aFirst, "volume_6h_usd": bFirst, "volume_24h_usd": bFirst, "organic_volume_usd": tied, "trades_24h": bFirst, "pools": bFirst,
		"first_pool_at": bFirst,
	} {
		require.Equal(t, want, order("sort=" + sort)[:2], sort)
		require.Equal(t, want, order("q=sym&sort=" + sort)[:2], sort)
		require.Len(t, order("sort="+sort), 4, "those without a market too")
	}
	require.Equal(t, tied, order("sort=traders_24h")[:2])
	require.ElementsMatch(t, tied, order("min_liquidity=10"))
	require.Equal(t, []string{mints[1]}, order("min_liquidity=10.5&q=sym"))
	require.ElementsMatch(t, tied, order("min=traders_24h:25,liquidity_usd:10"))
	require.Equal(t, []string{mints[0]}, order("max=price_change_24h:0&min=trades_24h:5"))
	require.Equal(t, []string{mints[1]}, order("min=trades_24h:5,trades_24h:6,trades_24h:4&max=trades_24h:9"), "the tightest bound counts")
	require.Equal(t, []string{mints[0]}, order("max=trades_24h:6,trades_24h:5&min=trades_24h:2&min_liquidity=10"))
	require.Equal(t, aFirst, order("sort=price_drop_24h")[:2])
	require.Equal(t, []string{mints[1]}, order("min=first_pool_at:1800000000000"), "as the row has it, in milliseconds")
	require.Equal(t, []string{mints[0]}, order("max=first_pool_at:1799999999999"))
	for _, bound := range []string{"min=liquidity_usd", "min=liquidity_usd:x", "max=symbol:1", "max=pools:NaN"} {
		n.get("/tokens?"+bound).refused(t, 400)
	}
	n.get("/tokens?min_liquidity=-1").refused(t, 400)
	n.get("/tokens?sort=market").refused(t, 400)
}

// TestAMarketIsNeverOld: rows and their markets are cached once they are asked for again; a new
// figure shows at once, as does a supply, from which the capitalisation is made.
func TestAMarketIsNeverOld(t *testing.T) {
	log := apitest.NewLog()
	mint := log.Token(1, 1, "SYM", "Name", time.Now())
	supply := func(slot, amount uint64) {
		event := apitest.Event(apitest.Mint(1), slot)
		event.Signature[0] = byte(slot)
		event.Payload = &eventspb.TokenEvent_MintTo{MintTo: &eventspb.AmountChange{Amount: amount}}
		log.Message(schemas.TopicTokenEvents, mint, event, time.Now())
	}
	supply(2, 3_000_000)
	n := startNode(t, log).awaitReady()
	market := func(url string) any { return n.get(url).decode(t)["market"] }
	capped := func(want any) {
		t.Helper()
		for range 4 { // made, kept with the row, kept with the market, from there
			found, _ := market("/tokens/" + mint + "?market=true").(map[string]any)
			require.Equal(t, want, found["market_cap_usd"])
			require.Equal(t, want, n.get("/tokens/" + mint + "?fields=market_cap_usd").decode(t)["market_cap_usd"])
		}
	}
	figures := func(price float64) {
		n.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(mint), Market: &replica.Market{PriceUSD: &price, Anchor: true, AsOf: time.Unix(1_800_000_000, 0)}}})
	}
	capped(nil)
	figures(2)
	capped(6.0)
	figures(5)
	capped(15.0)
	supply(3, 1_000_000)
	require.Eventually(t, func() bool { return n.get("/tokens/" + mint).decode(t)["supply"] == "4000000" }, hang, time.Millisecond)
	capped(20.0)
	n.SetVolumes(nil)
	require.Nil(t, market("/tokens/"+mint+"?market=true"), "not traded any more")
	figures(7)
	capped(28.0)
}
