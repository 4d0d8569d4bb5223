package factrecord_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		slots []uint64
		want  [][2]uint64
	}{
		{nil, nil},
		{[]uint64{7}, [][2]uint64{{7, 7}}},
		{[]uint64{9, 7, 8, 7, 3}, [][2]uint64{{3, 3}, {7, 9}}},
		{[]uint64{math.MaxUint64, 0, 1, math.MaxUint64 - 1}, [][2]uint64{{0, 1}, {math.MaxUint64 - 1, math.MaxUint64}}},
	} {
		var got [][2]uint64
		for _, r := range factrecord.Ranges(c.slots) {
			got = append(got, [2]uint64{r.GetFrom(), r.GetTo()})
		}
		require.Equal(t, c.want, got)
	}
}

func TestRetractionsOfManyRangesTakeSeveralRecords(t *testing.T) {
	mint := pubkey.MustParse("So11111111111111111111111111111111111111112")
	var slots []uint64
	for i := range uint64(2*factrecord.MaxRanges + 1) {
		slots = append(slots, 2*i)
	}
	decision := factrecord.Decision{At: time.UnixMilli(1_700_000_000_123), Events: true, Reason: "why"}
	retractions := decision.Retract(mint, factrecord.Ranges(slots))
	require.Len(t, retractions, 3)
	var all []*eventspb.SlotRange
	for _, retraction := range retractions {
		require.Equal(t, mint[:], retraction.GetMint())
		require.Zero(t, retraction.GetSlot())
		require.Equal(t, uint64(1_700_000_000_123), retraction.GetRetraction().GetVersion())
		require.True(t, retraction.GetRetraction().GetEvents())
		require.Equal(t, "why", retraction.GetRetraction().GetReason())
		all = append(all, retraction.GetRetraction().GetSlots()...)
		record, err := factrecord.Record(retraction, time.Time{})
		require.NoError(t, err)
		require.Equal(t, "enrichment.retraction", string(record.Headers[0].Value))
	}
	require.Len(t, all, len(slots))
	for i, slot := range slots {
		require.Equal(t, [2]uint64{slot, slot}, [2]uint64{all[i].GetFrom(), all[i].GetTo()})
	}
	require.Empty(t, decision.Retract(mint, nil))
}

func TestRereadIsARequest(t *testing.T) {
	mint := pubkey.MustParse("So11111111111111111111111111111111111111112")
	record, err := factrecord.Reread(mint, 9, time.UnixMilli(5))
	require.NoError(t, err)
	require.Equal(t, "registry.enrichment-requests.v1", record.Topic)
	require.Equal(t, mint.String(), string(record.Key))
	require.Equal(t, []kafka.Header{
		{Key: "type", Value: []byte("enrichment_request")}, {Key: "schema-version", Value: []byte("1")}, {Key: "received-at", Value: []byte("5")},
	}, record.Headers)
	request := new(eventspb.EnrichmentRequest)
	require.NoError(t, proto.Unmarshal(record.Value, request))
	want := &eventspb.EnrichmentRequest{Mint: mint[:], Slot: 9, Reason: eventspb.RequestReason_REQUEST_REASON_RETRACTED}
	require.True(t, proto.Equal(want, request))
}

func TestFactsTellTheirUpstream(t *testing.T) {
	facts := []*eventspb.Enrichment{{}, {Slot: 1}}
	factrecord.SetUpstream(facts, "rpc.example:8899")
	for _, fact := range facts {
		require.Equal(t, "rpc.example:8899", fact.GetUpstream())
	}
}
