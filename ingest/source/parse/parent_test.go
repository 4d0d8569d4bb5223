package parse

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
)

// TestBlockThatIsItsOwnParent: Surfpool names the block's own slot. The slot before is its parent;
// an impossible parent stays refused.
func TestBlockThatIsItsOwnParent(t *testing.T) {
	const hash, other = "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM", "8qbHbw2BbbTHBW1sbeqakYXVKRQM8Ne7pLK7m6CVfeR"
	doc := func(parent string) []byte {
		return []byte(`{"blockhash":"` + hash + `","previousBlockhash":"` + other + `","parentSlot":` + parent + `,"blockTime":1700000000,"transactions":[]}`)
	}
	for slot, want := range map[uint64]uint64{7: 6, 1: 0} {
		b, err := Reader{}.BlockJSON(doc(map[uint64]string{7: "7", 1: "1"}[slot]), slot)
		require.NoError(t, err)
		require.Equal(t, want, *b.ParentSlot)
		require.True(t, b.ParentGuessed)
	}
	b, err := Reader{}.BlockJSON(doc("5"), 7)
	require.NoError(t, err)
	require.False(t, b.ParentGuessed)
	_, err = Reader{}.BlockJSON(doc("8"), 7)
	require.ErrorContains(t, err, "parent slot 8 is not before slot 7")
	header, err := BlockHeaderJSON(doc("7"), 7)
	require.NoError(t, err)
	require.Equal(t, uint64(6), *header.ParentSlot)
	genesis, err := Reader{}.BlockJSON(doc("0"), 0)
	require.NoError(t, err)
	require.False(t, genesis.ParentGuessed)
}

func TestGeyserBlockThatIsItsOwnParent(t *testing.T) {
	const hash = "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM"
	raw, err := proto.Marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{
		Block: &pb.SubscribeUpdateBlock{Slot: 7, ParentSlot: 7, Blockhash: hash, ParentBlockhash: hash}}})
	require.NoError(t, err)
	u, err := Reader{}.GeyserUpdate(raw)
	require.NoError(t, err)
	require.Equal(t, uint64(6), *u.Block.ParentSlot)
	require.True(t, u.Block.ParentGuessed)
	parent := uint64(7)
	raw, err = proto.Marshal(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{
		Slot: &pb.SubscribeUpdateSlot{Slot: 7, Parent: &parent, Status: pb.SlotStatus_SLOT_FINALIZED}}})
	require.NoError(t, err)
	u, err = Reader{}.GeyserUpdate(raw)
	require.NoError(t, err)
	require.Equal(t, uint64(6), *u.Parent)
}
