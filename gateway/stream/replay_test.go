package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// memoryLog is the topic in memory. Any number may read it.
type memoryLog struct {
	mu      sync.Mutex
	begin   int64
	records []kafka.Record
	more    chan struct{} // closed with the next record
	tip     uint64
}

func newMemoryLog(begin int64) *memoryLog { return &memoryLog{begin: begin, more: make(chan struct{})} }

func (l *memoryLog) add(slot uint64, kind string, m proto.Message) {
	value, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	r := kafka.Record{Topic: schemas.TopicTransactions, Key: strconv.AppendUint(nil, slot, 10), Value: value,
		Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(kind)}}}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slot < l.tip {
		r.Headers = append(r.Headers, kafka.Header{Key: schemas.HeaderTip, Value: strconv.AppendUint(nil, l.tip, 10)})
	}
	l.tip = max(l.tip, slot)
	r.Offset = l.begin + int64(len(l.records))
	l.records = append(l.records, r)
	close(l.more)
	l.more = make(chan struct{})
}

// slot writes n transactions, numbered slot*100 and on, and, unless it is cut off, the end.
func (l *memoryLog) slot(slot, parent uint64, n int, cut bool) {
	for i := range n {
		l.add(slot, schemas.TypeTransaction, tx{number: int(slot)*100 + i, slot: slot, keys: []byte{byte(i)}}.message())
	}
	if !cut {
		height := slot - 50
		l.add(slot, schemas.TypeStreamBlock, &eventspb.StreamBlock{Slot: slot, ParentSlot: &parent, Published: uint32(n), Blockhash: named(byte(slot)), BlockHeight: &height})
	}
}

func (l *memoryLog) finalize(slot uint64) {
	l.add(slot, schemas.TypeStreamStatus, &eventspb.StreamStatus{Slot: slot, Status: eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED})
}

func (l *memoryLog) StartOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return map[kafka.TopicPartition]int64{theLog: l.begin}, nil
}

func (l *memoryLog) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return map[kafka.TopicPartition]int64{theLog: l.begin + int64(len(l.records))}, nil
}

type memoryReader struct {
	log *memoryLog
	at  int64
}

func (l *memoryLog) open(_ []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
	return &memoryReader{l, start[theLog]}, nil
}

