package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/access/keys"
)

// startProcessed starts a stream over a log and a node.
func startProcessed(t *testing.T, l *memoryLog, cfg Config) (*fixture, *node) {
	t.Helper()
	n := startNode(t)
	cfg.Processed.Endpoint, cfg.Processed.firstPause = n.url, time.Millisecond
	return startOn(t, l, cfg), n
}

func atProcessed() *pb.CommitmentLevel { level := pb.CommitmentLevel_PROCESSED; return &level }

// allProcessed asks for all that the stream carries at processed.
func allProcessed() *pb.SubscribeRequest {
	return &pb.SubscribeRequest{Commitment: atProcessed(), Transactions: filters{"all": {}},
		Slots:      map[string]*pb.SubscribeRequestFilterSlots{"s": {InterslotUpdates: yes()}, gapsFilter: {}},
		BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}}}
}

// listeners waits until n subscribers have filters for transactions or for slots.
func (f *fixture) listeners(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		count := 0
		for _, s := range f.hub.shards {
			s.mu.Lock()
			count += len(s.watchers)
			s.mu.Unlock()
		}
		return count == n
	}, patience, time.Millisecond)
}

// TestEachGetsItsCommitment: a client at processed and one at confirmed get each transaction once,
// at the commitment that they asked for.
func TestEachGetsItsCommitment(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(99, 98, 1, false)
	f, n := startProcessed(t, l, Config{})
	session := n.session(t)
	require.Equal(t, pb.CommitmentLevel_PROCESSED, session.request.GetCommitment())
	require.Len(t, session.request.Transactions["mintlake"].AccountInclude, 3, "what ingest asks for")
	require.Nil(t, session.request.FromSlot)
	processed := f.subscribeFrom(t, t.Context(), allProcessed())
	slots := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Commitment: atProcessed(), Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {FilterByCommitment: yes()}}})
	confirmed := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Transactions: filters{"all": {}}, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}})
	f.listeners(t, 3)
	session.say("bank 100 99", "tx 10000 100", "vote 10009 100", "processed 100 99", "tx 10001 100", "meta 100 99", "tx 10000 100")
	require.Equal(t, []string{"100 SLOT_CREATED_BANK", "10000", "10001", "100 SLOT_PROCESSED", "100 meta"}, told(t, processed, 5),
		"the end of a slot when both its status and its block came; nothing twice")
	require.Equal(t, []string{"100 SLOT_PROCESSED"}, told(t, slots, 1))
	l.slot(100, 99, 2, false)
	require.Equal(t, []string{"10000", "10001", "100 SLOT_CONFIRMED"}, told(t, confirmed, 3))
	require.Equal(t, []string{"100 SLOT_CONFIRMED"}, told(t, processed, 1), "no transaction again")
	session.say("tx 10100 101")
	l.slot(101, 100, 1, false)
	require.Equal(t, []string{"10100"}, told(t, confirmed, 1))
	require.ElementsMatch(t, []string{"10100", "101 SLOT_CONFIRMED"}, told(t, processed, 2))

	c, ctx := f.client(t)
	slot, err := c.GetSlot(ctx, &pb.GetSlotRequest{Commitment: atProcessed()})
	require.NoError(t, err)
	require.EqualValues(t, 100, slot.Slot)
	hash, err := c.GetLatestBlockhash(ctx, &pb.GetLatestBlockhashRequest{Commitment: atProcessed()})
	require.NoError(t, err)
	require.Equal(t, text32(100), hash.Blockhash)
	require.EqualValues(t, 95+validFor, hash.LastValidBlockHeight)
	valid, err := c.IsBlockhashValid(ctx, &pb.IsBlockhashValidRequest{Blockhash: text32(100), Commitment: atProcessed()})
	require.NoError(t, err)
	require.True(t, valid.Valid)
	version, err := c.GetVersion(ctx, &pb.GetVersionRequest{})
	require.NoError(t, err)
	require.Contains(t, version.Version, `"commitment":"confirmed","processed":true`)
	require.Equal(t, uint64(100), f.status().ProcessedSlot)
}

