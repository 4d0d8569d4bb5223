package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/schemas"
)

// topic stands in for Kafka.
type topic struct {
	records chan kafka.Record
	fail    chan error
	opened  chan map[kafka.TopicPartition]int64
}

func newTopic() *topic {
	return &topic{make(chan kafka.Record, 100_000), make(chan error, 1), make(chan map[kafka.TopicPartition]int64, 10)}
}

var end = kafka.TopicPartition{Topic: schemas.TopicTransactions, Partition: 0}

func (t *topic) EndOffsets(_ context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	if len(topics) != 1 || topics[0] != schemas.TopicTransactions {
		return nil, errors.New("other topics")
	}
	return map[kafka.TopicPartition]int64{end: 7}, nil
}

func (t *topic) open(_ []string, start map[kafka.TopicPartition]int64) (Tailer, error) {
	t.opened <- start
	return t, nil
}

func (t *topic) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	select {
	case r := <-t.records:
		batch := []kafka.Record{r}
		for len(batch) < limit && len(t.records) > 0 {
			batch = append(batch, <-t.records)
		}
		return batch, nil
	case err := <-t.fail:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (t *topic) Close() {}

func named(n byte) []byte {
	key := make([]byte, 32)
	key[0], key[31] = n, 1
	return key
}

func text(n byte) string { return base58.Encode(named(n)) }

// tx is a transaction whose signature is made of its number.
type tx struct {
	number       int
	slot         uint64
	vote, failed bool
	keys, loaded []byte
	log          string
}

func (x tx) signature() []byte {
	s := make([]byte, 64)
	copy(s, strconv.Itoa(x.number))
	return s
}

func (x tx) message() *pb.SubscribeUpdateTransaction {
	m := &pb.Message{Header: &pb.MessageHeader{NumRequiredSignatures: 1}, RecentBlockhash: named(99), Versioned: len(x.loaded) > 0}
	for _, k := range x.keys {
		m.AccountKeys = append(m.AccountKeys, named(k))
	}
	meta := &pb.TransactionStatusMeta{Fee: 5000, LogMessages: []string{x.log}}
	for i, k := range x.loaded {
		if i%2 == 0 {
			meta.LoadedWritableAddresses = append(meta.LoadedWritableAddresses, named(k))
		} else {
			meta.LoadedReadonlyAddresses = append(meta.LoadedReadonlyAddresses, named(k))
		}
	}
	if x.failed {
		meta.Err = &pb.TransactionError{Err: []byte{8, 0, 0, 0, 2, 25, 0, 0, 0, 0x71, 0x17, 0, 0}}
	}
	return &pb.SubscribeUpdateTransaction{Slot: x.slot, Transaction: &pb.SubscribeUpdateTransactionInfo{
		Signature: x.signature(), IsVote: x.vote, Index: uint64(x.number), Meta: meta,
		Transaction: &pb.Transaction{Signatures: [][]byte{x.signature()}, Message: m},
	}}
}

func (x tx) record() kafka.Record {
	value, err := proto.Marshal(x.message())
	if err != nil {
		panic(err)
	}
	return kafka.Record{Topic: schemas.TopicTransactions, Key: x.signature(), Value: value,
		Headers: []kafka.Header{{Key: schemas.HeaderReceivedAt, Value: []byte("1700000000000")}}}
}

type fixture struct {
	*Server
	topic *topic
	key   string
	stop  func()
}

func start(t *testing.T, cfg Config) *fixture {
	t.Helper()
	key, hash := keys.Generate(keys.RPC)
	store, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.RPC, Hash: hash})
	require.NoError(t, err)
	cfg.Addr = "127.0.0.1:0"
	feed := newTopic()
	s, err := New(cfg, Deps{Keys: store, Offsets: feed, OpenTail: feed.open, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			cancel()
			select {
			case err := <-done:
				require.NoError(t, err)
			case <-time.After(15 * time.Second):
				t.Error("the stream did not stop")
			}
		}
	}
	t.Cleanup(stop)
	<-s.Ready()
	require.Equal(t, map[kafka.TopicPartition]int64{end: 7}, <-feed.opened, "live: from the topic's end")
	return &fixture{s, feed, key, stop}
}

func (f *fixture) publish(list ...tx) {
	for _, x := range list {
		f.topic.records <- x.record()
	}
}

