package stream

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coder/websocket"
	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func finalized() *pb.CommitmentLevel { level := pb.CommitmentLevel_FINALIZED; return &level }

func (l *memoryLog) dies(slot uint64) {
	l.add(slot, schemas.TypeStreamStatus, &eventspb.StreamStatus{Slot: slot, Status: eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_DEAD})
}

// everything asks for all that a stream carries, at finalized.
func everything(from *uint64) *pb.SubscribeRequest {
	byCommitment := true
	return &pb.SubscribeRequest{FromSlot: from, Commitment: finalized(), Transactions: filters{"all": {}},
		Slots:      map[string]*pb.SubscribeRequestFilterSlots{"s": {FilterByCommitment: &byCommitment}, gapsFilter: {}},
		BlocksMeta: map[string]*pb.SubscribeRequestFilterBlocksMeta{"m": {}}}
}

func TestFinalizedComesWithItsSlot(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, false)
	f := startOn(t, l, Config{})
	_, err := f.subscribeFrom(t, t.Context(), everything(nil)).Recv()
	require.Equal(t, codes.Unavailable, status.Code(err), "nothing was finalized: nobody knows whether it ever is")

	l.finalize(100)
	require.Eventually(t, func() bool { return f.recent.root() == 100 }, patience, patience/1e5)
	l.slot(101, 100, 2, false)
	l.slot(102, 101, 1, false)
	l.slot(103, 101, 1, false) // on another fork
	require.Eventually(t, func() bool { return f.hub.slot.Load() == 103 }, patience, patience/1e5)
	stream := f.subscribeFrom(t, t.Context(), everything(nil))
	require.Eventually(t, f.oneListens, patience, patience/1e5)
	l.slot(104, 103, 1, false)
	l.dies(102)
	l.finalize(103)
	l.slot(99, 98, 1, false) // filled in later
	require.Equal(t, []string{"10100", "10101", "10300", "103 SLOT_FINALIZED", "101 meta", "103 meta", "9900", "99 meta"}, told(t, stream, 8),
		"what came before the subscription and was finalized after it, too")
	l.finalize(104)
	require.Equal(t, []string{"10400", "104 SLOT_FINALIZED", "104 meta"}, told(t, stream, 3))
	c, ctx := f.client(t)
	slot, err := c.GetSlot(ctx, &pb.GetSlotRequest{Commitment: finalized()})
	require.NoError(t, err)
	require.EqualValues(t, 104, slot.Slot)
}

// TestFinalizedComesBehindBlocksThatWait: while ingest waits for a missing block, statuses come
// before the blocks that they are of.
func TestFinalizedComesBehindBlocksThatWait(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, false)
	l.finalize(100)
	f := startOn(t, l, Config{})
	require.Eventually(t, func() bool { return f.recent.root() == 100 }, patience, patience/1e5)
	stream := f.subscribeFrom(t, t.Context(), everything(nil))
	require.Eventually(t, f.oneListens, patience, patience/1e5)
	l.finalize(101)
	l.finalize(103)
	l.slot(101, 100, 1, false)
	l.slot(102, 101, 1, false)
	l.slot(103, 102, 1, false)
	l.slot(104, 103, 1, false)
	l.finalize(104)
	require.Equal(t, []string{
		"10100", "101 SLOT_FINALIZED", "101 meta", "10200", "102 SLOT_FINALIZED", "102 meta", "10300", "103 SLOT_FINALIZED", "103 meta", "10400", "104 SLOT_FINALIZED", "104 meta",
	}, told(t, stream, 12))
}

// TestAStreamOfFinalizedBlocks: the end of a slot finalizes it, behind its transactions, and once.
func TestAStreamOfFinalizedBlocks(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, false)
	f := startOn(t, l, Config{Commitment: "finalized"})
	stream := f.subscribeFrom(t, t.Context(), everything(nil))
	require.Eventually(t, f.oneListens, patience, patience/1e5)
	l.slot(101, 100, 2, false)
	l.finalize(101)
	l.slot(102, 101, 1, false)
	got := told(t, stream, 7)
	require.ElementsMatch(t, []string{"10100", "10101", "101 meta", "101 SLOT_FINALIZED", "10200", "102 meta", "102 SLOT_FINALIZED"}, got)
	require.Less(t, slices.Index(got, "10101"), slices.Index(got, "101 SLOT_FINALIZED"))
	require.EqualValues(t, 102, f.recent.root())
}