// TestDeadSlotsAreTold: with the node's reason, once, behind the transactions of the slot; those
// that only the log knows of, too.
func TestDeadSlotsAreTold(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(99, 98, 0, false)
	f, n := startProcessed(t, l, Config{})
	processed := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Commitment: atProcessed(), Transactions: filters{"all": {}}, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}})
	confirmed := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}})
	f.listeners(t, 2)
	session := n.session(t)
	session.say("tx 10000 100", "processed 100 99", "meta 100 99", "dead 100", "dead 100", "tx 10100 101", "processed 101 99", "meta 101 99")
	require.Equal(t, []string{"10000", "100 SLOT_PROCESSED", "100 SLOT_DEAD", "10100", "101 SLOT_PROCESSED"}, told(t, processed, 5))
	require.EqualValues(t, 101, f.processed.recent.latest(levelLog).GetSlot())
	l.dies(100)
	l.dies(101)
	for _, slot := range []uint64{100, 101} {
		u, err := confirmed.Recv()
		require.NoError(t, err)
		require.Equal(t, slot, u.GetSlot().GetSlot())
		require.Equal(t, deadFork, u.GetSlot().GetDeadError())
	}
	u, err := processed.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 101, u.GetSlot().GetSlot(), "100 was told")
	require.Equal(t, deadFork, u.GetSlot().GetDeadError())
	require.Nil(t, f.processed.recent.latest(levelLog))
}

// TestProcessedResumes: after a break the node replays, and nothing is lost or doubled; or it does
// not, and what is missing is told. A client at confirmed is told nothing.
func TestProcessedResumes(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(99, 98, 0, false)
	f, n := startProcessed(t, l, Config{})
	processed := f.subscribeFrom(t, t.Context(), allProcessed())
	confirmed := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Transactions: filters{"all": {}}, Slots: map[string]*pb.SubscribeRequestFilterSlots{gapsFilter: {}}})
	f.listeners(t, 2)
	session := n.session(t)
	session.say("tx 10000 100", "processed 100 99", "meta 100 99", "tx 10100 101")
	require.Equal(t, []string{"10000", "100 SLOT_PROCESSED", "100 meta", "10100"}, told(t, processed, 4))
	session.ends(codes.Unavailable)

	session = n.session(t)
	require.EqualValues(t, 100-replayBack, session.request.GetFromSlot())
	session.say("shred 100", "tx 10000 100", "processed 100 99", "meta 100 99", "tx 10100 101", "tx 10101 101", "processed 101 100", "meta 101 100")
	require.Equal(t, []string{"100 SLOT_FIRST_SHRED_RECEIVED", "10101", "101 SLOT_PROCESSED", "101 meta"}, told(t, processed, 4))
	session.ends(codes.Internal) // it had been sending: this is not about from_slot

	session = n.session(t)
	require.NotNil(t, session.request.FromSlot)
	session.ends(codes.OutOfRange)
	session = n.session(t)
	require.Nil(t, session.request.FromSlot, "the server refused")
	session.say("confirmed 90", "tx 10501 105", "processed 105 104", "meta 105 104")
	require.Equal(t, []string{"102-105 gap", "10501", "105 SLOT_PROCESSED", "105 meta"}, told(t, processed, 4))
	session.ends(codes.Unavailable)

	session = n.session(t)
	require.NotNil(t, session.request.FromSlot, "it is asked again")
	// The server says nothing, and does not replay.
	session.say("shred 107", "tx 10600 106", "processed 106 105", "meta 106 105")
	require.Equal(t, []string{"106-107 gap", "107 SLOT_FIRST_SHRED_RECEIVED", "10600", "106 SLOT_PROCESSED", "106 meta"}, told(t, processed, 5))
	session.say("processed 110 109", "meta 110 109") // it left out 108 and 109
	require.Equal(t, []string{"107-109 gap", "110 SLOT_PROCESSED", "110 meta"}, told(t, processed, 3))
	require.EqualValues(t, 3, testutil.ToFloat64(f.metrics.processed.gaps))
	l.slot(100, 99, 1, false)
	require.Equal(t, []string{"10000"}, told(t, confirmed, 1))
}

