package runner_test

import (
	"context"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestSwapRecords ingests all recorded blocks and transactions: each leg is written once under each
// of its mints, both with the same value, and in the log before its block's slot record; each pool
// once.
func TestSwapRecords(t *testing.T) {
	l := &log{}
	r := newRunner(t, l, sharedFiles(t))
	require.NoError(t, r.Run(context.Background()))

	in, out, bySlot := l.of(schemas.TypeSwapLegIn), l.of(schemas.TypeSwapLegOut), make(map[uint64]uint32)
	require.Len(t, in, 312)
	require.Len(t, out, len(in))
	positions := make(map[string]kafka.Record)
	for _, record := range in {
		leg := legOf(t, record)
		require.Equal(t, schemas.TopicSwaps, record.Topic)
		require.Equal(t, base58.Encode(leg.GetMintIn()), string(record.Key))
		require.NotContains(t, positions, header(record, schemas.HeaderPosition))
		positions[header(record, schemas.HeaderPosition)] = record
		bySlot[leg.GetPosition().GetSlot()]++
	}
	for _, record := range out {
		leg := legOf(t, record)
		require.Equal(t, base58.Encode(leg.GetMintOut()), string(record.Key))
		require.Equal(t, positions[header(record, schemas.HeaderPosition)].Value, record.Value)
	}
	for _, slot := range l.slots(t) {
		require.Equal(t, bySlot[slot.GetSlot()], slot.GetSwapLegs(), slot.GetSlot())
	}
	require.NotEmpty(t, l.of(schemas.TypeRoute))

	done := make(map[uint64]bool)
	for _, record := range l.records {
		switch header(record, schemas.HeaderType) {
		case schemas.TypeSlot:
			var slot eventspb.SlotRecord
			require.NoError(t, proto.Unmarshal(record.Value, &slot))
			done[slot.GetSlot()] = true
		case schemas.TypeSwapLegIn, schemas.TypeSwapLegOut:
			require.False(t, done[legOf(t, record).GetPosition().GetSlot()], "a leg behind its slot's record")
		}
	}
}

// TestPoolRecords: a pool is written when it is first seen and when it is created, and not again.
func TestPoolRecords(t *testing.T) {
	l := &log{}
	r := newRunner(t, l, sharedFiles(t))
	require.NoError(t, r.Run(context.Background()))
	seen, created := make(map[string]uint64), make(map[string]bool)
	for _, record := range l.of(schemas.TypePool) {
		var pool eventspb.Pool
		require.NoError(t, proto.Unmarshal(record.Value, &pool))
		require.Equal(t, schemas.TopicPools, record.Topic)
		require.Equal(t, base58.Encode(pool.GetPool()), string(record.Key))
		if slot, ok := seen[string(record.Key)]; ok {
			require.Less(t, pool.GetPosition().GetSlot(), slot, "a pool is told again only where it was seen earlier")
		}
		seen[string(record.Key)] = pool.GetPosition().GetSlot()
		created[string(record.Key)] = created[string(record.Key)] || pool.GetCreated()
	}
	for _, record := range l.of(schemas.TypeSwapLegIn) {
		require.Contains(t, seen, base58.Encode(legOf(t, record).GetPool()))
	}
	count := 0
	for _, yes := range created {
		if yes {
			count++
		}
	}
	require.Equal(t, 3, count)
}

func legOf(t *testing.T, record kafka.Record) *eventspb.SwapLeg {
	t.Helper()
	var leg eventspb.SwapLeg
	require.NoError(t, proto.Unmarshal(record.Value, &leg))
	return &leg
}
