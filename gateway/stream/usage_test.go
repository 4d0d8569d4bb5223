package stream

import (
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/usagetest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Streams of both forms count while they are open, with their addresses and what they sent.
func TestStreamsCountAsUsageOfTheirKey(t *testing.T) {
	meter := usagetest.New(t)
	f := startMetered(t, Config{}, meter.Meter)
	first := f.subscribe(t, filters{"a": {AccountInclude: []string{text(1), text(2)}}})
	f.subscribe(t, filters{"b": {AccountInclude: []string{text(3)}}})
	require.Contains(t, f.call(t, f.dial(t), `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{"accountInclude":["`+text(1)+`"]}]}`), `"result":1`)
	f.publish(tx{number: 1, slot: 9, keys: []byte{1}})
	next(t, first)
	require.Eventually(t, func() bool {
		totals := meter.Totals()
		return totals["rpc alice Subscribe"].GetBytes() > 100 && totals["rpc alice transactionSubscribe"].GetBytes() > 100
	}, patience, 10*time.Millisecond)
	totals := meter.Totals()
	subscribed := totals["rpc alice Subscribe"]
	require.Equal(t, []uint64{2, 2, 3}, []uint64{subscribed.GetRequests(), subscribed.GetStreams(), subscribed.GetAddresses()})
	sockets := totals["rpc alice transactionSubscribe"]
	require.Equal(t, []uint64{2, 1, 1}, []uint64{sockets.GetRequests(), sockets.GetStreams(), sockets.GetAddresses()}, "it was opened, and has a message")
}

// A stream beyond the key's limit counts as refused, and not as a request.
func TestStreamsBeyondTheLimitCountAsRefused(t *testing.T) {
	meter := usagetest.New(t)
	f := startLimited(t, Config{}, meter.Meter, keys.Rules{Streams: 1})
	f.subscribe(t, nil)
	c, ctx := f.client(t)
	second, err := c.Subscribe(ctx)
	require.NoError(t, err)
	_, err = second.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err), "%v", err)
	_, answer, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+f.key, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusTooManyRequests, answer.StatusCode)
	totals := meter.Totals()
	subscribed, sockets := totals["rpc alice Subscribe"], totals["rpc alice transactionSubscribe"]
	require.Equal(t, []uint64{1, 1}, []uint64{subscribed.GetRequests(), subscribed.GetRefused()})
	require.Equal(t, []uint64{0, 1}, []uint64{sockets.GetRequests(), sockets.GetRefused()})
}

// Updates about slots count, too.
func TestAllUpdatesOfAStreamCount(t *testing.T) {
	meter := usagetest.New(t)
	f := startMetered(t, Config{}, meter.Meter)
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}}}))
	end, err := proto.Marshal(&eventspb.StreamBlock{Slot: 9, Blockhash: named(1), ParentBlockhash: named(2)})
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}}))
	update, err := stream.Recv()
	require.NoError(t, err)
	require.NotNil(t, update.GetPong(), "the filter counts")
	f.topic.records <- kafka.Record{Topic: schemas.TopicTransactions, Key: []byte("9"), Value: end,
		Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeStreamBlock)}}}
	update, err = stream.Recv()
	require.NoError(t, err)
	require.NotNil(t, update.GetBlockMeta())
	require.Eventually(t, func() bool {
		return meter.Totals()["rpc alice Subscribe"].GetBytes() >= uint64(proto.Size(update))
	}, patience, 10*time.Millisecond)
}