func (f *fixture) client(t *testing.T) (pb.GeyserClient, context.Context) {
	t.Helper()
	conn, err := grpc.NewClient(f.Addr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return pb.NewGeyserClient(conn), metadata.AppendToOutgoingContext(ctx, "x-token", f.key)
}

type filters = map[string]*pb.SubscribeRequestFilterTransactions

// subscribe opens a stream with filters and waits until they count.
func (f *fixture) subscribe(t *testing.T, list filters) pb.Geyser_SubscribeClient {
	t.Helper()
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	f.setFilters(t, stream, list)
	return stream
}

// setFilters sends filters, then a ping: requests are handled in order, so the pong says that the filters count.
func (f *fixture) setFilters(t *testing.T, stream pb.Geyser_SubscribeClient, list filters) {
	t.Helper()
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Transactions: list}))
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 42}}))
	for {
		update, err := stream.Recv()
		require.NoError(t, err)
		if pong := update.GetPong(); pong != nil {
			require.EqualValues(t, 42, pong.Id)
			return
		}
	}
}

// next returns the next transaction's number and the names of the filters that wanted it.
func next(t *testing.T, stream pb.Geyser_SubscribeClient) (uint64, []string) {
	t.Helper()
	for {
		update, err := stream.Recv()
		require.NoError(t, err)
		if x := update.GetTransaction(); x != nil {
			return x.Transaction.Index, update.Filters
		}
	}
}

func yes() *bool { v := true; return &v }
func no() *bool  { v := false; return &v }

func TestFiltersHaveYellowstonesMeaning(t *testing.T) {
	sample := []tx{
		{number: 0, keys: []byte{1, 2}},
		{number: 1, keys: []byte{2, 3}, failed: true},
		{number: 2, keys: []byte{4}, vote: true},
		{number: 3, keys: []byte{1}, loaded: []byte{5, 6}},
		{number: 4, keys: []byte{5}},
	}
	sig := base58.Encode(sample[3].signature())
	for name, c := range map[string]struct {
		filter *pb.SubscribeRequestFilterTransactions
		want   []int
	}{
		"all":                  {&pb.SubscribeRequestFilterTransactions{}, []int{0, 1, 2, 3, 4}},
		"null":                 {nil, []int{0, 1, 2, 3, 4}},
		"no votes":             {&pb.SubscribeRequestFilterTransactions{Vote: no()}, []int{0, 1, 3, 4}},
		"votes":                {&pb.SubscribeRequestFilterTransactions{Vote: yes()}, []int{2}},
		"failed":               {&pb.SubscribeRequestFilterTransactions{Failed: yes()}, []int{1}},
		"not failed":           {&pb.SubscribeRequestFilterTransactions{Failed: no()}, []int{0, 2, 3, 4}},
		"any of":               {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(1), text(4)}}, []int{0, 2, 3}},
		"loaded from a table":  {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(5)}}, []int{3, 4}},
		"readonly from one":    {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(6)}}, []int{3}},
		"none of":              {&pb.SubscribeRequestFilterTransactions{AccountExclude: []string{text(2), text(6)}}, []int{2, 4}},
		"all of":               {&pb.SubscribeRequestFilterTransactions{AccountRequired: []string{text(1), text(2)}}, []int{0}},
		"signature":            {&pb.SubscribeRequestFilterTransactions{Signature: &sig}, []int{3}},
		"conditions are added": {&pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(1), text(2)}, AccountExclude: []string{text(3)}, Failed: no()}, []int{0, 3}},
	} {
		set, err := newFilterSet(filters{"f": c.filter}, limits{1, 10})
		require.NoError(t, err, name)
		got := []int{}
		for i, x := range sample {
			parsed, err := parseRecord(x.record())
			require.NoError(t, err)
			if len(set.match(parsed)) > 0 {
				got = append(got, i)
			}
		}
		require.Equal(t, c.want, got, name)
	}
}

func TestSubscribeGetsWhatItWants(t *testing.T) {
	f := start(t, Config{})
	stream := f.subscribe(t, filters{"one": {AccountInclude: []string{text(1)}}, "two": {AccountInclude: []string{text(2)}}})
	f.publish(tx{number: 1, slot: 9, keys: []byte{1}, log: "hi"}, tx{number: 2, keys: []byte{3}}, tx{number: 3, keys: []byte{2, 1}})
	update, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, []string{"one"}, update.Filters)
	require.EqualValues(t, 1_700_000_000, update.CreatedAt.Seconds)
	require.True(t, proto.Equal(tx{number: 1, slot: 9, keys: []byte{1}, log: "hi"}.message(), update.GetTransaction()), "byte for byte what ingest wrote")
	n, names := next(t, stream)
	require.EqualValues(t, 3, n)
	require.Equal(t, []string{"one", "two"}, names, "once, whatever many filters want it")

	f.setFilters(t, stream, filters{"three": {AccountInclude: []string{text(3)}}})
	f.publish(tx{number: 4, keys: []byte{1}}, tx{number: 5, keys: []byte{3}})
	n, names = next(t, stream)
	require.EqualValues(t, 5, n)
	require.Equal(t, []string{"three"}, names, "a new request replaces the filters")
}