// TestANodeWithoutReplay: whatever code it refuses from_slot with, and if it pings before, it is
// then asked without. Any other end of a connection is no refusal.
func TestANodeWithoutReplay(t *testing.T) {
	f, n := startProcessed(t, newMemoryLog(0), Config{Processed: ProcessedConfig{maxPause: time.Millisecond}})
	stream := f.subscribeFrom(t, t.Context(), allProcessed())
	f.listeners(t, 1)
	session := n.session(t)
	session.say("processed 100 99", "meta 100 99")
	require.Equal(t, []string{"100 SLOT_PROCESSED", "100 meta"}, told(t, stream, 2))
	session.ends(codes.Unavailable)
	for _, code := range []codes.Code{codes.OutOfRange, codes.InvalidArgument, codes.Internal, codes.Unimplemented, codes.FailedPrecondition, codes.Unknown, codes.NotFound, codes.DataLoss} {
		session = n.session(t)
		require.NotNil(t, session.request.FromSlot, code)
		session.say("ping")
		session.ends(code)
		session = n.session(t)
		require.Nil(t, session.request.FromSlot, code)
		session.ends(codes.Unavailable)
	}
	for _, code := range []codes.Code{codes.OK, codes.Unavailable, codes.Aborted, codes.DeadlineExceeded, codes.ResourceExhausted, codes.PermissionDenied, codes.Unauthenticated, codes.Canceled} {
		session = n.session(t)
		require.NotNil(t, session.request.FromSlot, code)
		session.ends(code)
	}
	session = n.session(t)
	require.NotNil(t, session.request.FromSlot)
	require.Equal(t, 1.0, testutil.ToFloat64(f.metrics.processed.sessions), "the others brought nothing")
}

// TestANodeWithoutBlocks: the ends of slots are told all the same, later.
func TestANodeWithoutBlocks(t *testing.T) {
	f, n := startProcessed(t, newMemoryLog(0), Config{})
	stream := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Commitment: atProcessed(), Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}})
	f.listeners(t, 1)
	session := n.session(t)
	for slot := range uint64(endsKept + 2) {
		session.say(fmt.Sprintf("processed %d %d", 100+slot, 99+slot))
	}
	require.Equal(t, []string{"100 SLOT_PROCESSED", "101 SLOT_PROCESSED"}, told(t, stream, 2))
	c, ctx := f.client(t)
	slot, err := c.GetSlot(ctx, &pb.GetSlotRequest{Commitment: atProcessed()})
	require.NoError(t, err)
	require.EqualValues(t, 101, slot.Slot)
}

// TestProcessedStalls: a node that is away is told at processed only.
func TestProcessedStalls(t *testing.T) {
	t.Parallel() // it waits most of the time
	l := newMemoryLog(0)
	f, n := startProcessed(t, l, Config{stallAfter: 100 * time.Millisecond, Processed: ProcessedConfig{silence: 200 * time.Millisecond}})
	stream := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Commitment: atProcessed(), Slots: map[string]*pb.SubscribeRequestFilterSlots{statusFilter: {}}})
	require.Equal(t, "stalled: "+stalledProcessed, slotOf(t, stream).GetDeadError())
	late := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{Commitment: atProcessed(), Slots: map[string]*pb.SubscribeRequestFilterSlots{statusFilter: {}}})
	require.Equal(t, "stalled: "+stalledProcessed, slotOf(t, late).GetDeadError())
	silent := n.session(t)
	_ = silent // the node says nothing more: the connection is given up, and another one is made
	ctx, cancel := context.WithCancel(t.Context())
	var talking sync.WaitGroup
	defer talking.Wait()
	defer cancel()
	// That one may be silent for too long, too.
	talking.Go(func() { n.repeats(ctx, "processed 100 99") })
	require.Equal(t, pb.SlotStatus_SLOT_CONFIRMED, slotOf(t, stream).Status)
	require.Equal(t, pb.SlotStatus_SLOT_CONFIRMED, slotOf(t, late).Status)
}

