package runner_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana"
)

// node answers getBlock for a made-up chain.
type node struct {
	t     testing.TB
	chain sourcetest.Chain
	// asked counts the blocks given out; onBlock, when set, runs before each.
	asked   atomic.Int64
	onBlock func()
}

func (n *node) GetSlot(context.Context, solana.Commitment) (uint64, error) {
	return n.chain[len(n.chain)-1].Slot, nil
}

func (n *node) GetBlocks(_ context.Context, from, to uint64, _ solana.Commitment) (slots []uint64, err error) {
	for _, b := range n.chain {
		if b.Slot >= from && b.Slot <= to {
			slots = append(slots, b.Slot)
		}
	}
	return slots, nil
}

func (n *node) GetBlock(ctx context.Context, slot uint64, _ solana.BlockOptions) (json.RawMessage, error) {
	if n.onBlock != nil {
		n.onBlock()
	}
	n.asked.Add(1)
	if b := n.chain.At(slot); b != nil {
		return b.JSON(n.t), ctx.Err()
	}
	return nil, &solana.RPCError{Code: solana.CodeSlotSkipped}
}

// liveOf is a stream of the blocks, a little apart in time.
func liveOf(t testing.TB, c sourcetest.Chain, apart time.Duration) *steps {
	t.Helper()
	s := &steps{kind: source.KindGeyser}
	for _, b := range c {
		message, err := proto.Marshal(b.Update())
		require.NoError(t, err)
		s.do = append(s.do, func(ctx context.Context, sink source.Sink) error {
			time.Sleep(apart)
			u, err := parse.Reader{}.GeyserUpdate(message)
			if err != nil {
				return err
			}
			for slot := b.Parent + 1; slot < b.Slot; slot++ {
				if err := sink.Skipped(ctx, slot); err != nil {
					return err
				}
			}
			return deliver(u.Block)(ctx, sink)
		})
	}
	return s
}

// kafkaLog reads what runs wrote to a broker.
type kafkaLog struct {
	t       testing.TB
	brokers []string
}

func (k kafkaLog) read(ctx context.Context, topic string) (records []kafka.Record) {
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: k.brokers}, kafka.Deps{})
	require.NoError(k.t, err)
	defer admin.Close()
	ends, err := admin.EndOffsets(ctx, []string{topic})
	require.NoError(k.t, err)
	left := int64(0)
	for _, end := range ends {
		left += end
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: k.brokers, Topics: []string{topic}}, kafka.Deps{})
	require.NoError(k.t, err)
	defer tailer.Close()
	for int64(len(records)) < left {
		batch, err := tailer.FetchBatch(ctx, 1000, 10*time.Millisecond)
		require.NoError(k.t, err)
		for _, r := range batch {
			r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
			records = append(records, r)
		}
	}
	return records
}

// ReadSlots implements runner.LedgerReader.
func (k kafkaLog) ReadSlots(ctx context.Context, visit func(*eventspb.SlotRecord)) error {
	for _, r := range k.read(ctx, schemas.TopicSlots) {
		if header(r, schemas.HeaderType) != schemas.TypeSlot {
			continue
		}
		var slot eventspb.SlotRecord
		if err := proto.Unmarshal(r.Value, &slot); err != nil {
			return err
		}
		visit(&slot)
	}
	return nil
}

func (k kafkaLog) ledger(ctx context.Context) *ledger.Ledger {
	l := ledger.New(0)
	require.NoError(k.t, k.ReadSlots(ctx, l.Apply))
	return l
}