func TestUnaryCalls(t *testing.T) {
	f := start(t, Config{Version: "1.2.3"})
	c, ctx := f.client(t)
	version, err := c.GetVersion(ctx, &pb.GetVersionRequest{})
	require.NoError(t, err)
	require.JSONEq(t, `{"package":"mintlake","version":"1.2.3"}`, version.Version)
	pong, err := c.Ping(ctx, &pb.PingRequest{Count: 3})
	require.NoError(t, err)
	require.EqualValues(t, 3, pong.Count)
	_, err = c.GetSlot(ctx, &pb.GetSlotRequest{})
	require.Equal(t, codes.Unavailable, status.Code(err))
	f.publish(tx{number: 1, slot: 77}, tx{number: 2, slot: 76})
	require.Eventually(t, func() bool {
		slot, err := c.GetSlot(ctx, &pb.GetSlotRequest{})
		return err == nil && slot.Slot == 77
	}, 5*time.Second, 10*time.Millisecond)
}

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

func TestWhatIsNotOfferedIsRefused(t *testing.T) {
	f := start(t, Config{MaxFilters: 2, MaxAddresses: 3})
	finalized, confirmed := pb.CommitmentLevel_FINALIZED, pb.CommitmentLevel_CONFIRMED
	from := uint64(1)
	bad := "x"
	for want, in := range map[string]*pb.SubscribeRequest{
		"slots: this stream":    {Slots: map[string]*pb.SubscribeRequestFilterSlots{"a": {}}},
		"accounts: this":        {Accounts: map[string]*pb.SubscribeRequestFilterAccounts{"a": {}}},
		"from_slot":             {FromSlot: &from},
		"stream is confirmed":   {Commitment: &finalized},
		"at most 2":             {Transactions: filters{"a": {}, "b": {}, "c": {}}},
		"more than 3":           {Transactions: filters{"a": {AccountInclude: []string{text(1), text(2)}}, "b": {AccountExclude: []string{text(1), text(2)}}}},
		"account_include \"x\"": {Transactions: filters{"a": {AccountInclude: []string{"x"}}}},
		"signature \"x\"":       {Transactions: filters{"a": {Signature: &bad}}},
		"at most 128 bytes":     {Transactions: filters{strings.Repeat("n", 129): {}}},
	} {
		c, ctx := f.client(t)
		stream, err := c.Subscribe(ctx)
		require.NoError(t, err)
		require.NoError(t, stream.Send(in))
		_, err = stream.Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err), want)
		require.ErrorContains(t, err, want)
	}
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Commitment: &confirmed, Transactions: filters{"a": {}}}))
	require.NoError(t, stream.CloseSend())
	require.Eventually(t, func() bool { return f.hub.count() == 1 }, 5*time.Second, 5*time.Millisecond)
	time.Sleep(20 * time.Millisecond)
	f.publish(tx{number: 1})
	n, _ := next(t, stream)
	require.EqualValues(t, 1, n, "a client that has said all still listens")
}

func TestServerPings(t *testing.T) {
	f := start(t, Config{PingInterval: 20 * time.Millisecond})
	stream := f.subscribe(t, nil)
	for {
		update, err := stream.Recv()
		require.NoError(t, err)
		if update.GetPing() != nil {
			return
		}
	}
}

func TestASlowClientIsCutOffAndHoldsNobodyUp(t *testing.T) {
	f := start(t, Config{Buffer: 50})
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
	require.Eventually(t, func() bool { return f.hub.count() == 1 }, 5*time.Second, 10*time.Millisecond, "both slow ones are gone, whether they read or not")
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

func (f *fixture) dial(t *testing.T) *websocket.Conn {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+f.key, nil)
	require.NoError(t, err)
	conn.SetReadLimit(1 << 20)
	t.Cleanup(func() { conn.CloseNow() })
	return conn
}

func (f *fixture) call(t *testing.T, conn *websocket.Conn, message string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	require.NoError(t, conn.Write(ctx, websocket.MessageText, []byte(message)))
	_, reply, err := conn.Read(ctx)
	require.NoError(t, err)
	return string(reply)
}