// A replay at finalized goes on live with nothing lost or doubled, wherever it takes over.
func TestReplayOfFinalizedGoesOnLive(t *testing.T) {
	const last = 140
	l := newMemoryLog(0)
	var want []string
	write := func(slot uint64) {
		l.slot(slot, slot-1, int(slot%3), false)
		if slot > 108 {
			l.finalize(slot - 8)
		}
		for i := range slot % 3 {
			want = append(want, fmt.Sprint(slot*100+i))
		}
	}
	for slot := uint64(100); slot < 120; slot++ {
		write(slot)
	}
	f := startOn(t, l, Config{})
	var streams []pb.Geyser_SubscribeClient
	for from := uint64(104); from < 120; from += 3 {
		streams = append(streams, f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Commitment: finalized(), Transactions: filters{"all": {}}}))
	}
	for slot := uint64(120); slot <= last; slot++ {
		write(slot)
	}
	l.finalize(last)
	for i, stream := range streams {
		first := slices.Index(want, fmt.Sprint(104+3*i)+"00")
		if first < 0 { // a slot without transactions
			first = slices.Index(want, fmt.Sprint(105+3*i)+"00")
		}
		require.Equal(t, want[first:], told(t, stream, len(want)-first))
	}
	require.NoError(t, streams[0].Send(&pb.SubscribeRequest{Transactions: filters{"all": {}}}))
	_, err := streams[0].Recv()
	require.ErrorContains(t, err, "commitment: stays what it was")
}

// TestHeldTransactionsAreBounded: the oldest slot goes, and is told as a gap to those who wait for
// it.
func TestHeldTransactionsAreBounded(t *testing.T) {
	f := newFinals()
	slots := func(from, n uint64) (lost []uint64) {
		for slot := range n {
			lost = append(lost, f.hold(&transaction{slot: from + slot})...)
		}
		return lost
	}
	require.Empty(t, slots(1, 3*heldUntold), "they are told when they are finalized")
	require.Len(t, f.slots, heldUntold)
	require.Equal(t, &note{kind: noteGap, first: 1, slot: 9, finalOnly: true}, f.finalized(&note{slot: 9}))
	require.Equal(t, &note{kind: noteGap, first: 10, slot: 2 * heldUntold, finalOnly: true}, f.finalized(&note{slot: 3 * heldUntold}))
	require.Nil(t, f.finalized(&note{slot: 3 * heldUntold}))
	require.Zero(t, f.bytes)
	require.Equal(t, []uint64{1000, 1001}, slots(1000, heldSlots+2))
	f.finalized(&note{slot: 5000})
	f.hold(&transaction{slot: 5998})
	f.hold(&transaction{slot: 5999})
	huge := &transaction{slot: 6000, raw: make([]byte, 0), accounts: make([]address, 0, heldBytes/32+1)}
	require.Equal(t, []uint64{5998, 5999, 6000}, f.hold(huge), "as many as it takes")
	require.Zero(t, f.bytes)

	l := newLogReader(nil)
	l.finals = newFinals()
	gap := &note{kind: noteGap, finalOnly: true}
	require.True(t, (&watch{kind: watchGaps, at: levelFinal}).wants(gap))
	require.False(t, (&watch{kind: watchGaps}).wants(gap), "who asks for confirmed misses nothing")
}

// TestHeldEndsAreBounded: slots without transactions are bounded as others are, whether finalized
// slots are known or not.
func TestHeldEndsAreBounded(t *testing.T) {
	f := newFinals()
	const ends = 10_000
	for slot := range uint64(ends) {
		require.Empty(t, f.ended(&note{kind: noteEnd, slot: 1 + slot}), "they are told when they are finalized")
		require.LessOrEqual(t, len(f.slots), heldUntold)
	}
	require.Empty(t, f.hold(&transaction{slot: ends + 1}))
	final := &note{slot: ends + 1}
	require.Equal(t, &note{kind: noteGap, first: 1, slot: ends + 1 - heldUntold, finalOnly: true}, f.finalized(final))
	require.Len(t, final.final, heldUntold)
	require.Empty(t, f.slots)

	var lost []uint64
	for slot := range uint64(heldSlots + 2) {
		lost = append(lost, f.ended(&note{kind: noteEnd, slot: 2*ends + slot})...)
	}
	require.Equal(t, []uint64{2 * ends, 2*ends + 1}, lost)
}

