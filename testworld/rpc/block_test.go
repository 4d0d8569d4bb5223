package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
)

// A block without transactions has an empty list of them, as the real node writes it: a reader
// takes a block without the list for a header.
func TestEmptyBlockHasAnEmptyList(t *testing.T) {
	b := &chain.Block{Slot: 7, Parent: 6}
	whole, err := Encode(b)
	require.NoError(t, err)
	require.Contains(t, string(whole), `"transactions":[]`)
	header, err := EncodeHeader(b)
	require.NoError(t, err)
	require.NotContains(t, string(header), `"transactions"`)
}
