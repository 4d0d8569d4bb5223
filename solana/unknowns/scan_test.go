package unknowns

import (
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"
)

func newScanner(b *Book) *Scanner {
	return NewScanner(b, "ingest", (&pb.SubscribeUpdate{}).ProtoReflect().Descriptor(), 4, 5)
}

func encoded(t require.TestingT, m proto.Message) []byte {
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

// newer adds a field that nobody knows to a message.
func newer[M proto.Message](m M) M {
	m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 50, protowire.VarintType), 7))
	return m
}

func blockUpdate(reward pb.RewardType) *pb.SubscribeUpdate {
	info := &pb.SubscribeUpdateTransactionInfo{
		Signature:   make([]byte, 64),
		Transaction: &pb.Transaction{Signatures: [][]byte{make([]byte, 64)}, Message: newer(&pb.Message{Instructions: []*pb.CompiledInstruction{newer(&pb.CompiledInstruction{Data: []byte("data")})}})},
		Meta:        newer(&pb.TransactionStatusMeta{PreBalances: []uint64{1, 2, 3}, Rewards: []*pb.Reward{{RewardType: reward}}}),
	}
	return &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: &pb.SubscribeUpdateBlock{
		Slot: 9, Transactions: []*pb.SubscribeUpdateTransactionInfo{info, info}, Rewards: &pb.Rewards{Rewards: []*pb.Reward{{RewardType: pb.RewardType_VATDebit}}},
	}}}
}

// TestScan: unknown fields at any depth, statuses and reward types are noted once a message; in all
// small messages, and in each 32nd block, the first one included.
func TestScan(t *testing.T) {
	b, to := newBook(t), &topic{}
	s := newScanner(b)
	block := encoded(t, blockUpdate(40))
	for range 2*scanEvery + 1 {
		s.Look(block)
	}
	status := newer(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: newer(&pb.SubscribeUpdateSlot{Slot: 8, Status: 99})}})
	for range 3 {
		s.Look(encoded(t, status))
	}
	s.Look(encoded(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: 8, Status: pb.SlotStatus_SLOT_DEAD}}}))
	s.Look(encoded(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}, Filters: []string{"mintlake"}}))
	(*Scanner)(nil).Look(block)

	require.NoError(t, b.write(t.Context(), to, 0))
	want := map[string]uint64{
		"geyser.SubscribeUpdate.50": 3, "geyser.SubscribeUpdateSlot.50": 3, "solana.storage.ConfirmedBlock.Message.50": 3,
		"solana.storage.ConfirmedBlock.CompiledInstruction.50": 3, "solana.storage.ConfirmedBlock.TransactionStatusMeta.50": 3,
	}
	for name, count := range want {
		found := find(to.fold(), ProtobufField, name)
		require.NotNil(t, found, name)
		require.Equal(t, count, found.Count, name)
		require.NotEmpty(t, found.Sample)
	}
	require.Len(t, to.fold(), len(want)+2)
	require.EqualValues(t, 3, find(to.fold(), RewardType, "40").Count)
	require.EqualValues(t, 3, find(to.fold(), SlotStatus, "99").Count)
	require.EqualValues(t, 8, *find(to.fold(), SlotStatus, "99").FirstSlot)
	require.EqualValues(t, 9, *find(to.fold(), RewardType, "40").FirstSlot)
}

// TestHostileMessages: whatever the bytes are, a look ends and notes little.
func TestHostileMessages(t *testing.T) {
	many := []byte{}
	for i := range protowire.Number(10_000) {
		many = protowire.AppendVarint(protowire.AppendTag(many, 100+i, protowire.VarintType), 1)
	}
	b := newBook(t)
	newScanner(b).Look(many)
	require.Len(t, b.kinds[ProtobufField], maxFound)
	rapid.Check(t, func(t *rapid.T) {
		b, err := New(nil, nil)
		require.NoError(t, err)
		s := newScanner(b)
		s.Look(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
		message := append([]byte{}, encoded(t, blockUpdate(40))...)
		at := rapid.IntRange(0, len(message)-1).Draw(t, "at")
		message[at] = rapid.Byte().Draw(t, "byte")
		s.Look(message[:rapid.IntRange(0, len(message)).Draw(t, "length")])
	})
}
