package runner_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/bounds"
)

// TestSlotRecordsOfNoChainAreIgnored: an earlier version believed a file with a block of slot
// 2^64-2. The sources do not go on behind it, and coverage does not end there.
func TestSlotRecordsOfNoChainAreIgnored(t *testing.T) {
	l := &log{}
	require.NoError(t, newRunner(t, l, blocks("geyser", newBlock(100, 99), newBlock(101, 100))).Run(t.Context()))
	for _, slot := range []uint64{math.MaxUint64 - 1, 1 << 53} {
		value, err := proto.Marshal(&eventspb.SlotRecord{Slot: slot, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED, Blockhash: make([]byte, 32), Source: "geyser"})
		require.NoError(t, err)
		l.records = append(l.records, kafka.Record{Topic: schemas.TopicSlots, Value: value, Headers: []kafka.Header{{Key: schemas.HeaderType, Value: []byte(schemas.TypeSlot)}}})
	}
	within, err := bounds.New(bounds.Deps{})
	require.NoError(t, err)
	r, err := runner.New(runner.Config{}, runner.Deps{Producer: l, Ledger: l, Mints: l, Bounds: within})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	require.EqualValues(t, 101, r.Coverage().ToSlot)
	require.ErrorIs(t, within.Read("a", 1_500_000_000), bounds.ErrImpossible, "the blocks of the log bound what upstreams may say, by the time since")
}
