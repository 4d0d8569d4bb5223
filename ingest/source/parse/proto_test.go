package parse

import (
	"reflect"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
)

func TestConfirmedBlockAgreesWithGolden(t *testing.T) {
	b, err := Reader{}.ConfirmedBlock(sharedBytes(t, "data/blocks/332254855.confirmedblock.pb"), 332254855)
	require.NoError(t, err)
	requireGolden(t, b, readGolden(t, "332254855"))
}

// geyserBlock puts a real block into the shape that Geyser streams it in.
func geyserBlock(t testing.TB) (*pb.SubscribeUpdate, *chain.Block) {
	t.Helper()
	data := sharedBytes(t, "data/blocks/332254855.confirmedblock.pb")
	want, err := Reader{}.ConfirmedBlock(data, 332254855)
	require.NoError(t, err)
	var stored pb.ConfirmedBlock
	require.NoError(t, proto.Unmarshal(data, &stored))
	out := &pb.SubscribeUpdateBlock{Slot: 332254855, Blockhash: stored.Blockhash, ParentSlot: stored.ParentSlot, BlockTime: stored.BlockTime,
		ParentBlockhash: stored.PreviousBlockhash, BlockHeight: stored.BlockHeight, ExecutedTransactionCount: uint64(len(stored.Transactions))}
	for i, tx := range stored.Transactions {
		out.Transactions = append(out.Transactions, &pb.SubscribeUpdateTransactionInfo{Signature: tx.Transaction.Signatures[0], Index: uint64(i),
			IsVote: want.Transactions[i].Vote, Transaction: tx.Transaction, Meta: tx.Meta})
	}
	return &pb.SubscribeUpdate{Filters: []string{"blocks"}, UpdateOneof: &pb.SubscribeUpdate_Block{Block: out}}, want
}

func marshal(t testing.TB, m proto.Message) []byte {
	t.Helper()
	data, err := proto.Marshal(m)
	require.NoError(t, err)
	return data
}

func TestGeyserBlockIsTheSameBlock(t *testing.T) {
	message, want := geyserBlock(t)
	u, err := Reader{}.GeyserUpdate(marshal(t, message))
	require.NoError(t, err)
	require.Equal(t, Block, u.Kind)
	require.EqualValues(t, 1445, u.Executed)
	for _, b := range []*chain.Block{want, u.Block} { // came in two forms, see TestRawOfRealBlocks
		for i := range b.Transactions {
			b.Transactions[i].Raw = nil
		}
	}
	// require.Equal would print the difference of whole blocks for minutes.
	require.True(t, reflect.DeepEqual(want, u.Block))
}

func TestGeyserOtherKinds(t *testing.T) {
	u, err := Reader{}.GeyserUpdate(sharedBytes(t, "data/streams/subscribe_update_transaction.bin"))
	if err != nil || u.Kind != Transaction { // the file is the inner message
		u = Update{}
		require.NoError(t, u.transaction(Reader{}.builder(), sharedBytes(t, "data/streams/subscribe_update_transaction.bin")))
	}
	require.EqualValues(t, 420181274, u.Slot)
	require.Len(t, u.Block.Transactions, 1)
	require.False(t, u.Block.Whole)

	parent := uint64(6)
	u, err = Reader{}.GeyserUpdate(marshal(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: 7, Parent: &parent, Status: pb.SlotStatus_SLOT_DEAD}}}))
	require.NoError(t, err)
	require.Equal(t, Update{Kind: Slot, Slot: 7, Parent: &parent, Status: SlotDead}, u)
	u, err = Reader{}.GeyserUpdate(marshal(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}}))
	require.NoError(t, err)
	require.Equal(t, Ping, u.Kind)
	u, err = Reader{}.GeyserUpdate(marshal(t, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: 3}}}))
	require.NoError(t, err)
	require.Equal(t, Pong, u.Kind)
}

func TestRecordedStream(t *testing.T) {
	data := sharedBytes(t, "data/streams/geyser-slots-entries-20260205.bin")
	counts := map[UpdateKind]int{}
	for len(data) > 0 {
		n := int(data[0])<<24 | int(data[1])<<16 | int(data[2])<<8 | int(data[3])
		u, err := Reader{}.GeyserUpdate(data[4 : 4+n])
		require.NoError(t, err)
		counts[u.Kind]++
		if u.Kind == BlockMeta {
			require.NotZero(t, u.Executed)
			require.NotZero(t, u.Block.BlockTime)
			require.NotZero(t, u.Block.ParentBlockhash)
			require.Less(t, *u.Block.ParentSlot, u.Slot)
		}
		data = data[4+n:]
	}
	require.Equal(t, map[UpdateKind]int{Other: 40186 - 295 - 50 - 1, Slot: 295, BlockMeta: 50, Ping: 1}, counts)
}