func (r *memoryReader) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	for {
		r.log.mu.Lock()
		if end := r.log.begin + int64(len(r.log.records)); r.at < r.log.begin || r.at > end {
			r.at = r.log.begin // as kafka.Tailer does where its offset is gone
		}
		from, more := r.at-r.log.begin, r.log.more
		list := r.log.records[min(from, int64(len(r.log.records))):]
		list = list[:min(limit, len(list))]
		r.log.mu.Unlock()
		if len(list) > 0 {
			r.at += int64(len(list))
			return list, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (r *memoryReader) Close() {}

func startOn(t *testing.T, l *memoryLog, cfg Config) *fixture {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	s, err := New(cfg, Deps{Keys: &keys.Static{}, Offsets: l, OpenTail: l.open, Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	s.timings.PingInterval, s.timings.WriteTimeout, s.timings.RefusalsPerSecond = patience, patience, 1000
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-s.Ready()
	<-s.fed
	return &fixture{Server: s}
}

// subscribeFrom opens a stream.
func (f *fixture) subscribeFrom(t *testing.T, ctx context.Context, in *pb.SubscribeRequest) pb.Geyser_SubscribeClient {
	c, _ := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(in))
	return stream
}

// told reads n updates as text: "700" a transaction, "7 meta", "5-6 gap", "7 SLOT_CONFIRMED".
func told(t *testing.T, stream pb.Geyser_SubscribeClient, n int) (list []string) {
	t.Helper()
	for len(list) < n {
		update, err := stream.Recv()
		require.NoError(t, err)
		switch {
		case update.GetTransaction() != nil:
			list = append(list, fmt.Sprint(update.GetTransaction().Transaction.Index))
		case strings.HasPrefix(update.GetSlot().GetDeadError(), "gap: "):
			list = append(list, fmt.Sprintf("%d-%d gap", update.GetSlot().GetParent(), update.GetSlot().GetSlot()))
		case update.GetSlot() != nil:
			list = append(list, fmt.Sprintf("%d %s", update.GetSlot().GetSlot(), update.GetSlot().GetStatus()))
		case update.GetBlockMeta() != nil:
			list = append(list, fmt.Sprintf("%d meta", update.GetBlockMeta().GetSlot()))
		}
	}
	return list
}

func TestReplayGoesOnLive(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, false)
	l.slot(101, 100, 2, false)
	l.slot(103, 101, 2, true) // the writer was killed here
	l.slot(103, 101, 3, false)
	l.finalize(100)
	l.slot(106, 104, 1, false)
	l.slot(104, 103, 1, false) // filled in later
	f := startOn(t, l, Config{})
	from := uint64(101)
	stream := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}},
		Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}, gapsFilter: {}}, BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}}})
	require.Equal(t, []string{"10100", "10101", "101 SLOT_CONFIRMED", "101 meta", "10300", "10301", "10302", "103 SLOT_CONFIRMED", "103 meta",
		"10600", "104-104 gap", "106 SLOT_CONFIRMED", "106 meta", "10400", "104 SLOT_CONFIRMED", "104 meta"}, told(t, stream, 16))
	l.slot(106, 104, 1, false) // repeated
	l.slot(107, 106, 1, false)
	l.finalize(101)
	got := told(t, stream, 6)
	require.Subset(t, got, []string{"106 SLOT_CONFIRMED", "106 meta", "10700", "107 SLOT_CONFIRMED", "107 meta", "101 SLOT_FINALIZED"})

	c, ctx := f.client(t)
	info, err := c.SubscribeReplayInfo(ctx, &pb.SubscribeReplayInfoRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 100, info.GetFirstAvailable())
	require.Eventually(t, func() bool { return f.recent.root() == 101 }, patience, time.Millisecond)
	latest, err := c.GetLatestBlockhash(ctx, &pb.GetLatestBlockhashRequest{})
	require.NoError(t, err)
	require.EqualValues(t, 107, latest.Slot)
	require.EqualValues(t, 57+150, latest.LastValidBlockHeight)
	height, err := c.GetBlockHeight(ctx, &pb.GetBlockHeightRequest{Commitment: finalized()})
	require.NoError(t, err)
	require.EqualValues(t, 51, height.BlockHeight)
	valid, err := c.IsBlockhashValid(ctx, &pb.IsBlockhashValidRequest{Blockhash: text(104)})
	require.NoError(t, err)
	require.True(t, valid.Valid)
	_, err = c.IsBlockhashValid(ctx, &pb.IsBlockhashValidRequest{Blockhash: text(9)})
	require.Equal(t, codes.Unavailable, status.Code(err), "it may be of a block before those that are known")
	processed := pb.CommitmentLevel_PROCESSED
	_, err = c.GetBlockHeight(ctx, &pb.GetBlockHeightRequest{Commitment: &processed})
	require.ErrorContains(t, err, "processed is not served")
}

// A slot that the log no longer has is refused with the oldest one, in words and as a number.
func TestASlotThatIsTooOld(t *testing.T) {
	l := newMemoryLog(1000)
	for slot := uint64(100); slot < 140; slot++ {
		l.slot(slot, slot-1, 3, false)
	}
	f := startOn(t, l, Config{MaxReplays: 1})
	from := uint64(100)
	_, err := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}}).Recv()
	require.Equal(t, codes.OutOfRange, status.Code(err))
	require.ErrorContains(t, err, "the oldest slot there is is 101")
	require.Equal(t, "101", status.Convert(err).Details()[0].(*errdetails.ErrorInfo).Metadata["oldest_slot"])

	conn, _, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/", nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	call := func(message string) (answer struct {
		Result any
		Error  struct {
			Code int
			Data map[string]int
		}
		Method string
		Params struct{ Result any }
	}) {
		if message != "" {
			require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(message)))
		}
		_, raw, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &answer))
		return answer
	}
	// answered skips notifications of what was subscribed before.
	answered := func(message string) any {
		answer := call(message)
		for answer.Method != "" {
			answer = call("")
		}
		require.Zero(t, answer.Error.Code)
		return answer.Result
	}
	refused := call(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"fromSlot":7}]}`)
	require.Equal(t, codeSlotTooOld, refused.Error.Code)
	require.Equal(t, map[string]int{"oldestSlot": 101, "fromSlot": 7}, refused.Error.Data)

	require.EqualValues(t, 1, answered(`{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}`))
	require.EqualValues(t, 2, answered(`{"jsonrpc":"2.0","id":1,"method":"rootSubscribe"}`))
	require.EqualValues(t, 3, answered(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"fromSlot":139}]}`))
	for range 3 {
		require.Equal(t, "transactionNotification", call("").Method)
	}
	l.finalize(120)
	l.slot(145, 142, 0, false)
	seen := map[string]any{}
	for range 3 {
		answer := call("")
		seen[answer.Method] = answer.Params.Result
	}
	require.Equal(t, map[string]any{"rootNotification": 120., "slotNotification": map[string]any{"slot": 145., "parent": 142., "root": 120.},
		"gapNotification": map[string]any{"firstSlot": 140., "lastSlot": 142.}}, seen)
	for id := 1; id <= 3; id++ {
		method := []string{"slot", "root", "transaction"}[id-1] + "Unsubscribe"
		require.Equal(t, true, answered(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":[%d]}`, method, id)))
	}
}

// TestNothingIsLostOrDoubled: a writer is killed and writes slots again, slots are skipped and
// filled in later, and clients come, go and come back at the slot that they were at, while it all
// goes on. Each gets what it wants: everything at least once over all its connections, once on each
// of them, and each slot in order.
func TestNothingIsLostOrDoubled(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomSchedule(t, seed) })
	}
}

