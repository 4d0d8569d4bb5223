package parse

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
)

// requireSound checks what holds of every block that a parser lets through.
func requireSound(t *testing.T, b *chain.Block, size int) {
	t.Helper()
	require.LessOrEqual(t, len(b.Transactions), maxTransactions)
	if b.ParentSlot != nil && b.Slot > 0 {
		require.Less(t, *b.ParentSlot, b.Slot)
	}
	require.GreaterOrEqual(t, b.BlockTime, int64(0))
	calls := 0
	for i := range b.Transactions {
		tx := &b.Transactions[i]
		require.LessOrEqual(t, len(tx.Keys), maxKeys)
		require.Less(t, tx.Index, maxIndex)
		require.LessOrEqual(t, len(tx.PreBalances)+len(tx.PostBalances), 2*maxBalances)
		for j := range tx.Instructions {
			calls += 1 + len(tx.Instructions[j].Inner)
			for _, c := range tx.Instructions[j].Inner {
				require.Less(t, c.ProgramIndex, maxKeys)
			}
		}
	}
	require.LessOrEqual(t, calls, size+1, "more instructions than bytes")
	require.LessOrEqual(t, len(b.Transactions)+len(b.Unread), maxTransactions)
	require.False(t, b.Whole && b.Partial())
	for i := range b.Unread {
		require.Error(t, b.Unread[i].Err)
		requireKnown(t, b.Unread[i].Err)
		require.LessOrEqual(t, len(b.Unread[i].Raw), size)
	}
}

func requireKnown(t *testing.T, err error) {
	t.Helper()
	if err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrNoTransaction) && !errors.Is(err, ErrUnsupported) {
		t.Fatalf("an error without a reason: %v", err)
	}
}

func FuzzJSON(f *testing.F) {
	for _, b := range sourcetest.NewChain(1000, 3) {
		f.Add(b.JSON(f))
	}
	for _, s := range []string{
		`{"slot":5,"blockTime":null,"transaction":{"signatures":["` + base58.Encode(make([]byte, 64)) + `"],"message":{"accountKeys":[{"pubkey":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","source":"lookupTable"}],"instructions":[{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","parsed":{"type":"mintTo","info":{"mint":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","account":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","mintAuthority":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","amount":"5"}}}]}},"meta":{"err":null,"innerInstructions":[{"index":0,"instructions":[{"programIdIndex":0,"accounts":[0],"data":"3","stackHeight":2}]}],"postTokenBalances":[{"accountIndex":0,"mint":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA","uiTokenAmount":{"amount":"1","decimals":6}}]}}`,
		`[{"raw":{}},{"result":null},[[[[[[]]]]]]]`, `{"params":{"result":{"value":{"block":{"transactions":[]}}}}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		slot := uint64(1000)
		for _, named := range []*uint64{nil, &slot} {
			blocks, err := Reader{}.JSON(data, named)
			requireKnown(t, err)
			for _, b := range blocks {
				requireSound(t, b, len(data))
			}
		}
		if b, err := BlockHeaderJSON(data, slot); err == nil {
			requireSound(t, b, len(data))
		}
	})
}

func FuzzConfirmedBlock(f *testing.F) {
	for _, b := range sourcetest.NewChain(1000, 3) {
		f.Add(b.ConfirmedBlock(f))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Reader{}.ConfirmedBlock(data, 1<<40)
		requireKnown(t, err)
		if err == nil {
			requireSound(t, b, len(data))
		}
	})
}

func FuzzGeyserUpdate(f *testing.F) {
	parent := uint64(5)
	for _, b := range sourcetest.NewChain(1000, 3) {
		f.Add(marshal(f, b.Update()))
		f.Add(marshal(f, b.AccountUpdates()[0]))
	}
	v1 := sourcetest.NewChain(1000, 1)[0].Update()
	for _, tx := range v1.GetBlock().Transactions {
		tx.Transaction.Message.Config = &pb.TransactionConfig{PriorityFee: new(uint64), HeapSize: new(uint32)}
	}
	for _, u := range []*pb.SubscribeUpdate{
		v1,
		{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: 7, Parent: &parent, Status: 6}}},
		{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: 7, ParentSlot: 6, Blockhash: "11111111111111111111111111111111"}}},
		{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: 1}}},
	} {
		f.Add(marshal(f, u))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := Reader{}.GeyserUpdate(data)
		requireKnown(t, err)
		require.LessOrEqual(t, u.Slot, uint64(maxSlot))
		require.Equal(t, u.Kind == Account, u.Account != nil)
		if u.Account != nil {
			requireAccount(t, u, data)
		}
		if err != nil || u.Block == nil {
			return
		}
		requireSound(t, u.Block, len(data))
		// What the generated types understand too, they understand in the same way (unless a field
		// is there twice: they merge).
		var want pb.SubscribeUpdate
		if proto.Unmarshal(data, &want) == nil && want.GetBlock() != nil && u.Kind == Block && len(u.Block.Transactions) == len(want.GetBlock().Transactions) {
			require.Equal(t, want.GetBlock().Slot, u.Slot)
			require.Equal(t, want.GetBlock().ParentSlot, *u.Block.ParentSlot)
		}
	})
}

// requireAccount: what the generated types understand as one account update, they understand in the
// same way.
func requireAccount(t *testing.T, u Update, data []byte) {
	t.Helper()
	require.Equal(t, -1, u.Account.Transaction)
	var want pb.SubscribeUpdate
	if proto.Unmarshal(data, &want) != nil || want.GetAccount().GetAccount() == nil {
		return
	}
	again, err := proto.Marshal(&want)
	if err != nil || len(again) != len(data) { // a field is there twice: they merge
		return
	}
	require.Equal(t, want.GetAccount().GetSlot(), u.Slot)
	require.Equal(t, want.GetAccount().GetAccount().GetPubkey(), u.Account.Key[:])
	require.Equal(t, want.GetAccount().GetAccount().GetOwner(), u.Account.Owner[:])
	require.Equal(t, want.GetAccount().GetAccount().GetTxnSignature(), u.Account.Signature[:])
	require.True(t, bytes.Equal(want.GetAccount().GetAccount().GetData(), u.Account.Data))
}

func FuzzWire(f *testing.F) {
	var block struct {
		Transactions []struct{ Transaction []string }
	}
	require.NoError(f, json.Unmarshal(sourcetest.NewChain(1000, 1)[0].JSON(f), &block))
	legacy, err := base64.StdEncoding.DecodeString(block.Transactions[0].Transaction[0])
	require.NoError(f, err)
	f.Add(legacy)
	f.Add(append(append(slices.Clone(legacy[:65]), 0x80), append(legacy[65:], 1, 32, 1, 0, 1, 1)...))
	f.Add(append([]byte{0}, make([]byte, 200)...))
	v1 := append([]byte{0x81, 1, 0, 0, 0x0f, 0, 0, 0}, make([]byte, 32)...)
	f.Add(append(append(v1, 1, 2), make([]byte, 64+16+4+64)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		var tx chain.Transaction
		_, err := Reader{}.builder().wireTransaction(&tx, data)
		requireKnown(t, err)
		if err == nil {
			require.LessOrEqual(t, len(tx.Keys), maxKeys)
			require.LessOrEqual(t, len(tx.Instructions)*3, len(data))
		}
	})
}
