package geyser

import (
	"encoding/binary"
	"os"
	"slices"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source/accounts"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// TestRecordedStatuses feeds a recorded live stream through the follower: its slot statuses as they
// came, its block headers in the place of blocks. Statuses of healthy slots make no dead slot and
// lose no block.
func TestRecordedStatuses(t *testing.T) {
	data, err := os.ReadFile(testkit.Shared(t, "data/streams/geyser-slots-entries-20260205.bin"))
	require.NoError(t, err)
	s := open(t, "recorded:1", nil)
	sink := &sourcetest.Sink{}
	buffer := accounts.NewBuffer(nil)
	carrier := order.NewCarrier(sink, buffer, s.metrics)
	repairer := repair.New(repair.Config{}, repair.Deps{Ledger: sourcetest.Ledger{}, Sink: carrier, Time: &carrier.Time, Metrics: s.metrics, Logger: s.log})
	carrier.OnGap = repairer.OnGap
	f := &follower{Source: s, carrier: carrier, line: order.New(order.Config{Skips: true}, 0), repairer: repairer, buffer: buffer}
	pings := make(chan struct{}, 1)
	statuses, chain := 0, map[uint64]uint64{}
	for len(data) > 0 {
		size := binary.BigEndian.Uint32(data)
		message := data[4 : 4+size]
		data = data[4+size:]
		var update pb.SubscribeUpdate
		require.NoError(t, proto.Unmarshal(message, &update))
		switch {
		case update.GetSlot() != nil:
			statuses++
		case update.GetBlockMeta() != nil:
			m := update.GetBlockMeta()
			chain[m.Slot] = m.ParentSlot
			message, err = proto.Marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: &pb.SubscribeUpdateBlock{
				Slot: m.Slot, Blockhash: m.Blockhash, ParentSlot: m.ParentSlot, ParentBlockhash: m.ParentBlockhash, BlockTime: m.BlockTime,
				ExecutedTransactionCount: m.ExecutedTransactionCount}}})
			require.NoError(t, err)
		}
		require.NoError(t, f.message(t.Context(), message, pings))
	}
	require.Equal(t, 295, statuses)
	require.Len(t, chain, 50)
	got := sink.Slots()
	require.Len(t, got, 50, "each block once")
	require.True(t, slices.IsSorted(got))
	for _, slot := range append(sink.DeadSlots(), sink.SkippedSlots()...) {
		require.NotContains(t, chain, slot, "a slot of the chain is neither dead nor skipped")
	}
	for slot, parent := range chain {
		for empty := parent + 1; empty < slot; empty++ {
			require.True(t, slices.Contains(sink.DeadSlots(), empty) || slices.Contains(sink.SkippedSlots(), empty), "slot %d", empty)
		}
	}
	require.Empty(t, sink.RefusedInputs())
	require.Zero(t, f.line.Waiting())
	require.Zero(t, f.line.Dropped())
}