// TestSlotsDroppedBeforeAnyIsFinalized: a source that finalizes late may leave more slots open than
// are held. Those that were dropped are told as a gap when they are finalized, to a replay and to a
// live subscriber alike.
func TestSlotsDroppedBeforeAnyIsFinalized(t *testing.T) {
	l := newMemoryLog(0)
	const first, slots = 100, heldUntold + 36
	for slot := uint64(first); slot < first+slots; slot++ {
		l.slot(slot, slot-1, 1, false)
	}
	l.finalize(110)
	f := startOn(t, l, Config{})
	require.Eventually(t, func() bool { return f.recent.root() == 110 }, patience, patience/1e5)
	live := f.subscribeFrom(t, t.Context(), everything(nil))
	require.Eventually(t, f.oneListens, patience, patience/1e5)
	l.finalize(137)
	want := []string{"13600", "13700", "137 SLOT_FINALIZED", "136 meta", "137 meta"}
	require.Equal(t, append([]string{"111-135 gap"}, want...), told(t, live, 6))
	from := uint64(first)
	replayed := f.subscribeFrom(t, t.Context(), everything(&from))
	require.Equal(t, append([]string{"100-110 gap", "110 SLOT_FINALIZED", "111-135 gap"}, want...), told(t, replayed, 8))
}

func TestStatusesOfTransactions(t *testing.T) {
	f := start(t, Config{})
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Transactions: filters{"one": {AccountInclude: []string{text(1)}}, "both": {}},
		TransactionsStatus: filters{"one": {AccountInclude: []string{text(1)}}, "failed": {Failed: yes()}, "never": {AccountInclude: []string{text(9)}}}}))
	require.Eventually(t, f.oneListens, patience, patience/1e5)
	failed := tx{number: 7, slot: 9, keys: []byte{1}, failed: true}
	f.publish(failed, tx{number: 8, slot: 9, keys: []byte{2}})
	whole, err := stream.Recv()
	require.NoError(t, err)
	require.EqualValues(t, 7, whole.GetTransaction().GetTransaction().GetIndex())
	require.Equal(t, []string{"both", "one"}, whole.Filters)
	update, err := stream.Recv()
	require.NoError(t, err)
	require.Equal(t, []string{"failed", "one"}, update.Filters)
	require.NotNil(t, update.CreatedAt)
	got := update.GetTransactionStatus()
	require.EqualValues(t, 9, got.GetSlot())
	require.EqualValues(t, 7, got.GetIndex())
	require.Equal(t, failed.signature(), got.GetSignature())
	require.Equal(t, failed.message().Transaction.Meta.Err.Err, got.GetErr().GetErr())
	n, names := next(t, stream)
	require.EqualValues(t, 8, n)
	require.Equal(t, []string{"both"}, names)
}

func TestFinalizedOverWebSocket(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, false)
	l.finalize(100)
	l.slot(101, 100, 1, false)
	f := startOn(t, l, Config{})
	conn, _, err := websocket.Dial(t.Context(), "ws://"+f.Addr()+"/", nil)
	require.NoError(t, err)
	defer conn.CloseNow()
	require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"commitment":"finalized"}]}`), `"result":1`)
	require.Contains(t, f.call(t, conn, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"commitment":"confirmed"}]}`), `"result":2`)
	l.slot(102, 101, 1, false)
	l.finalize(101)
	for _, want := range []string{`"subscription":2,"result":{"signature":"` + signatureText(10200), `"subscription":1,"result":{"signature":"` + signatureText(10100)} {
		_, raw, err := conn.Read(t.Context())
		require.NoError(t, err)
		require.Contains(t, string(raw), want)
	}
}

// signatureText is how the signature of a numbered transaction begins.
func signatureText(number int) string { return base58.Encode(tx{number: number}.signature()) }

// countingStream counts the messages that it is given.
type countingStream struct {
	grpc.ServerStream
	sent int
}

func (s *countingStream) SendMsg(any) error {
	s.sent++
	return nil
}

// TestStatusThatCannotBeRead: a transaction of which only the first part can be read has no status,
// and no empty update stands for it.
func TestStatusThatCannotBeRead(t *testing.T) {
	wants := []*entry{{filter: &filter{status: true}, head: []byte{0x0a, 1, 'a'}}}
	stream := &countingStream{}
	require.NoError(t, (&geyser{}).sendOne(stream, delivery{tx: &transaction{raw: []byte{0xff}}, wants: wants}))
	require.Zero(t, stream.sent)
	require.NoError(t, (&geyser{}).sendOne(stream, delivery{tx: &transaction{}, wants: wants}))
	require.Equal(t, 1, stream.sent)
}

// TestAReplayHoldsNoJSON: many replays hold the transactions of the slots that are not finalized.
func TestAReplayHoldsNoJSON(t *testing.T) {
	l := newMemoryLog(0)
	l.slot(100, 99, 1, true)
	record, err := decodeRecord(l.records[0])
	require.NoError(t, err)
	reader := newLogReader(&metrics{})
	reader.finals = newFinals()
	reader.read(record)
	_, err = record.tx.notification(shape{})
	require.NoError(t, err)
	require.NotEmpty(t, record.tx.shapes.made)
	require.Empty(t, reader.finals.slots[100].list[0].shapes.made)
}