// TestBackfillBesideTheLiveStream runs both at once on one broker, kills the backfill on the way
// and starts it again: the live stream's status and the place where it would read on are those of
// the live stream alone at every moment, what is covered grows together, and the log holds every
// event of the chain.
func TestBackfillBesideTheLiveStream(t *testing.T) {
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	defer stop()
	brokers, producer := startBroker(ctx, t)
	k := kafkaLog{t, brokers}
	c := sourcetest.NewChain(1000, 240)
	// the stream lost c[120:130]
	past, hole, live := c[:100], c[120:130], append(slices.Clone(c[100:120]), c[130:]...)
	from, to := past[0].Slot, hole[len(hole)-1].Slot

	counting := &statusCounter{RecordProducer: producer}
	stream := liveOf(t, live, 10*time.Millisecond)
	// as long as it takes to say how far it is
	stream.do = append(stream.do, func(ctx context.Context, _ source.Sink) error {
		for ; counting.statuses.Load() < 4; time.Sleep(time.Millisecond) {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		return nil
	})
	liveRun, err := runner.New(runner.Config{Sources: []source.Source{stream}}.WithStatusInterval(20*time.Millisecond),
		runner.Deps{Producer: counting, Ledger: k})
	require.NoError(t, err)
	liveDone := make(chan error, 1)
	go func() { liveDone <- liveRun.Run(ctx) }()
	require.Eventually(t, func() bool { return liveRun.Progress().Slot >= live[25].Slot }, 3*time.Minute, time.Millisecond)

	n := &node{t: t, chain: c}
	backfill := func(ctx context.Context) *runner.Runner {
		b, err := rpc.NewBackfill(rpc.Config{From: &from, To: &to}, rpc.Deps{Client: n})
		require.NoError(t, err)
		r, err := runner.New(runner.Config{Sources: []source.Source{b}, Beside: true}.WithGrace(time.Minute), runner.Deps{Producer: producer, Ledger: k})
		require.NoError(t, err)
		require.NoError(t, r.Run(ctx))
		return r
	}
	killed, kill := context.WithCancel(ctx)
	n.onBlock = func() {
		if n.asked.Load() >= 40 { // several ask at once
			kill()
		}
	}
	first := backfill(killed)
	require.False(t, first.Progress().Done)
	require.Less(t, first.Progress().Blocks, uint64(len(past)))
	half := k.ledger(ctx)
	require.GreaterOrEqual(t, half.Resume(source.KindGeyser), live[19].Slot, "never at what the backfill reads")
	require.LessOrEqual(t, half.Resume(source.KindGeyser), half.Highest(source.KindGeyser))

	n.onBlock = nil
	before := n.asked.Load()
	second := backfill(ctx)
	require.True(t, second.Progress().Done)
	require.Equal(t, second.Progress().Read, second.Progress().Total)
	require.Equal(t, uint64(len(past)+len(hole)), first.Progress().Blocks+second.Progress().Blocks, "nothing is read into the log twice")
	require.LessOrEqual(t, n.asked.Load()-before, int64(len(past)+len(hole))-int64(first.Progress().Blocks), "it goes on where it was killed")
	require.NoError(t, <-liveDone)

	all := k.ledger(ctx)
	require.Empty(t, all.Coverage().Gaps, "both together cover the chain")
	require.Equal(t, []uint64{c[0].Slot, c[len(c)-1].Slot}, []uint64{all.Coverage().FromSlot, all.Coverage().ToSlot})
	require.Equal(t, c[len(c)-1].Slot, all.Resume(source.KindGeyser))
	require.Empty(t, all.Missing(from, to))
	require.Equal(t, to, all.Highest(source.KindBackfill))
	requireStatusOfLive(t, k.read(ctx, schemas.TopicSlots))
	requireEvents(t, c, k.read(ctx, schemas.TopicTokenEvents))
}

// statusCounter counts the statuses that were written.
type statusCounter struct {
	kafka.RecordProducer
	statuses atomic.Int64
}

func (c *statusCounter) Produce(ctx context.Context, records ...kafka.Record) error {
	err := c.RecordProducer.Produce(ctx, records...)
	if err == nil && header(records[0], schemas.HeaderType) == schemas.TypeSourceStatus {
		c.statuses.Add(1)
	}
	return err
}

// requireStatusOfLive: whoever asks for the status sees the live stream's, which never goes back.
func requireStatusOfLive(t *testing.T, records []kafka.Record) {
	t.Helper()
	statuses, slot := 0, uint64(0)
	for _, r := range records {
		if header(r, schemas.HeaderType) != schemas.TypeSourceStatus {
			continue
		}
		var status eventspb.SourceStatus
		require.NoError(t, proto.Unmarshal(r.Value, &status))
		require.Equal(t, source.KindGeyser, status.GetKind())
		require.GreaterOrEqual(t, status.GetSlot(), slot)
		slot = status.GetSlot()
		statuses++
	}
	require.Greater(t, statuses, 3)
}

// requireEvents: one mint_to for each transaction of the chain.
func requireEvents(t *testing.T, c sourcetest.Chain, records []kafka.Record) {
	t.Helper()
	got, want := map[string]int{}, 0
	for _, r := range records {
		if header(r, schemas.HeaderType) == "token_event.mint_to" {
			got[header(r, schemas.HeaderPosition)]++
		}
	}
	for _, b := range c {
		want += b.Transactions
	}
	require.Len(t, got, want)
	for position, times := range got {
		require.Equal(t, 1, times, position)
	}
}

// TestResumeDoesNotFollowABackfill: a backfill works its way up to the live stream's first slot.
// Where the live stream reads on after a restart is its own business at each step.
func TestResumeDoesNotFollowABackfill(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	record := func(b *sourcetest.Block, kind string) *eventspb.SlotRecord {
		return &eventspb.SlotRecord{Slot: b.Slot, ParentSlot: &b.Parent, Blockhash: b.Hash[:], Source: kind, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED}
	}
	l := ledger.New(0)
	for _, b := range c[40:] {
		l.Apply(record(b, source.KindGeyser))
	}
	for _, b := range c[:40] {
		l.Apply(record(b, source.KindBackfill))
		require.Equal(t, c[59].Slot, l.Resume(source.KindGeyser))
	}
	require.Empty(t, l.Coverage().Gaps)

	// A backfill that is ahead of the stream, e.g. of one that is away: the stream goes on behind
	// its own last slot.
	l = ledger.New(0)
	for _, b := range c[:20] {
		l.Apply(record(b, source.KindGeyser))
	}
	for _, b := range c[30:50] {
		l.Apply(record(b, source.KindBackfill))
		require.Equal(t, c[19].Slot, l.Resume(source.KindGeyser))
	}
}

// TestAnotherSourceGoesOnBehindTheRegistry: what the chain did between the end of a stream and the
// start of a source that follows the tip by getBlock is read, and leaves no gap.
func TestAnotherSourceGoesOnBehindTheRegistry(t *testing.T) {
	c := sourcetest.NewChain(1000, 40)
	l := &log{}
	require.NoError(t, newRunner(t, l, liveOf(t, c[:20], 0)).Run(t.Context()))
	n := &node{t: t, chain: c}
	follow, err := rpc.New(rpc.Config{}, rpc.Deps{Client: n})
	require.NoError(t, err)
	r := newRunner(t, l, follow)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	require.Eventually(t, func() bool { return r.Coverage().ToSlot == c[39].Slot }, time.Minute, time.Millisecond)
	cancel()
	require.NoError(t, <-done)
	require.Empty(t, r.Coverage().Gaps)
	require.EqualValues(t, 20, n.asked.Load(), "what the stream gave is not read again")
}
