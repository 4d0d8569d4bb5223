package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// The fields of a token of Jupiter's Tokens API V2, and those that it requires, as
// GetJupiterTokenResponse of the npm package @accret/bridge-sdk 1.0.0 types them
// (dist/types/jupiter/getQuote.d.ts).
var (
	jupiterFields = strings.Fields(`id name symbol icon decimals twitter telegram website dev circSupply totalSupply tokenProgram launchpad partnerConfig graduatedPool graduatedAt
		holderCount fdv mcap usdPrice priceBlockId liquidity stats5m stats1h stats6h stats24h firstPool audit organicScore organicScoreLabel isVerified cexes tags updatedAt ctLikes smartCtLikes`)
	jupiterRequired = strings.Fields("id name symbol decimals tokenProgram organicScore organicScoreLabel updatedAt")
)

// verifiedTokens are threeTokens, of which the first is on a curated list, and the creators of all
// claim that theirs are.
func verifiedTokens() (*apitest.Log, []string) {
	log, a := threeTokens()
	for n, mint := range a {
		log.Message(schemas.TopicEnrichments, mint, &eventspb.Enrichment{Mint: apitest.Mint(n + 1), Slot: 30, Fact: &eventspb.Enrichment_Offchain{
			Offchain: &eventspb.OffchainMetadata{
				Uri: []byte("https://example.org/x.json"), Image: "https://example.org/x.png", ExternalUrl: "https://example.org",
				Extensions: map[string]string{"twitter": "https://x.example"}, Tags: []string{"verified", "Verified", "VERIFIED \u2713", "strict", "lst", "stable"},
			},
		}}, time.Now())
	}
	log.Message(schemas.TopicEnrichments, a[0], &eventspb.Enrichment{Mint: apitest.Mint(1), Fact: &eventspb.Enrichment_TokenListEntry{
		TokenListEntry: &eventspb.TokenListEntry{List: "curated", Version: 1_700_000_000, Tags: []string{"verified"}},
	}}, time.Now())
	return log, a
}

