package factrecord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/factrecord"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestRecordOfAFact(t *testing.T) {
	mint, order := pubkey.MustParse("So11111111111111111111111111111111111111112"), uint64(9)
	fact := &eventspb.Enrichment{Mint: mint[:], Slot: 0x1f, Fact: &eventspb.Enrichment_NotAMint{NotAMint: &eventspb.NotAMint{}}}
	record, err := factrecord.Record(fact, time.Time{})
	require.NoError(t, err)
	require.Equal(t, "registry.enrichments.v1", record.Topic)
	require.Equal(t, "So11111111111111111111111111111111111111112", string(record.Key))
	require.Equal(t, []kafka.Header{
		{Key: "type", Value: []byte("enrichment.not_a_mint")}, {Key: "schema-version", Value: []byte("1")},
		{Key: "position", Value: []byte("000000000000001fffffffffffffffff")},
	}, record.Headers, "a fact without an order is of the end of its slot")
	read := new(eventspb.Enrichment)
	require.NoError(t, proto.Unmarshal(record.Value, read))
	require.True(t, proto.Equal(fact, read))

	fact.Order = &order
	record, err = factrecord.Record(fact, time.UnixMilli(1_700_000_000_123))
	require.NoError(t, err)
	require.Equal(t, "000000000000001f0000000000000009", string(record.Headers[2].Value))
	require.Equal(t, kafka.Header{Key: "received-at", Value: []byte("1700000000123")}, record.Headers[3])
}

// TestEachKindOfFactHasAName: the name is that of the message's field.
func TestEachKindOfFactHasAName(t *testing.T) {
	kinds := new(eventspb.Enrichment).ProtoReflect().Descriptor().Oneofs().ByName("fact").Fields()
	require.Positive(t, kinds.Len())
	for i := range kinds.Len() {
		fact := new(eventspb.Enrichment)
		fact.ProtoReflect().Mutable(kinds.Get(i))
		require.Equal(t, string(kinds.Get(i).Name()), factrecord.Kind(fact))
	}
	require.Equal(t, "unknown", factrecord.Kind(&eventspb.Enrichment{}))
}