// TestAClientThatChangesToProcessed: it is told at once that processed is stalled, and once.
func TestAClientThatChangesToProcessed(t *testing.T) {
	f, n := startProcessed(t, newMemoryLog(0), Config{stallAfter: 100 * time.Millisecond, Processed: ProcessedConfig{silence: patience}})
	stream := f.subscribeFrom(t, f.context(t), &pb.SubscribeRequest{Slots: map[string]*pb.SubscribeRequestFilterSlots{statusFilter: {}}})
	require.Equal(t, "stalled: "+stalledSource, slotOf(t, stream).GetDeadError())
	for _, s := range f.hub.shards {
		require.Eventually(t, func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.stalled[levelProcessed] != nil
		}, patience, time.Millisecond)
	}
	for range 2 {
		require.NoError(t, stream.Send(&pb.SubscribeRequest{Commitment: atProcessed(), Slots: map[string]*pb.SubscribeRequestFilterSlots{statusFilter: {}}}))
	}
	require.Equal(t, "stalled: "+stalledProcessed, slotOf(t, stream).GetDeadError())
	n.session(t).say("processed 100 99", "meta 100 99")
	require.Equal(t, pb.SlotStatus_SLOT_CONFIRMED, slotOf(t, stream).Status)
}

// TestProcessedIsRefused: without the setting, in replays, and what only processed has.
func TestProcessedIsRefused(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, false)
	without := startOn(t, l, Config{})
	with, _ := startProcessed(t, l, Config{})
	from := uint64(100)
	for want, c := range map[string]struct {
		f  *fixture
		in *pb.SubscribeRequest
	}{
		"its operator can add it (stream.processed)": {without, allProcessed()},
		"interslot_updates":                          {with, &pb.SubscribeRequest{Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {InterslotUpdates: yes()}}}},
		"comes live only":                            {with, &pb.SubscribeRequest{Commitment: atProcessed(), FromSlot: &from, Transactions: filters{"all": {}}}},
	} {
		_, err := c.f.subscribeFrom(t, t.Context(), c.in).Recv()
		require.Equal(t, codes.InvalidArgument, status.Code(err))
		require.ErrorContains(t, err, want)
	}
	for _, c := range []struct {
		f             *fixture
		message, want string
	}{
		{without, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"commitment":"processed"}]}`, "stream.processed"},
		{without, `{"jsonrpc":"2.0","id":1,"method":"slotsUpdatesSubscribe"}`, "stream.processed"},
		{with, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"commitment":"processed","fromSlot":100}]}`, "comes live only"},
		{with, `{"jsonrpc":"2.0","id":1,"method":"slotSubscribe","params":[{"commitment":"final"}]}`, "commitment must be"},
		{with, `{"jsonrpc":"2.0","id":1,"method":"slotSubscribe","params":[{"level":"processed"}]}`, "unknown key"},
	} {
		require.Contains(t, c.f.call(t, c.f.dial(t), c.message), c.want)
	}
	_, err := New(Config{Addr: "127.0.0.1:0", Processed: ProcessedConfig{Endpoint: "geyser.example:443"}}, Deps{Keys: &keys.Static{}, Offsets: l, OpenTail: l.open, Logger: slog.Default()})
	require.ErrorContains(t, err, "stream.processed: endpoint: want http(s)")
}

