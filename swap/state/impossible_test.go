package state

import (
	"math"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
)

// Updates of slots that no chain can have reached would hold the head for ever.
func TestImpossibleUpdatesAreIgnored(t *testing.T) {
	for slot, want := range map[uint64]bool{math.MaxUint64 - 1: true, 1 << 53: true, 1e10: true, 470_000_000: false, 1: false, 0: false} {
		for name, u := range map[string]*pb.SubscribeUpdate{
			"account": {UpdateOneof: &pb.SubscribeUpdate_Account{Account: &pb.SubscribeUpdateAccount{Slot: slot}}},
			"status":  {UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot}}},
			"block":   {UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: slot, ParentSlot: slot - min(slot, 1)}}},
		} {
			require.Equal(t, want, impossible(u), "%s at %d", name, slot)
		}
	}
	require.True(t, impossible(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: 5, ParentSlot: 6}}}))
	require.False(t, impossible(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: 5, ParentSlot: 5}}}))
}
