package parse_test

import (
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

// file parses a recorded file.
func file(b sourcetest.RealBlock) (*chain.Block, error) {
	if b.Proto {
		return parse.Reader{}.ConfirmedBlock(b.File, b.Slot)
	}
	return parse.Reader{}.BlockJSON(b.File, b.Slot)
}

// TestRealBlocksInEveryFormat: a recorded block gives the same block as JSON, as ConfirmedBlock and
// as a Geyser message.
func TestRealBlocksInEveryFormat(t *testing.T) {
	for _, b := range sourcetest.RealBlocks(t) {
		want, err := file(b)
		require.NoError(t, err)
		stored, err := parse.Reader{}.ConfirmedBlock(encode(t, b.Confirmed()), b.Slot)
		require.NoError(t, err)
		requireSame(t, want, stored)
		u, err := parse.Reader{}.GeyserUpdate(encode(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: b.SubscribeUpdateBlock}}))
		require.NoError(t, err)
		requireSame(t, want, u.Block)
	}
}

// requireSame compares blocks; an empty list is no list.
func requireSame(t *testing.T, want, got *chain.Block) {
	t.Helper()
	require.Equal(t, want.Blockhash, got.Blockhash)
	require.Equal(t, want.ParentBlockhash, got.ParentBlockhash)
	require.Equal(t, want.ParentSlot, got.ParentSlot)
	require.Equal(t, want.BlockTime, got.BlockTime)
	require.Len(t, got.Transactions, len(want.Transactions))
	call := func(want, got chain.Call) {
		require.Equal(t, want.ProgramIndex, got.ProgramIndex)
		require.Equal(t, want.StackHeight, got.StackHeight)
		require.Equal(t, string(want.Accounts), string(got.Accounts))
		require.Equal(t, string(want.Data), string(got.Data))
	}
	for i := range want.Transactions {
		w, g := &want.Transactions[i], &got.Transactions[i]
		require.Equal(t, w.Signature, g.Signature)
		require.Equal(t, []any{w.Index, w.Failed, w.Vote}, []any{g.Index, g.Failed, g.Vote})
		require.Equal(t, append([]pubkey.Key{}, w.Keys...), append([]pubkey.Key{}, g.Keys...), i)
		require.Equal(t, append([]chain.TokenBalance{}, w.PreBalances...), append([]chain.TokenBalance{}, g.PreBalances...))
		require.Equal(t, append([]chain.TokenBalance{}, w.PostBalances...), append([]chain.TokenBalance{}, g.PostBalances...))
		require.Len(t, g.Instructions, len(w.Instructions))
		for j := range w.Instructions {
			call(w.Instructions[j].Call, g.Instructions[j].Call)
			require.Len(t, g.Instructions[j].Inner, len(w.Instructions[j].Inner))
			for k := range w.Instructions[j].Inner {
				call(w.Instructions[j].Inner[k], g.Instructions[j].Inner[k])
			}
		}
	}
}
