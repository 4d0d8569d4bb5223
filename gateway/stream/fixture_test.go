package stream

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/usage"
	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/livekeys"
	"github.com/mintlake/mintlake/schemas"
)

// topic stands in for Kafka.
type topic struct {
	records chan kafka.Record
	fail    chan error
	opened  chan map[kafka.TopicPartition]int64
	next    int64
	away    atomic.Bool // nobody answers questions about offsets
}

func newTopic() *topic {
	return &topic{records: make(chan kafka.Record, 100_000), fail: make(chan error, 1), opened: make(chan map[kafka.TopicPartition]int64, 10), next: 7}
}

var end = kafka.TopicPartition{Topic: schemas.TopicTransactions, Partition: 0}

func (t *topic) StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	return t.EndOffsets(ctx, topics)
}

func (t *topic) EndOffsets(_ context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	if t.away.Load() {
		return nil, errors.New("broker away")
	}
	if len(topics) != 1 || topics[0] != schemas.TopicTransactions {
		return nil, errors.New("other topics")
	}
	return map[kafka.TopicPartition]int64{end: 7}, nil
}

func (t *topic) open(_ []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
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
		for i := range batch {
			batch[i].Offset = max(batch[i].Offset, t.next)
			t.next = batch[i].Offset + 1
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

func (x tx) record() kafka.Record { return recordOf(x.message()) }

func recordOf(x *pb.SubscribeUpdateTransaction) kafka.Record {
	value, err := proto.Marshal(x)
	if err != nil {
		panic(err)
	}
	return kafka.Record{Topic: schemas.TopicTransactions, Key: strconv.AppendUint(nil, x.Slot, 10), Value: value,
		Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeTransaction)},
			{Key: schemas.HeaderReceivedAt, Value: []byte("1700000000000")}}}
}

// patience is what anything may take before it counts as hanging.
const patience = 3 * time.Minute

type fixture struct {
	*Server
	topic *topic
	key   string
	stop  func()
}

func start(t *testing.T, cfg Config, changes ...func(*socket.Timings)) *fixture {
	t.Helper()
	return startMetered(t, cfg, nil, changes...)
}

// startMetered counts what the key alice uses with meter.
func startMetered(t *testing.T, cfg Config, meter *usage.Meter, changes ...func(*socket.Timings)) *fixture {
	t.Helper()
	key, hash := keys.Generate(keys.RPC)
	configured, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.RPC, Hash: hash})
	require.NoError(t, err)
	live, _ := livekeys.Start(t)
	return startWith(t, cfg, key, keys.Metered(live, configured, meter), changes...)
}

// startLimited is like startMetered, for a key with rules.
func startLimited(t *testing.T, cfg Config, meter *usage.Meter, rules keys.Rules) *fixture {
	t.Helper()
	live, issuer := livekeys.Start(t)
	key, _, err := issuer.Create(t.Context(), "", keys.RPC, "alice", "", rules)
	require.NoError(t, err)
	return startWith(t, cfg, key, keys.Metered(live, &keys.Static{}, meter))
}

// startWith serves the keys of a store; the fixture's clients use key.
func startWith(t *testing.T, cfg Config, key string, store keys.Store, changes ...func(*socket.Timings)) *fixture {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	// No time is short unless the test says so: a machine may stand still for a while.
	for _, limit := range []*time.Duration{&cfg.stallAfter, &cfg.beginTimeout, &cfg.stopTimeout} {
		if *limit == 0 {
			*limit = patience
		}
	}
	feed := newTopic()
	s, err := New(cfg, Deps{Keys: store, Offsets: feed, OpenTail: feed.open, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.timings = socket.Timings{RefusalsPerSecond: 1000, PingInterval: patience, WriteTimeout: patience, GoodbyeTimeout: patience}
	for _, change := range changes {
		change(&s.timings)
	}
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
			case <-time.After(2 * patience):
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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
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

// setFilters sends filters, then a ping: requests are handled in order, so the pong says that the
// filters count.
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

func no() *bool { v := false; return &v }
