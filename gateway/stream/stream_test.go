package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/kafka"
)

func TestKeysAreRequired(t *testing.T) {
	f := start(t, Config{})
	c, ctx := f.client(t)
	for _, key := range []string{"", "ml_rpc_wrong"} {
		bad := metadata.NewOutgoingContext(ctx, metadata.Pairs("x-token", key))
		_, err := c.GetVersion(bad, &pb.GetVersionRequest{})
		require.Equal(t, codes.Unauthenticated, status.Code(err))
		stream, err := c.Subscribe(bad)
		require.NoError(t, err)
		_, err = stream.Recv()
		require.Equal(t, codes.Unauthenticated, status.Code(err))
		_, resp, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+key, nil)
		require.Error(t, err)
		require.Equal(t, http.StatusUnauthorized, resp.StatusCode)
		var body map[string]any
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&body))
		require.EqualValues(t, 401, body["statusCode"])
	}
	_, err := New(Config{Addr: "0.0.0.0:0"}, Deps{Keys: &keys.Static{}, Offsets: newTopic(), OpenTail: newTopic().open})
	require.ErrorContains(t, err, "--rpc-keys")
}

func TestASlowClientIsCutOffAndHoldsNobodyUp(t *testing.T) {
	f := start(t, Config{buffer: 50}, func(to *socket.Timings) { to.GoodbyeTimeout = time.Second })
	slow := f.subscribe(t, filters{"all": {}})
	conn := f.dial(t)
	f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{}]}`)
	require.Equal(t, 2, f.hub.count())
	fast := f.subscribe(t, filters{"few": {AccountInclude: []string{text(9)}}})
	const total = 3000
	log := strings.Repeat("x", 10_000)
	for i := range total {
		x := tx{number: i, keys: []byte{1}, log: log}
		if i%100 == 0 {
			x.keys = []byte{9}
		}
		f.publish(x)
	}
	for i := 0; i < total; i += 100 {
		n, _ := next(t, fast)
		require.EqualValues(t, i, n)
	}
	require.Eventually(t, func() bool { return f.hub.count() == 1 }, patience, 10*time.Millisecond, "both slow ones are gone, whether they read or not")
	require.EqualValues(t, 2, f.hub.lagged.Load())
	var err error
	seen := 0
	for ; err == nil; seen++ {
		_, err = slow.Recv()
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, "reads slower")
	require.Less(t, seen, total)
}

func TestSubscribersAreBounded(t *testing.T) {
	f := start(t, Config{MaxSubscribers: 1})
	f.subscribe(t, nil)
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	_, err = stream.Recv()
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	_, resp, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+f.key, nil)
	require.Error(t, err)
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

func TestTheTopicIsOpenedAgain(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := start(t, Config{})
	stream := f.subscribe(t, filters{"all": {}})
	last := tx{number: 4}.record()
	last.Offset = 8
	f.topic.records <- last
	n, _ := next(t, stream)
	require.EqualValues(t, 4, n)
	f.topic.fail <- errors.New("gone for good")
	require.Equal(t, map[kafka.TopicPartition]int64{end: 9}, <-f.topic.opened, "where it was left")
	f.topic.records <- kafka.Record{Value: []byte("garbage")}
	f.publish(tx{number: 5})
	n, _ = next(t, stream)
	require.EqualValues(t, 5, n)
}

func TestStopTellsSubscribers(t *testing.T) {
	f := start(t, Config{})
	stream := f.subscribe(t, nil)
	conn := f.dial(t)
	f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	ws := make(chan error, 1)
	go func() {
		_, _, err := conn.Read(context.Background())
		ws <- err
	}()
	began := time.Now()
	f.stop()
	require.Less(t, time.Since(began), patience, "they go by themselves, before the time that they may take")
	_, err := stream.Recv()
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(<-ws))
}

func TestATakenPortIsOneLine(t *testing.T) {
	f := start(t, Config{})
	s, err := New(Config{Addr: f.Addr()}, Deps{Keys: &keys.Static{}, Offsets: f.topic, OpenTail: f.topic.open})
	require.NoError(t, err)
	err = s.Run(t.Context())
	require.ErrorContains(t, err, "--stream-addr")
	require.NotContains(t, fmt.Sprint(err), "\n")
}
