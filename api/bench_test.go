package api_test

import (
	"encoding/json"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// BenchmarkRoutes is the cost of a request without the network.
func BenchmarkRoutes(b *testing.B) {
	n, mints, body := tradedTokens(b)
	for _, c := range []struct{ name, method, uri, body string }{
		{"search", "GET", "/tokens?limit=50", ""}, {"lookup", "GET", "/tokens/" + mints[7], ""}, {"batch of 500", "POST", "/tokens/batch", body},
		{"batch of 500 with market", "POST", "/tokens/batch?market=true", body},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			client, server := net.Pipe()
			defer func() { _, _ = client.Close(), server.Close() }()
			for b.Loop() {
				n.direct(b, server, c.method, c.uri, c.body)
			}
		})
	}
}

// tradedTokens is a node with 2,000 tokens that all have a market, the mints of 500, their batch.
func tradedTokens(t testing.TB) (n *node, mints []string, batch string) {
	log := apitest.NewLog()
	for i := range 2_000 {
		log.Token(i, uint64(i), fmt.Sprintf("SYM%d", i), fmt.Sprintf("Name of token %d", i), time.Now())
	}
	n = startNode(t, log, limited).awaitReady()
	mints = make([]string, 500)
	for i := range mints {
		mints[i] = apitest.Address(apitest.Mint(i))
	}
	figure, at, volumes := 12.5, time.Unix(1_800_000_000, 0), make([]replica.Volume, 0, 2_000)
	for i := range 2_000 {
		volumes = append(volumes, replica.Volume{Mint: pubkey.Key(apitest.Mint(i)), DailyUSD: &figure, RankUSD: &figure, Market: &replica.Market{
			PriceUSD: &figure, PriceAt: &at, LiquidityUSD: &figure, LiquidityAt: &at, Volume5mUSD: &figure, Volume1hUSD: &figure, Volume6hUSD: &figure,
			Volume24hUSD: &figure, OrganicUSD: &figure, Trades: 7, Traders: 5, Pools: 3, FirstPoolAt: &at, AsOf: at,
		}})
	}
	n.SetVolumes(volumes)
	body, err := json.Marshal(map[string][]string{"mints": mints})
	require.NoError(t, err)
	return n, mints, string(body)
}

// direct asks without the network.
func (n *node) direct(t testing.TB, conn net.Conn, method, uri, body string) {
	n.clock.Add(int64(time.Minute)) // limits are counted, and never reached
	var ctx fasthttp.RequestCtx
	ctx.Init2(conn, nil, true)
	ctx.Request.Header.SetMethod(method)
	ctx.Request.SetRequestURI(uri)
	ctx.Request.SetBodyString(body)
	n.Handler()(&ctx)
	if ctx.Response.StatusCode() != 200 {
		t.Fatal(string(ctx.Response.Body()))
	}
	ctx.ResetUserValues() // as the server does behind each request
}
