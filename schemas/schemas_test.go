package schemas_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Each payload that an event can carry has a kind of the same name.
func TestEveryPayloadHasAKind(t *testing.T) {
	message := (&eventspb.TokenEvent{}).ProtoReflect()
	payloads := message.Descriptor().Oneofs().ByName("payload").Fields()
	for i := range payloads.Len() {
		field := payloads.Get(i)
		event := new(eventspb.TokenEvent)
		event.ProtoReflect().Set(field, event.ProtoReflect().NewField(field))
		require.Equal(t, schemas.Kind(field.Name()), schemas.KindOf(event))
	}
	require.Equal(t, schemas.KindUnknown, schemas.KindOf(new(eventspb.TokenEvent)))
}

func place(t *rapid.T) *eventspb.Position {
	optional := func(limit uint32, label string) *uint32 {
		n := rapid.Uint32Range(0, limit+1).Draw(t, label)
		if n == 0 {
			return nil
		}
		n--
		return &n
	}
	index := rapid.Uint32Range(0, 1<<20).Draw(t, "transaction")
	return &eventspb.Position{
		Slot: rapid.Uint64().Draw(t, "slot"), TransactionIndex: &index, InstructionIndex: rapid.Uint32Range(0, 255).Draw(t, "outer"),
		InnerInstructionIndex: optional(1000, "inner"), BatchIndex: optional(1000, "batch"),
	}
}

// tuple is a position as what it packs, in the order that decides.
func tuple(p *eventspb.Position) [5]int64 {
	before := func(n *uint32) int64 {
		if n == nil {
			return -1
		}
		return int64(*n)
	}
	return [5]int64{
		int64(p.GetSlot() ^ (1 << 63)), before(p.TransactionIndex), int64(p.GetInstructionIndex()),
		before(p.InnerInstructionIndex), before(p.BatchIndex),
	}
}

func TestPositionsOrderAsTheChainDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := place(t), place(t)
		if rapid.Bool().Draw(t, "same transaction") {
			b.Slot, b.TransactionIndex = a.GetSlot(), a.TransactionIndex
		}
		want := 0
		for i, x := range tuple(a) {
			if y := tuple(b)[i]; x != y {
				want = 1
				if x < y {
					want = -1
				}
				break
			}
		}
		p, q := schemas.PositionOf(a, nil), schemas.PositionOf(b, nil)
		require.Equal(t, want, p.Compare(q))
		require.Equal(t, want, p.BigInt().Cmp(q.BigInt()), "ClickHouse compares alike")
		require.Equal(t, -want, p.Reverse().Compare(q.Reverse()))
		require.Equal(t, fmt.Sprintf("%016x%016x", p.Slot, p.Order), fmt.Sprintf("%032x", p.BigInt()))
		require.Equal(t, -1, p.Compare(schemas.EndOfSlot(p.Slot)), "a read stands behind the slot's instructions")
	})
}

func TestAnUnknownIndexSortsBeforeKnownOnesOfItsSlot(t *testing.T) {
	index := uint32(0)
	known := schemas.PositionOf(&eventspb.Position{Slot: 5, TransactionIndex: &index}, nil)
	one := schemas.PositionOf(&eventspb.Position{Slot: 5}, []byte{1})
	other := schemas.PositionOf(&eventspb.Position{Slot: 5}, []byte{0xff, 0xff, 0xff, 0xff})
	require.Equal(t, 1, one.Compare(schemas.EndOfSlot(4)))
	require.Equal(t, -1, one.Compare(other))
	require.Equal(t, -1, other.Compare(known))
	index = math.MaxUint32
	known = schemas.PositionOf(&eventspb.Position{Slot: 5, TransactionIndex: &index}, nil)
	require.Equal(t, -1, known.Compare(schemas.PositionOf(&eventspb.Position{Slot: 6}, nil)))
}

func TestAnAccountStandsBehindTheTransactionThatWroteIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := place(t)
		index := rapid.Uint32Range(0, 5).Draw(t, "index")
		p.TransactionIndex = &index
		instruction, account := schemas.PositionOf(p, nil), schemas.EndOfTransaction(p.GetSlot(), index)
		require.Equal(t, -1, instruction.Compare(account))
		next := index + 1
		require.Equal(t, -1, account.Compare(schemas.PositionOf(&eventspb.Position{Slot: p.GetSlot(), TransactionIndex: &next}, nil)))
		require.Equal(t, -1, account.Compare(schemas.EndOfSlot(p.GetSlot())))
	})
}

func TestInstructionIDForgetsTheTransactionIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := place(t)
		signature := rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "signature")
		id := schemas.InstructionIDOf(p, signature)
		p.TransactionIndex = nil
		require.Equal(t, id, schemas.InstructionIDOf(p, signature))
		p.InstructionIndex++
		require.NotEqual(t, id, schemas.InstructionIDOf(p, signature))
	})
}

// TestAPlaceComesBackFromItsNumber: also from a position's Order and from an InstructionID, whether
// or not the transaction's index is known.
func TestAPlaceComesBackFromItsNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := place(t)
		if rapid.Bool().Draw(t, "index unknown") {
			p.TransactionIndex = nil
		}
		want := schemas.Place{Instruction: p.GetInstructionIndex(), Inner: -1, Batch: -1}
		if p.InnerInstructionIndex != nil {
			want.Inner = int32(min(p.GetInnerInstructionIndex(), 1<<14-2))
		}
		if p.BatchIndex != nil {
			want.Batch = int32(min(p.GetBatchIndex(), 1<<14-2))
		}
		packed := schemas.PackPlace(p)
		signature := rapid.SliceOfN(rapid.Byte(), 64, 64).Draw(t, "signature")
		order, id := schemas.PositionOf(p, signature).Order, schemas.InstructionIDOf(p, signature)
		require.Equal(t, want, schemas.UnpackPlace(packed))
		require.Equal(t, want, schemas.UnpackPlace(order))
		require.Equal(t, packed, binary.BigEndian.Uint64(id[8:]))
		require.Equal(t, order, schemas.JoinOrder(schemas.SplitOrder(order)))
		require.Equal(t, packed, schemas.PackPlace(&eventspb.Position{
			InstructionIndex: p.InstructionIndex, InnerInstructionIndex: p.InnerInstructionIndex, BatchIndex: p.BatchIndex,
		}), "whichever transaction it is in")
	})
}

func TestPositionFitsUInt128(t *testing.T) {
	highest := schemas.EndOfSlot(math.MaxUint64).BigInt()
	require.Equal(t, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1)), highest)
}

// Brokers' defaults delete records that must stay, so both retentions are always said.
func TestEveryTopicSaysItsRetention(t *testing.T) {
	for _, topic := range schemas.Topics() {
		config := topic.Config()
		require.NotEmpty(t, config["retention.ms"], topic.Name)
		require.NotEmpty(t, config["retention.bytes"], topic.Name)
		require.Equal(t, "delete", config["cleanup.policy"], topic.Name)
		require.Positive(t, topic.Partitions, topic.Name)
	}
}
