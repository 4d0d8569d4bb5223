package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// traded appends a leg as ingest writes it: a record for each of its mints.
func traded(t testing.TB, log *apitest.Log, leg *eventspb.SwapLeg) {
	t.Helper()
	value, err := proto.Marshal(leg)
	require.NoError(t, err)
	for kind, mint := range map[string][]byte{schemas.TypeSwapLegIn: leg.GetMintIn(), schemas.TypeSwapLegOut: leg.GetMintOut()} {
		log.Append(kafka.Record{
			Topic: schemas.TopicSwaps, Key: []byte(apitest.Address(mint)), Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}},
		})
	}
}

func legOf(in, out []byte, paid, got, slot uint64) *eventspb.SwapLeg {
	return &eventspb.SwapLeg{
		Position: &eventspb.Position{Slot: slot, TransactionIndex: proto.Uint32(3)}, BlockTime: 1_800_000_000, Signature: make([]byte, 64), Venue: "raydium_cpmm",
		Pool: apitest.Mint(50), MintIn: in, MintOut: out, AmountIn: paid, AmountOut: got, Trader: apitest.Mint(51), DecimalsIn: proto.Uint32(6), DecimalsOut: proto.Uint32(6),
	}
}

// TestTradesReachTheirStream: the stream of a mint has its trades alone, seen from its side, with a
// value of the latest price of the other side.
func TestTradesReachTheirStream(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log).awaitReady()
	price, at := 2.0, time.Unix(1_799_999_999, 0)
	n.SetVolumes([]replica.Volume{{Mint: pubkey.MustParse(a[1]), DailyUSD: &price, RankUSD: &price, LastTradeAt: at, Market: &replica.Market{PriceUSD: &price, AsOf: at}}})
	stream := n.streamOf("/trades/stream?mint=" + a[0])
	one, other := pubkey.MustParse(a[0]), pubkey.MustParse(a[1])
	stream.await("open", "")
	traded(t, log, legOf(one[:], other[:], 4_000_000, 3_000_000, 700))
	first := stream.await("trade", "")
	conforms(t, "Trade", []byte(first.data))
	var trade map[string]any
	require.NoError(t, json.Unmarshal([]byte(first.data), &trade))
	require.Equal(t, first.id, trade["id"])
	for field, want := range map[string]any{
		"time": 1_800_000_000_000.0, "slot": 700.0, "side": "sell", "amount": "4000000", "quote_mint": a[1], "quote_amount": "3000000", "price": 0.75, "value_usd": 6.0,
		"price_usd": 1.5, "estimated": true, "pool": apitest.Address(apitest.Mint(50)), "trader": apitest.Address(apitest.Mint(51)), "aggregator": nil,
	} {
		require.Equal(t, want, trade[field], field)
	}
	traded(t, log, legOf(other[:], pubkey.MustParse(a[2]).Bytes(), 1, 1, 800)) // not of the mint
	traded(t, log, &eventspb.SwapLeg{MintIn: one[:], MintOut: other[:]})       // no keys
	traded(t, log, legOf(other[:], one[:], 1_000_000, 2_000_000, 900))
	second := stream.await("trade", "")
	require.NoError(t, json.Unmarshal([]byte(second.data), &trade))
	require.Equal(t, []any{900.0, "buy", "2000000", 1.0}, []any{trade["slot"], trade["side"], trade["amount"], trade["price_usd"]})
	require.Equal(t, 400, n.get("/trades/stream").StatusCode)
	require.Equal(t, 400, n.get("/trades/stream?mint=x").StatusCode)
	require.Equal(t, 404, n.get("/trades/stream?mint="+apitest.Address(apitest.Mint(99))).StatusCode)
}

// TestStreamsOfTradesAreLimited: of a client and of all.
func TestStreamsOfTradesAreLimited(t *testing.T) {
	log, a := threeTokens()
	n := startNode(t, log, func(cfg *api.Config) { cfg.Streams.PerClient = 2 }).awaitReady()
	path := "/trades/stream?mint=" + a[0]
	opened := n.streamOf(path)
	n.streamOf(path)
	n.do("GET", path, "").refused(t, 429)
	opened.close()
	require.Eventually(t, func() bool { // the node notices when it next has something to say
		traded(t, log, legOf(pubkey.MustParse(a[0]).Bytes(), pubkey.MustParse(a[1]).Bytes(), 1, 1, 1))
		answer, err := http.Get("http://" + n.Addr() + path)
		if err != nil {
			return false
		}
		defer func() { _ = answer.Body.Close() }()
		return answer.StatusCode == http.StatusOK
	}, hang, 10*time.Millisecond)
}
