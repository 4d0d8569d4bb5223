package api_test

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/api/apitest"
	"github.com/mintlake/mintlake/replica"
)

// BenchmarkRoutes is the cost of a request without the network.
func BenchmarkRoutes(b *testing.B) {
	log := apitest.NewLog()
	for i := range 2_000 {
		log.Token(i, uint64(i), fmt.Sprintf("SYM%d", i), fmt.Sprintf("Name of token %d", i), time.Now())
	}
	n := startNode(b, log, limited).awaitReady()
	mints := make([]string, 500)
	for i := range mints {
		mints[i] = apitest.Address(apitest.Mint(i))
	}
	figure, at, volumes := 12.5, time.Unix(1_800_000_000, 0), make([]replica.Volume, 0, 2_000)
	for i := range 2_000 {
		volumes = append(volumes, replica.Volume{Mint: apitest.Address(apitest.Mint(i)), DailyUSD: &figure, RankUSD: &figure, Market: &replica.Market{
			PriceUSD: &figure, PriceAt: &at, PriceBeforeUSD: &figure, LiquidityUSD: &figure, LiquidityAt: &at, Volume5mUSD: &figure, Volume1hUSD: &figure, Volume6hUSD: &figure,
			Volume24hUSD: &figure, OrganicUSD: &figure, Trades: 7, Traders: 5, Pools: 3, FirstPoolAt: &at, AsOf: at,
		}})
	}
	n.SetVolumes(volumes)
	body, err := json.Marshal(map[string][]string{"mints": mints})
	require.NoError(b, err)
	for _, c := range []struct{ name, method, uri, body string }{
		{"search", "GET", "/tokens?limit=50", ""}, {"lookup", "GET", "/tokens/" + mints[7], ""}, {"batch of 500", "POST", "/tokens/batch", string(body)},
		{"batch of 500 with market", "POST", "/tokens/batch?market=true", string(body)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			client, server := net.Pipe()
			defer func() { _, _ = client.Close(), server.Close() }()
			for b.Loop() {
				n.clock.Add(int64(time.Minute)) // limits are counted, and never reached
				var ctx fasthttp.RequestCtx
				ctx.Init2(server, nil, true)
				ctx.Request.Header.SetMethod(c.method)
				ctx.Request.SetRequestURI(c.uri)
				ctx.Request.SetBodyString(c.body)
				n.Handler()(&ctx)
				if ctx.Response.StatusCode() != 200 {
					b.Fatal(string(ctx.Response.Body()))
				}
				ctx.ResetUserValues() // as the server does behind each request
			}
		})
	}
}
