package ledger_test

import (
	"encoding/binary"
	"io"
	"os"
	"testing"

	"github.com/mr-tron/base58"
	geyser "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func block(kind string, slot, parent uint64) *eventspb.SlotRecord {
	return &eventspb.SlotRecord{
		Slot: slot, ParentSlot: &parent, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED, Source: kind, Blockhash: make([]byte, 32),
	}
}

func TestResume(t *testing.T) {
	l := ledger.New(100)
	require.Zero(t, l.For("geyser").Resume())
	l.Apply(block("file", 5, 4))
	require.Zero(t, l.For("geyser").Resume(), "another source's blocks say nothing of this stream")
	l.Apply(block("geyser", 1000, 999))
	require.Equal(t, uint64(1000), l.For("geyser").Resume(), "what lies below its first block is not its gap")
	l.Apply(block("geyser", 1001, 1000))
	require.Equal(t, uint64(1001), l.For("geyser").Resume())
	l.Apply(block("geyser", 1010, 1008))
	require.Equal(t, uint64(1001), l.For("geyser").Resume(), "a gap within reach is read again")
	l.Apply(block("geyser", 1200, 1010))
	require.Equal(t, uint64(1200), l.For("geyser").Resume(), "an older one is not")
	l.Apply(block("rpc", 1008, 1001))
	require.Empty(t, l.Coverage().Gaps[1:], "only the one between file and geyser is left")
	require.Equal(t, uint64(5), l.For("file").Resume())
}

// TestLiveSourcesGoOnAfterEachOther: a Geyser stream and getBlock follow the same chain, so one
// goes on behind what the other has left, its gaps included. Files, backfills and the demo chain do
// not count.
func TestLiveSourcesGoOnAfterEachOther(t *testing.T) {
	for _, pair := range [][2]string{{source.KindGeyser, source.KindRPC}, {source.KindRPC, source.KindGeyser}} {
		l := ledger.New(100)
		for slot := uint64(1000); slot <= 1050; slot++ {
			l.Apply(block(pair[0], slot, slot-1))
		}
		for _, other := range []string{source.KindFile, source.KindBackfill, source.KindDemo} {
			l.Apply(block(other, 2000, 1999))
			require.EqualValues(t, 2000, l.For(other).Resume(), "nothing of its own within reach before the gap")
		}
		require.EqualValues(t, 1050, l.For(pair[1]).Resume())
		require.EqualValues(t, 1050, l.Highest(pair[1]))
		l.Apply(block(pair[0], 1060, 1058))
		require.EqualValues(t, 1050, l.For(pair[1]).Resume(), "a gap within reach is read again, whoever left it")
		l.Apply(block(pair[1], 1058, 1050))
		require.EqualValues(t, 1060, l.For(pair[1]).Resume())
	}
}

func TestMissing(t *testing.T) {
	gaps := func(ends ...uint64) (all []coverage.Gap) {
		for i := 0; i < len(ends); i += 2 {
			all = append(all, coverage.Gap{FromSlot: ends[i], ToSlot: ends[i+1]})
		}
		return all
	}
	l := ledger.New(0)
	require.Equal(t, gaps(10, 20), l.Missing(10, 20), "an empty ledger misses everything")
	l.Apply(block("geyser", 100, 99))
	l.Apply(block("geyser", 110, 104))
	l.Apply(block("rpc", 111, 110))
	view := l.For("backfill")
	require.Equal(t, gaps(90, 99, 101, 104, 112, 120), view.Missing(90, 120))
	require.Equal(t, gaps(102, 103), view.Missing(102, 103))
	require.Equal(t, gaps(10, 20), view.Missing(10, 20))
	require.Empty(t, view.Missing(105, 111), "slots that a parent link says to be empty are not missing")
	l.Apply(&eventspb.SlotRecord{Slot: 102, Status: eventspb.SlotStatus_SLOT_STATUS_SKIPPED})
	require.Equal(t, gaps(101, 101, 103, 104), view.Missing(100, 111))
}

func TestIngested(t *testing.T) {
	l := ledger.New(0)
	l.Apply(block("geyser", 7, 6))
	require.True(t, l.For("rpc").Ingested(7, pubkey.Key{}), "whoever ingested it")
	require.False(t, l.For("rpc").Ingested(7, pubkey.Key{1}))
	require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_INGESTED, l.Status(7))
	require.Equal(t, uint64(7), l.Highest("geyser"))
}

// TestRecordedStream feeds the ledger the block metas of a recorded live stream: consecutive
// blocks, so no gaps; and one gap for each block that is taken out.
func TestRecordedStream(t *testing.T) {
	records := recordedBlocks(t)
	require.Len(t, records, 50)
	l := ledger.New(0)
	for _, r := range records {
		l.Apply(r)
	}
	c := l.Coverage()
	require.Empty(t, c.Gaps)
	require.Equal(t, records[0].GetSlot(), c.FromSlot)
	require.Equal(t, records[len(records)-1].GetSlot(), c.ToSlot)
	require.Equal(t, c.ToSlot, l.For("geyser").Resume())

	missing := records[20]
	l = ledger.New(0)
	for i, r := range records {
		if i != 20 {
			l.Apply(r)
		}
	}
	require.Len(t, l.Coverage().Gaps, 1)
	require.Equal(t, missing.GetSlot(), l.Coverage().Gaps[0].ToSlot)
	require.Equal(t, l.Coverage().Gaps[0].FromSlot-1, l.For("geyser").Resume())
	l.Apply(missing)
	require.Empty(t, l.Coverage().Gaps)
}

// recordedBlocks reads the block metas of the recorded stream, in the order of their slots.
func recordedBlocks(t *testing.T) []*eventspb.SlotRecord {
	t.Helper()
	f, err := os.Open(testkit.Shared(t, "data/streams/geyser-slots-entries-20260205.bin"))
	require.NoError(t, err)
	defer f.Close()
	var records []*eventspb.SlotRecord
	for {
		var length [4]byte
		if _, err := io.ReadFull(f, length[:]); err == io.EOF {
			return records
		}
		raw := make([]byte, binary.BigEndian.Uint32(length[:]))
		_, err = io.ReadFull(f, raw)
		require.NoError(t, err)
		var update geyser.SubscribeUpdate
		require.NoError(t, proto.Unmarshal(raw, &update))
		meta := update.GetBlockMeta()
		if meta == nil {
			continue
		}
		hash, err := base58.Decode(meta.GetBlockhash())
		require.NoError(t, err)
		records = append(records, &eventspb.SlotRecord{
			Slot: meta.GetSlot(), ParentSlot: &meta.ParentSlot, Blockhash: hash, Source: "geyser",
			Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED,
		})
	}
}
