package geyser

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// book is a sink that keeps the slot ledger as the runner does, and what it last heard of each
// slot.
type book struct {
	sourcetest.Sink
	ledger *ledger.Ledger
	last   map[uint64]eventspb.SlotStatus
}

func newBook() *book {
	return &book{ledger: ledger.New(0), last: map[uint64]eventspb.SlotStatus{}}
}

func (b *book) put(r *eventspb.SlotRecord) {
	b.ledger.Apply(r)
	b.last[r.Slot] = r.Status
}

func (b *book) Block(ctx context.Context, block *chain.Block) (known bool, err error) {
	b.put(&eventspb.SlotRecord{Slot: block.Slot, ParentSlot: block.ParentSlot, Blockhash: block.Blockhash[:], Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED})
	return b.Sink.Block(ctx, block)
}

func (b *book) Skipped(ctx context.Context, slot uint64) error {
	if b.last[slot] == eventspb.SlotStatus_SLOT_STATUS_UNSPECIFIED {
		b.put(&eventspb.SlotRecord{Slot: slot, Status: eventspb.SlotStatus_SLOT_STATUS_SKIPPED})
	}
	return b.Sink.Skipped(ctx, slot)
}

func (b *book) Dead(ctx context.Context, slot uint64) error {
	b.put(&eventspb.SlotRecord{Slot: slot, Status: eventspb.SlotStatus_SLOT_STATUS_DEAD})
	return b.Sink.Dead(ctx, slot)
}

var _ source.Sink = (*book)(nil)

// TestARecordingGivesTheSameLedger: a stream with repeats, blocks out of order, lost connections,
// losing forks, dead slots, headers and pings is recorded while it is followed. The replay of the
// recording ends with the same ledger, blocks and deaths as the stream.
func TestARecordingGivesTheSameLedger(t *testing.T) {
	c := sourcetest.NewChain(1000, 60)
	meta := func(b *sourcetest.Block) *pb.SubscribeUpdate {
		block := b.Update().GetBlock()
		return &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: block.Slot,
			Blockhash: block.Blockhash, ParentSlot: block.ParentSlot, ParentBlockhash: block.ParentBlockhash, ExecutedTransactionCount: uint64(b.Transactions)}}}
	}
	drop := func(n int) func(*sub) error { return func(s *sub) error { return s.live(n) } }
	f := &fake{chain: c, script: []func(*sub) error{drop(17), drop(9)}}
	f.every = func(i int) []any {
		b := c[i]
		messages := []any{slotUpdate(b.Slot, &b.Parent, pb.SlotStatus_SLOT_CREATED_BANK), b.Update(), meta(b), ping()}
		if i%4 == 1 && i+1 < len(c) { // the child first, then again in its turn
			messages = append([]any{c[i+1].Update()}, messages...)
		}
		if b.Slot > b.Parent+1 && i > 1 { // a fork that loses
			loser := sourcetest.NewBlock(b.Slot-1, c[i-1], "loser")
			messages = append([]any{loser.Update()}, messages...)
			if i%2 == 0 {
				messages = append(messages, slotUpdate(loser.Slot, nil, pb.SlotStatus_SLOT_DEAD))
			}
		}
		return append(messages, slotUpdate(b.Slot, &b.Parent, pb.SlotStatus_SLOT_FINALIZED))
	}
	dir := t.TempDir()
	live := newBook()
	synctest.Test(t, func(t *testing.T) {
		recordings, err := file.NewRecordings(file.RecordingsConfig{Dir: dir, MaxAge: 20 * time.Millisecond})
		require.NoError(t, err)
		dial := f.startInBubble(t, nil)
		s := open(t, "fake:1", func(cfg *Config, d *Deps) { cfg.BlocksMeta, d.Tap, d.Dial = true, recordings.Tap, dial })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		writing, stopWriting := context.WithCancel(t.Context())
		defer stopWriting()
		written, followed := make(chan error, 1), make(chan error, 1)
		go func() { written <- recordings.Run(writing) }()
		go func() { followed <- s.Run(ctx, sourcetest.Ledger{From: c[0].Parent}, live) }()
		last := c[len(c)-1].Slot
		live.Wait(t, "the chain", func() bool { return slices.Contains(live.Slots(), last) })
		time.Sleep(50 * time.Millisecond) // the last finality
		cancel()
		require.NoError(t, <-followed)
		stopWriting()
		require.NoError(t, <-written)
	})

	replay := newBook()
	files, err := file.New(file.Config{Paths: []string{dir}}, file.Deps{})
	require.NoError(t, err)
	require.NoError(t, files.Run(t.Context(), sourcetest.Ledger{}, replay))
	require.Equal(t, live.RefusedInputs(), replay.RefusedInputs(), "what came as confirmed and lost")
	require.NotEmpty(t, live.DeadSlots())
	// only the stream was told where to begin
	before := func(slot uint64, _ eventspb.SlotStatus) bool { return slot < c[0].Slot }
	maps.DeleteFunc(live.last, before)
	maps.DeleteFunc(replay.last, before)
	require.Equal(t, live.last, replay.last)
	require.Equal(t, live.ledger.Coverage(), replay.ledger.Coverage())
	require.Empty(t, replay.ledger.Coverage().Gaps)
	for _, b := range c {
		require.True(t, replay.ledger.Ingested(b.Slot, b.Hash))
	}
	require.Contains(t, f.subs[0].req.GetBlocksMeta(), "mintlake")
}
