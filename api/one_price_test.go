package api_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// onePrice: whatever tells a token's price tells the same one in the same moment: the page of a
// token, rows of lists, movers, batches and streams, single figures, a wallet, the shape of
// /tokens/v2, and the estimate of a trade against it.
func onePrice(t *testing.T, w *world) {
	stream := w.streamOf("/tokens/stream?fields=mint,price_usd")
	stream.awaitID()
	trades := w.streamOf("/trades/stream?mint=" + w.two)
	trades.await("open", "")
	price, before, held, at := 1.5, 1.25, 20_000.0, time.Unix(1_800_000_000, 0)
	w.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(w.one), DailyUSD: &price, RankUSD: &price, Market: &replica.Market{
		PriceUSD: &price, PriceAt: &at, Traders: 30, HeldUSD: &held, Windows: [4]replica.Window{3: {PriceBeforeUSD: &before}}, AsOf: at,
	}}})
	list := func(body []byte, member string) (rows []map[string]any) {
		if member == "" {
			require.NoError(t, json.Unmarshal(body, &rows))
			return rows
		}
		var page map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(body, &page))
		require.NoError(t, json.Unmarshal(page[member], &rows))
		return rows
	}
	told := map[string]any{
		"page":   w.get("/tokens/" + w.one + "?market=true").decode(t)["market"].(map[string]any)["price_usd"],
		"figure": w.get("/tokens/" + w.one + "?fields=price_usd").decode(t)["price_usd"],
		"list":   list(w.get("/tokens?q=ONE&fields=price_usd").body, "items")[0]["price_usd"],
		"movers": list(w.get("/tokens?sort=price_change_24h&min=price_change_24h:0&fields=price_usd").body, "items")[0]["price_usd"],
		"batch":  list(w.do("POST", "/tokens/batch?fields=price_usd", fmt.Sprintf(`{"mints":[%q]}`, w.one), "Content-Type", "application/json").body, "items")[0]["price_usd"],
		"v2":     list(w.get("/tokens/v2/search?query="+w.one).body, "")[0]["usdPrice"],
	}
	for _, item := range list(w.get("/owners/"+w.alice+"/tokens").body, "items") {
		if item["mint"] == w.one {
			told["wallet"] = item["price_usd"]
		}
	}
	for told["stream"] == nil { // the first events may be of the time before
		e, more := stream.next()
		require.True(t, more)
		var row map[string]any
		if e.data != "" && json.Unmarshal([]byte(e.data), &row) == nil && row["mint"] == w.one {
			told["stream"] = row["price_usd"]
		}
	}
	one, two := pubkey.MustParse(w.one), pubkey.MustParse(w.two)
	traded(t, w.log, legOf(one[:], two[:], 2_000_000, 4_000_000, 60))
	var trade map[string]any
	require.NoError(t, json.Unmarshal([]byte(trades.await("trade", "").data), &trade))
	told["trade"] = trade["value_usd"].(float64) / 2
	require.Len(t, told, 9)
	for where, got := range told {
		require.EqualValues(t, price, got, where)
	}
}
