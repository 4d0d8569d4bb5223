package stream

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// TestAllBlocksOfValidHashesAreCovered: a hash that is not among the blocks is invalid only then.
func TestAllBlocksOfValidHashesAreCovered(t *testing.T) {
	r := &recent{}
	take := func(slot, height uint64) {
		r.take(&note{kind: noteEnd, slot: slot, end: &eventspb.StreamBlock{Slot: slot, Blockhash: []byte{byte(slot)}, BlockHeight: &height}})
	}
	for height := uint64(1000); height <= 1149; height++ {
		take(height+50, height)
		require.False(t, r.covers(height), height)
	}
	take(1200, 1150)
	require.True(t, r.covers(1150))
	take(1201, 1150)
	require.True(t, r.covers(1150), "another fork's block of the same height")
	take(1202, 1151)
	require.True(t, r.covers(1150), "a later block")
	r.take(&note{kind: noteDead, slot: 1100})
	require.False(t, r.covers(1150), "a block is missing")

	first := &recent{}
	for height := range uint64(3) {
		first.take(&note{kind: noteEnd, slot: height, end: &eventspb.StreamBlock{Slot: height, Blockhash: []byte{1}, BlockHeight: &height}})
	}
	require.True(t, first.covers(2), "a young chain has no more")
}
