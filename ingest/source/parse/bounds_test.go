package parse_test

import (
	"math"
	"strings"
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana/bounds"
)

// reader has bounds, and has read a chain up to the block that it returns.
func reader(t *testing.T) (parse.Reader, *sourcetest.Block) {
	t.Helper()
	within, err := bounds.New(bounds.Deps{Clock: func() time.Time { return time.Unix(1_795_000_000, 0) }})
	require.NoError(t, err)
	r, chain := parse.Reader{}.Within(within), sourcetest.NewChain(90_000_000, 40)
	for _, b := range chain {
		_, err := r.BlockJSON(b.JSON(t), b.Slot)
		require.NoError(t, err)
	}
	return r, chain[len(chain)-1]
}

// lies are blocks that cannot be, made of the next block of the chain.
func lies(last *sourcetest.Block) map[string]func(b *sourcetest.Block) {
	return map[string]func(b *sourcetest.Block){
		"slot 2^64-2":          func(b *sourcetest.Block) { b.Slot, b.Parent = math.MaxUint64-1, math.MaxUint64-2 },
		"slot 2^63":            func(b *sourcetest.Block) { b.Slot, b.Parent = 1<<63, 1<<63-1 },
		"slot 2^52":            func(b *sourcetest.Block) { b.Slot, b.Parent = 1<<52, 1<<52-1 },
		"slot a billion above": func(b *sourcetest.Block) { b.Slot, b.Parent = b.Slot+1e9, b.Parent+1e9 },
		"slot far below":       func(b *sourcetest.Block) { b.Slot, b.Parent = 1000, 999 },
		"parent 2^64-1":        func(b *sourcetest.Block) { b.Parent = math.MaxUint64 },
		"parent above":         func(b *sourcetest.Block) { b.Parent = b.Slot + 1 },
		"parent far below":     func(b *sourcetest.Block) { b.Parent = last.Slot - 50_000_000 },
		"time in 2100":         func(b *sourcetest.Block) { b.BlockTime = 4_102_444_800 },
		"time in 2019":         func(b *sourcetest.Block) { b.BlockTime = 1_560_000_000 },
		"time 1":               func(b *sourcetest.Block) { b.BlockTime = 1 },
		"time below 0":         func(b *sourcetest.Block) { b.BlockTime = -5 },
		"time a day back":      func(b *sourcetest.Block) { b.BlockTime -= 86_400 },
	}
}

func TestBlocksThatCannotBeAreRefusedInEveryForm(t *testing.T) {
	forms := map[string]func(t *testing.T, r parse.Reader, b *sourcetest.Block) error{
		"getBlock": func(t *testing.T, r parse.Reader, b *sourcetest.Block) error {
			_, err := r.BlockJSON(b.JSON(t), b.Slot)
			return err
		},
		"a file": func(t *testing.T, r parse.Reader, b *sourcetest.Block) error {
			_, err := r.JSON(b.JSON(t), &b.Slot)
			return err
		},
		"ConfirmedBlock": func(t *testing.T, r parse.Reader, b *sourcetest.Block) error {
			_, err := r.ConfirmedBlock(b.ConfirmedBlock(t), b.Slot)
			return err
		},
		"a stream": func(t *testing.T, r parse.Reader, b *sourcetest.Block) error {
			raw, err := proto.Marshal(b.Update())
			require.NoError(t, err)
			_, err = r.GeyserUpdate(raw)
			return err
		},
	}
	for form, read := range forms {
		r, last := reader(t)
		next := func() *sourcetest.Block { return sourcetest.NewBlock(last.Slot+1, last, "block") }
		for name, lie := range lies(last) {
			b := next()
			lie(b)
			err := read(t, r, b)
			require.ErrorIs(t, err, parse.ErrMalformed, "%s: %s", form, name)
			require.NotContains(t, err.Error(), "\n")
			require.NoError(t, read(t, r, next()), "%s: after %s", form, name)
		}
	}
}

func TestMessagesOfAStreamThatCannotBe(t *testing.T) {
	r, last := reader(t)
	for _, slot := range []uint64{math.MaxUint64 - 1, 1 << 52, 1e10, last.Slot} {
		parent := slot - 1
		for name, u := range map[string]*pb.SubscribeUpdate{
			"status": {UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot, Parent: &parent, Status: pb.SlotStatus_SLOT_FINALIZED}}},
			"dead":   {UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot, Status: pb.SlotStatus_SLOT_DEAD}}},
			"account": {UpdateOneof: &pb.SubscribeUpdate_Account{Account: &pb.SubscribeUpdateAccount{Slot: slot, Account: &pb.SubscribeUpdateAccountInfo{
				Pubkey: make([]byte, 32), Owner: make([]byte, 32), TxnSignature: []byte(strings.Repeat("s", 64)), Data: []byte{1}}}}},
			"block meta": {UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: slot, ParentSlot: parent,
				Blockhash: last.Hash.String(), ParentBlockhash: last.ParentHash.String()}}},
		} {
			raw, err := proto.Marshal(u)
			require.NoError(t, err)
			_, err = r.GeyserUpdate(raw)
			if slot == last.Slot {
				require.NoError(t, err, name)
				continue
			}
			require.ErrorIs(t, err, parse.ErrMalformed, "%s at slot %d", name, slot)
		}
	}
}

// TestRecordedBlocksArePossible: blocks that a validator or a provider wrote, years old, in any
// order, are believed.
func TestRecordedBlocksArePossible(t *testing.T) {
	within, err := bounds.New(bounds.Deps{})
	require.NoError(t, err)
	for _, b := range sourcetest.RealBlocks(t) {
		raw, err := proto.Marshal(b.Confirmed())
		require.NoError(t, err)
		_, err = parse.Reader{}.Within(within).ConfirmedBlock(raw, b.Slot)
		require.NoError(t, err, "slot %d", b.Slot)
	}
}