func TestWebSocket(t *testing.T) {
	f := start(t, Config{MaxFilters: 2, PingInterval: 10 * time.Millisecond})
	conn := f.dial(t)
	subscribe := `{"jsonrpc":"2.0","id":"a","method":"transactionSubscribe","params":[{"failed":true,"accountInclude":["` + text(1) + `"]},{"commitment":"confirmed","encoding":"base64"}]}`
	require.JSONEq(t, `{"jsonrpc":"2.0","result":1,"id":"a"}`, f.call(t, conn, subscribe))
	require.JSONEq(t, `{"jsonrpc":"2.0","result":2,"id":2}`, f.call(t, conn, `{"jsonrpc":"2.0","id":2,"method":"transactionSubscribe","params":[{"account_include":["`+text(2)+`"]}]}`))
	require.Contains(t, f.call(t, conn, subscribe), "at most 2 subscriptions")

	f.publish(tx{number: 1, keys: []byte{3}}, tx{number: 2, slot: 8, keys: []byte{1, 2}, failed: true, loaded: []byte{4}, log: "hi"})
	got := map[float64]json.RawMessage{}
	for range 2 {
		_, message, err := conn.Read(t.Context())
		require.NoError(t, err)
		var n struct {
			Method string
			Params struct {
				Subscription float64
				Result       json.RawMessage
			}
		}
		require.NoError(t, json.Unmarshal(message, &n))
		require.Equal(t, "transactionNotification", n.Method)
		got[n.Params.Subscription] = n.Params.Result
	}
	require.Len(t, got, 2)
	require.JSONEq(t, string(got[1]), string(got[2]))
	var result jsonNotification
	require.NoError(t, json.Unmarshal(got[1], &result))
	require.EqualValues(t, 8, result.Slot)
	require.EqualValues(t, 2, result.TransactionIndex)
	require.EqualValues(t, 0, result.Transaction.Version)
	require.Equal(t, []string{"hi"}, result.Transaction.Meta.LogMessages)
	require.Equal(t, map[string]any{"InstructionError": []any{2.0, map[string]any{"Custom": 6001.0}}}, result.Transaction.Meta.Err)
	require.Equal(t, []string{text(4)}, result.Transaction.Meta.Loaded.Writable)

	require.JSONEq(t, `{"jsonrpc":"2.0","result":true,"id":3}`, f.call(t, conn, `{"jsonrpc":"2.0","id":3,"method":"transactionUnsubscribe","params":[1]}`))
	require.JSONEq(t, `{"jsonrpc":"2.0","result":"pong","id":null}`, f.call(t, conn, `{"jsonrpc":"2.0","method":"ping"}`))
	for message, want := range map[string]string{
		`x`: "no JSON-RPC", `{}`: "jsonrpc must be", `{"jsonrpc":"2.0","method":"accountSubscribe","id":1}`: "no such method",
		`{"jsonrpc":"2.0","method":"transactionSubscribe"}`:                                          "params must be",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[7]}`:                             "right shape",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{"accountInclude":["x"]}]}`:      "base58",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"commitment":"finalized"}]}`: "confirmed",
		`{"jsonrpc":"2.0","method":"transactionSubscribe","params":[{},{"encoding":"jsonParsed"}]}`:  "base64 only",
		`{"jsonrpc":"2.0","method":"transactionUnsubscribe","params":[9]}`:                           "no such subscription",
	} {
		require.Contains(t, f.call(t, conn, message), want, message)
	}
	require.NoError(t, conn.Close(websocket.StatusNormalClosure, ""))
	require.Eventually(t, func() bool { return f.hub.count() == 0 }, 5*time.Second, 5*time.Millisecond)
}

func TestWebSocketOfOtherPagesIsRefused(t *testing.T) {
	f := start(t, Config{AllowedOrigins: []string{"https://app.example"}})
	for origin, ok := range map[string]bool{"https://app.example": true, "https://evil.example": false} {
		conn, _, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/?apiKey="+f.key, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		require.Equal(t, ok, err == nil, origin)
		if err == nil {
			conn.CloseNow()
		}
	}
}

func TestOrdinaryHTTPAndGarbage(t *testing.T) {
	f := start(t, Config{})
	for path, want := range map[string]int{"/": 200, "/healthz": 200, "/readyz": 200, "/x": 404} {
		resp, err := http.Get("http://" + f.Addr() + path)
		require.NoError(t, err)
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode)
		require.True(t, json.Valid(body))
	}
	for _, garbage := range []string{"", "P", "PRI x\r\n\r\n", "\x16\x03\x01\x00", strings.Repeat("x", 1<<16)} {
		conn, err := net.Dial("tcp", f.Addr())
		require.NoError(t, err)
		_, _ = io.WriteString(conn, garbage)
		conn.Close()
	}
	c, ctx := f.client(t)
	_, err := c.GetVersion(ctx, &pb.GetVersionRequest{})
	require.NoError(t, err)
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
	f := start(t, Config{})
	stream := f.subscribe(t, filters{"all": {}})
	last := tx{number: 4}.record()
	last.Offset = 8
	f.topic.records <- last
	n, _ := next(t, stream)
	require.EqualValues(t, 4, n)
	f.topic.fail <- errors.New("gone for good")
	f.topic.records <- kafka.Record{Value: []byte("garbage")}
	f.publish(tx{number: 5})
	n, _ = next(t, stream)
	require.EqualValues(t, 5, n)
	require.Equal(t, map[kafka.TopicPartition]int64{end: 9}, <-f.topic.opened, "where it was left")
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
	require.Less(t, time.Since(began), 20*time.Second)
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
