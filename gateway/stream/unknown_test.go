package stream

import (
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
)

// TestUnknownUpdatesAreNoted: fields and statuses that the node's interface got later. The update
// itself is handled as before.
func TestUnknownUpdatesAreNoted(t *testing.T) {
	book := unknowntest.New(t)
	s, err := New(Config{Addr: "127.0.0.1:0", Processed: ProcessedConfig{Endpoint: "http://127.0.0.1:1"}},
		Deps{Keys: &keys.Static{}, Offsets: newTopic(), OpenTail: newTopic().open, Unknowns: book})
	require.NoError(t, err)
	take := func(u *pb.SubscribeUpdate, more ...byte) {
		message, err := proto.Marshal(u)
		require.NoError(t, err)
		s.processed.take(received{message: append(message, more...), at: time.Now()})
	}
	field := protowire.AppendVarint(protowire.AppendTag(nil, 50, protowire.VarintType), 1)
	slot := &pb.SubscribeUpdateSlot{Slot: 7, Status: 99}
	slot.ProtoReflect().SetUnknown(field)
	meta := &pb.SubscribeUpdateBlockMeta{Slot: 7, Blockhash: text(1), ParentBlockhash: text(2)}
	meta.ProtoReflect().SetUnknown(field)
	take(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: slot}}, field...)
	take(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: meta}})
	take(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}})
	take(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: 7, Status: pb.SlotStatus_SLOT_FINALIZED}}})

	noted := unknowntest.Noted(t, book)
	require.Len(t, noted, 4)
	for _, name := range []string{"slot_status/99", "protobuf_field/geyser.SubscribeUpdate.50", "protobuf_field/geyser.SubscribeUpdateSlot.50", "protobuf_field/geyser.SubscribeUpdateBlockMeta.50"} {
		require.Contains(t, noted, name)
	}
	require.EqualValues(t, 7, *noted["slot_status/99"].FirstSlot)
}