// TestProcessedOverWebSocket: each subscription has its own commitment; updates of slots have the
// shape that web3.js reads.
func TestProcessedOverWebSocket(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(99, 98, 0, false)
	f, n := startProcessed(t, l, Config{})
	conn := f.dial(t)
	for i, call := range []string{`"transactionSubscribe","params":[{},{"commitment":"processed","transactionDetails":"none"}]`,
		`"transactionSubscribe","params":[{},{"transactionDetails":"none"}]`, `"slotSubscribe","params":[{"commitment":"processed"}]`, `"slotsUpdatesSubscribe"`} {
		require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":`+call+`}`), fmt.Sprintf(`"result":%d`, i+1))
	}
	read := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			_, message, err := conn.Read(f.context(t))
			require.NoError(t, err)
			var in struct {
				Params struct {
					Subscription int
					Result       map[string]any
				}
			}
			require.NoError(t, json.Unmarshal(message, &in), string(message))
			if at, ok := in.Params.Result["timestamp"].(float64); ok {
				require.Positive(t, at)
				delete(in.Params.Result, "timestamp")
			}
			result, err := json.Marshal(in.Params.Result)
			require.NoError(t, err)
			got = append(got, fmt.Sprintf("%d %s", in.Params.Subscription, result))
		}
		require.ElementsMatch(t, want, got)
	}
	session := n.session(t)
	session.say("shred 100", "bank 100 99", "tx 10000 100", "processed 100 99", "meta 100 99", "dead 100")
	read(`4 {"slot":100,"type":"firstShredReceived"}`, `4 {"parent":99,"slot":100,"type":"createdBank"}`, `1 {"slot":100,"transactionIndex":10000}`,
		`3 {"parent":99,"root":0,"slot":100}`, `4 {"err":"a bad block","slot":100,"type":"dead"}`)
	l.slot(101, 99, 1, false)
	l.finalize(99)
	read(`2 {"slot":101,"transactionIndex":10100}`, `4 {"slot":101,"type":"optimisticConfirmation"}`, `4 {"slot":99,"type":"root"}`)
	session.ends(codes.Unavailable)
	session = n.session(t)
	session.say("tx 10400 104")
	read(`1 {"firstSlot":101,"lastSlot":104}`, `1 {"slot":104,"transactionIndex":10400}`)
}

// TestGarbageOfTheNode: it is counted, and the rest goes on.
func TestGarbageOfTheNode(t *testing.T) {
	s, err := New(Config{Addr: "127.0.0.1:0", Processed: ProcessedConfig{Endpoint: "http://127.0.0.1:1"}}, Deps{Keys: &keys.Static{}, Offsets: newTopic(), OpenTail: newTopic().open})
	require.NoError(t, err)
	for i, message := range [][]byte{{0x22, 1, 0xff}, {0x22, 9}, {0x1a, 1, 0xff}, {0x3a, 1, 0xff}, {0x3a, 0}} {
		s.processed.take(received{message: message, at: time.Now()})
		require.EqualValues(t, i+1, testutil.ToFloat64(s.metrics.processed.bad), "%x", message)
	}
	require.Empty(t, s.processed.list)
	for slot := uint64(1e9); slot < 1e9+100*endsKept; slot++ {
		s.processed.take(received{message: wireOf(t, nodeUpdate(fmt.Sprintf("processed %d %d", slot, slot-1))), at: time.Now()})
	}
	require.Len(t, s.processed.notes, 99*endsKept, "the others are incomplete")
}

// TestASlowClientAtProcessedIsCutOff as one at confirmed is.
func TestASlowClientAtProcessedIsCutOff(t *testing.T) {
	h := newHub(1, 10)
	sub, err := h.add("", formGRPC, 2)
	require.NoError(t, err)
	read, err := readFilters(filters{"all": {}}, limits{1, 10})
	require.NoError(t, err)
	read[0].at = levelProcessed
	require.NoError(t, h.set(sub, read, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { _ = h.run(ctx) }()
	h.publish(ctx, []*transaction{{slot: 1}, {slot: 2}, {slot: 3}})
	h.publishAt(ctx, levelProcessed, []*transaction{{slot: 1}, {slot: 2}, {slot: 3}})
	<-sub.Ended()
	require.ErrorIs(t, sub.Why(), errLagged)
	waiting, oldest := sub.out.backlog()
	require.Equal(t, 2, waiting)
	require.EqualValues(t, 1, oldest)
	require.True(t, strings.HasPrefix(errLagged.Error(), "the client reads slower"))
}