const firstSlot, lastSlot = uint64(1000), uint64(1120)

func randomSchedule(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 17))
	l := newMemoryLog(0)
	want := map[uint64]int{} // transactions of each slot
	parents := map[uint64]uint64{}
	parent := firstSlot - 1
	var late []uint64
	l.slot(parent, parent-1, 0, false)
	write := func(slot uint64) {
		if r.IntN(10) == 0 {
			return // skipped
		}
		want[slot], parents[slot] = r.IntN(5), parent
		parent = slot
		switch r.IntN(8) {
		case 0: // a gap that is filled later
			late = append(late, slot)
			return
		case 1: // the writer is killed in this slot, and writes the last ones again
			l.slot(slot, parents[slot], r.IntN(want[slot]+1), true)
			for again := max(firstSlot, slot-3); again < slot; again++ {
				if p, ok := parents[again]; ok {
					l.slot(again, p, want[again], false)
				}
			}
		}
		l.slot(slot, parents[slot], want[slot], false)
	}
	slot := firstSlot
	for ; slot < firstSlot+40; slot++ {
		write(slot)
	}
	f := startOn(t, l, Config{replayBuffer: int(seed%2) << 12}) // replays lose small ones
	var clients sync.WaitGroup
	written := make(chan struct{})
	for i := range 8 {
		clients.Go(func() {
			client(t, f, rand.New(rand.NewPCG(seed, uint64(i))), firstSlot+uint64(i*4), want, written)
		})
	}
	for ; slot < lastSlot; slot++ {
		write(slot)
		if r.IntN(4) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	for _, slot := range late {
		l.slot(slot, parents[slot], want[slot], false)
	}
	want[lastSlot] = 1
	close(written)
	l.slot(lastSlot, lastSlot-1, 1, false)
	clients.Wait()
}

func over(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// client reads from a slot on until the last one, over several connections.
func client(t *testing.T, f *fixture, r *rand.Rand, from uint64, want map[uint64]int, written <-chan struct{}) {
	got := map[uint64]bool{}
	first, at, done := from, from, false
	missing := map[uint64]bool{} // told as a gap, and not come since
	for !done {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		stream := f.subscribeFrom(t, ctx, &pb.SubscribeRequest{FromSlot: &at, Transactions: filters{"all": {}},
			Slots: map[string]*pb.SubscribeRequestFilterSlots{gapsFilter: {}, "slots": {}}})
		connection, highest := map[uint64]bool{}, map[uint64]uint64{}
		leave := r.IntN(200) + 1
		for n := 0; !done; n++ {
			if n > leave && !over(written) {
				break
			}
			update, err := stream.Recv()
			if err != nil {
				t.Errorf("stream: %v", err)
				cancel()
				return
			}
			if s := update.GetSlot(); s.GetDeadError() != "" {
				for slot := s.GetParent(); slot <= s.GetSlot(); slot++ {
					missing[slot] = true
				}
			} else if s != nil {
				delete(missing, s.GetSlot())
				at = max(at, s.GetSlot())
			}
			x := update.GetTransaction()
			if x == nil {
				continue
			}
			number := x.Transaction.Index
			if connection[number] || number < highest[x.Slot] {
				t.Errorf("%d came twice or out of order on a connection", number)
			}
			connection[number], highest[x.Slot], got[number] = true, number, true
			done = x.Slot == lastSlot
		}
		for slot := range missing { // it may have come meanwhile
			at = min(at, slot)
		}
		cancel()
	}
	for slot, n := range want {
		for i := range uint64(n) {
			if slot >= first && !got[slot*100+i] {
				t.Errorf("transaction %d was lost", slot*100+i)
			}
		}
	}
}
