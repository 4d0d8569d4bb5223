package rpc

import (
	"fmt"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// TestBlocksThatAreTheirOwnParents: a development node says parentSlot == slot, with whatever
// parent hash. The blocks come in order, each once, and nothing is taken for missing.
func TestBlocksThatAreTheirOwnParents(t *testing.T) {
	c := sourcetest.NewChain(1000, 1)
	n := newNode(t, c)
	n.blocks = map[uint64][]byte{}
	for slot := uint64(1000); slot < 1040; slot++ {
		hash, parent := [32]byte{1, byte(slot)}, [32]byte{2, byte(slot)}
		n.blocks[slot] = fmt.Appendf(nil, `{"blockhash":"%s","previousBlockhash":"%s","parentSlot":%d,"blockTime":1,"transactions":[]}`,
			base58.Encode(hash[:]), base58.Encode(parent[:]), slot)
	}
	n.tip = 1039
	sink := &sourcetest.Sink{}
	from, to := uint64(1000), uint64(1039)
	require.NoError(t, open(t, Config{From: &from, To: &to}, n).Run(t.Context(), sourcetest.Ledger{}, sink))
	blocks := sink.Blocks()
	require.Len(t, blocks, 40)
	for i, b := range blocks {
		require.Equal(t, 1000+uint64(i), b.Slot)
		require.Equal(t, b.Slot-1, *b.ParentSlot)
	}
	require.Len(t, n.order, 40, "no block is asked for twice")
}
