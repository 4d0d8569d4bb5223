package state

import (
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
)

// TestUnknownUpdatesAreNoted: fields and statuses that the server's interface got later.
func TestUnknownUpdatesAreNoted(t *testing.T) {
	book, s := unknowntest.New(t), &server{}
	f := followWith(t, s, Deps{RPC: swaptest.New(), Unknowns: book})
	unknown := func(m proto.Message) {
		m.ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 50, protowire.VarintType), 1))
	}
	account := &pb.SubscribeUpdateAccount{Slot: 7, Account: &pb.SubscribeUpdateAccountInfo{}}
	slot, meta := &pb.SubscribeUpdateSlot{Slot: 7, Status: 99}, &pb.SubscribeUpdateBlockMeta{Slot: 7}
	updates := []*pb.SubscribeUpdate{
		{UpdateOneof: &pb.SubscribeUpdate_Account{Account: account}}, {UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: slot}},
		{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: meta}},
	}
	for _, m := range []proto.Message{account, account.GetAccount(), slot, meta, updates[0]} {
		unknown(m)
	}
	for _, u := range updates {
		s.updates <- u
	}
	s.block(8)
	seen := make(chan uint64)
	require.Eventually(t, func() bool {
		f.enqueue(t.Context(), func() { seen <- f.seen })
		return <-seen >= 8
	}, hang, time.Millisecond)

	noted := unknowntest.Noted(t, book)
	require.Len(t, noted, 6)
	for _, name := range []string{
		"slot_status/99", "protobuf_field/geyser.SubscribeUpdate.50", "protobuf_field/geyser.SubscribeUpdateSlot.50", "protobuf_field/geyser.SubscribeUpdateBlockMeta.50",
		"protobuf_field/geyser.SubscribeUpdateAccount.50", "protobuf_field/geyser.SubscribeUpdateAccountInfo.50",
	} {
		require.Contains(t, noted, name)
	}
}