func TestTokensV2HaveThePublishedShape(t *testing.T) {
	log, a := verifiedTokens()
	n := startNode(t, log).awaitReady()
	volume, organic, price, before, little, held := 200.0, 150.0, 0.99, 0.9, 3.0, 20_000.0
	asOf := time.Unix(1_800_000_000, 0)
	n.SetVolumes([]replica.Volume{
		{Mint: pubkey.MustParse(a[0]), DailyUSD: &volume, RankUSD: &volume, Market: &replica.Market{
			PriceUSD: &price, Windows: [4]replica.Window{3: {PriceBeforeUSD: &before, Trades: 7, Buys: 4, BoughtUSD: 1, Traders: 30}}, HeldUSD: &held, LiquidityUSD: &volume, Volume1hUSD: &little, Volume24hUSD: &volume, OrganicUSD: &organic, Trades: 7, Traders: 30, AsOf: asOf,
		}},
		{Mint: pubkey.MustParse(a[1]), DailyUSD: &little, RankUSD: &little, Market: &replica.Market{Volume5mUSD: new(float64), Volume1hUSD: &volume, Volume24hUSD: &little, Trades: 1, Traders: 1, AsOf: asOf}},
	})
	ids := func(rows []map[string]any) (ids []any) {
		for _, row := range rows {
			ids = append(ids, row["id"])
		}
		return ids
	}
	list := func(path string) (rows []map[string]any) {
		r := n.get(path)
		require.Equal(t, http.StatusOK, r.StatusCode, "%s: %s", path, r.body)
		var raw []json.RawMessage
		require.NoError(t, json.Unmarshal(r.body, &raw))
		for _, one := range raw {
			conforms(t, "TokenV2", one)
			var row map[string]any
			require.NoError(t, json.Unmarshal(one, &row))
			for name := range row {
				require.True(t, slices.Contains(jupiterFields, name), "%s is no field of the published type", name)
			}
			for _, name := range jupiterRequired {
				require.Contains(t, row, name)
			}
			rows = append(rows, row)
		}
		return rows
	}
	found := list("/tokens/v2/search?query=usdc")
	require.Equal(t, a[0], found[0]["id"])
	require.Equal(t, true, found[0]["isVerified"])
	require.EqualValues(t, 0.99, found[0]["usdPrice"])
	require.EqualValues(t, 75, found[0]["organicScore"])
	require.Equal(t, "high", found[0]["organicScoreLabel"])
	require.Equal(t, "https://x.example", found[0]["twitter"])
	require.Equal(t, "low", found[1]["organicScoreLabel"])
	require.Equal(t, false, found[1]["isVerified"], "its creator alone says so")
	require.Equal(t, []any{"stable"}, found[1]["tags"])
	require.Nil(t, found[1]["usdPrice"])
	several := list("/tokens/v2/search?query=" + a[2] + "," + a[1] + ",nothing")
	require.Len(t, several, 2, "in the order asked, unknown ones left out")
	require.Equal(t, schemas.ProgramToken2022, several[0]["tokenProgram"])
	tagged := list("/tokens/v2/tag?query=verified")
	require.Len(t, tagged, 1, "those of lists, not those whose creators say so")
	require.Equal(t, a[0], tagged[0]["id"])
	require.Empty(t, list("/tokens/v2/tag?query=lst"))
	require.Empty(t, list("/tokens/v2/tag?query=Verified"))
	require.Len(t, list("/tokens/v2/tag?query=stable"), 3, "what is nobody's to reserve stays")
	require.Len(t, list("/tokens/v2/recent"), 3)
	require.EqualValues(t, 200, found[0]["liquidity"])
	stats, _ := found[0]["stats24h"].(map[string]any)
	require.InDelta(t, 10, stats["priceChange"], 1e-9, "from 0.90 to 0.99")
	require.EqualValues(t, 30, stats["numTraders"])
	require.Equal(t, []any{4.0, 3.0, 1.0, 199.0}, []any{stats["numBuys"], stats["numSells"], stats["buyVolume"], stats["sellVolume"]})

	require.Equal(t, []any{a[0], a[1]}, ids(list("/tokens/v2/toptraded/24h")), "what was not traded is in no category")
	require.Equal(t, []any{a[1], a[0]}, ids(list("/tokens/v2/toptraded/1h")))
	require.Equal(t, []any{a[1]}, ids(list("/tokens/v2/toptraded/1h?limit=1")))
	require.Empty(t, list("/tokens/v2/toptraded/5m"))
	require.Equal(t, []any{a[0]}, ids(list("/tokens/v2/toporganicscore/6h")))
	require.Equal(t, []any{a[0]}, ids(list("/tokens/v2/toptrending/5m")))
	for _, path := range []string{"/tokens/v2/topless/5m", "/tokens/v2/toptraded/2h", "/tokens/v2/toptraded/5m?limit=101", "/tokens/v2/toptraded/5m?limit=0", "/tokens/v2/search", "/tokens/v2/search?query=", "/tokens/v2/tag", "/tokens/v2/search?query=" + strings.Repeat("a,", 100), "/tokens/v2/search?query=" + strings.Repeat("a", 4_601)} {
		n.get(path).refused(t, 400)
	}
}

// The shape is TokenList of @solana/spl-token-registry (solana-labs/token-list,
// src/lib/tokenlist.ts).
func TestTokenListOfVerifiedTokens(t *testing.T) {
	log, a := verifiedTokens()
	n := startNode(t, log).awaitReady()
	r := n.get("/tokenlist.json")
	conforms(t, "TokenList", r.body)
	tokens, _ := r.decode(t)["tokens"].([]any)
	require.Len(t, tokens, 1)
	require.Equal(t, map[string]any{
		"chainId": 101.0, "address": a[0], "symbol": "USDC", "name": "USD Coin", "decimals": 6.0, "logoURI": "https://example.org/x.png",
		"tags": []any{"verified", "stable"}, "extensions": map[string]any{"twitter": "https://x.example"},
	}, tokens[0])
	require.Equal(t, http.StatusNotModified, n.do(http.MethodGet, "/tokenlist.json", "", "If-None-Match", r.Header.Get("ETag")).StatusCode)
}

func TestShapesAreBehindSettings(t *testing.T) {
	log, _ := threeTokens()
	n := startNode(t, log, func(c *api.Config) { c.TokensV2, c.TokenList = false, false }).awaitReady()
	n.get("/tokens/v2/recent").refused(t, 404)
	n.get("/tokenlist.json").refused(t, 404)
}
