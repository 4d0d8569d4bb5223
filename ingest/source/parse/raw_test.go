package parse_test

import (
	"testing"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/schemas"
)

// updates are what a block's transactions are for the stream; an empty one is not for it.
func updates(t *testing.T, b *chain.Block) (list []*pb.SubscribeUpdateTransactionInfo, left int) {
	t.Helper()
	for i := range b.Transactions {
		raw, err := b.Transactions[i].Raw.AppendUpdate(nil, false)
		if err != nil {
			left++
		}
		update := &pb.SubscribeUpdateTransactionInfo{}
		require.NoError(t, proto.Unmarshal(raw, update))
		list = append(list, update)
	}
	return list, left
}

// TestRawOfRealBlocks: a recorded block gives the stream the same transactions as JSON, as
// ConfirmedBlock and as a Geyser message; of the first two those alone that touch our programs.
func TestRawOfRealBlocks(t *testing.T) {
	for _, b := range sourcetest.RealBlocks(t) {
		u, err := parse.Reader{}.GeyserUpdate(encode(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: b.SubscribeUpdateBlock}}))
		require.NoError(t, err)
		want, left := updates(t, u.Block)
		require.Zero(t, left)
		fromFile, err := file(b)
		require.NoError(t, err)
		stored, err := parse.Reader{}.ConfirmedBlock(encode(t, b.Confirmed()), b.Slot)
		require.NoError(t, err)
		for _, got := range []*chain.Block{fromFile, stored} {
			require.Equal(t, u.Block.Height, got.Height)
			list, left := updates(t, got)
			require.Zero(t, left)
			passed := 0
			for i := range want {
				if list[i].Signature == nil {
					require.False(t, touches(want[i]), i)
					continue
				}
				passed++
				require.True(t, touches(want[i]), i)
				list[i].Meta.CostUnits = nil
				if want[i].Meta.Err != nil && list[i].Meta.Err != nil {
					// The kit's messages lack what an error carries.
					list[i].Meta.Err = want[i].Meta.Err
				}
				if !proto.Equal(want[i], list[i]) {
					require.Equal(t, prototext.Format(want[i]), prototext.Format(list[i]), i)
				}
			}
			require.Greater(t, passed, 100)
			require.Less(t, passed, len(want))
		}
	}
}

// TestRawOfAllTransactions: asked for all, a whole block gives what a Geyser stream of all gives.
func TestRawOfAllTransactions(t *testing.T) {
	for _, b := range sourcetest.RealBlocks(t) {
		fromFile, err := file(b)
		require.NoError(t, err)
		stored, err := parse.Reader{}.ConfirmedBlock(encode(t, b.Confirmed()), b.Slot)
		require.NoError(t, err)
		for _, got := range []*chain.Block{fromFile, stored} {
			for i := range got.Transactions {
				raw, err := got.Transactions[i].Raw.AppendUpdate(nil, true)
				require.NoError(t, err)
				require.NotEmpty(t, raw, i)
			}
		}
	}
}

func touches(info *pb.SubscribeUpdateTransactionInfo) bool {
	for _, keys := range [][][]byte{info.Transaction.Message.AccountKeys, info.Meta.LoadedWritableAddresses, info.Meta.LoadedReadonlyAddresses} {
		for _, key := range keys {
			for _, program := range []string{schemas.ProgramToken, schemas.ProgramToken2022, schemas.ProgramMetaplex} {
				if base58.Encode(key) == program {
					return true
				}
			}
		}
	}
	return false
}

func TestRawThatCannotBePassedOn(t *testing.T) {
	text := `{"blockhash":"11111111111111111111111111111111","previousBlockhash":"11111111111111111111111111111111","parentSlot":4,"blockHeight":3,"transactions":[
		{"transaction":{"signatures":["` + signatureText + `"],"message":{"accountKeys":["` + schemas.ProgramToken + `"],"instructions":[]}},"meta":{"err":null,"innerInstructions":[]}}]}`
	b, err := parse.Reader{}.BlockJSON([]byte(text), 5)
	require.NoError(t, err)
	require.EqualValues(t, 3, *b.Height)
	require.EqualValues(t, 1, b.Executed)
	_, left := updates(t, b)
	require.Equal(t, 1, left, "JSON has not the bytes")
}

const signatureText = "1111111111111111111111111111111111111111111111111111111111111111"
