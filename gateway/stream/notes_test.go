package stream

import (
	"context"
	"fmt"
	"testing"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// sentMessages takes what is sent, and ends the stream after the last one.
type sentMessages struct {
	grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]
	ctx    context.Context
	cancel context.CancelFunc
	list   []string
	most   int
}

func (s *sentMessages) Context() context.Context { return s.ctx }

func (s *sentMessages) SendMsg(m any) error {
	switch m := m.(type) {
	case mem.BufferSlice:
		s.list = append(s.list, "transaction")
	case *pb.SubscribeUpdate:
		s.list = append(s.list, fmt.Sprintf("%d %s", m.GetSlot().GetSlot(), m.GetSlot().GetStatus()))
	}
	if len(s.list) == s.most {
		s.cancel()
	}
	return s.ctx.Err()
}

// TestStatusesDoNotWaitBehindTransactions: with a thousand transactions waiting for the client, a
// status that is beside them is next; the end of a slot is behind the slot's last transaction, and
// before the next slot's first.
func TestStatusesDoNotWaitBehindTransactions(t *testing.T) {
	const waiting = 1000
	h := newHub(1, 10)
	sub, err := h.add("", formGRPC, 2*waiting)
	require.NoError(t, err)
	read, err := readFilters(filters{"all": {}}, limits{1, 10})
	require.NoError(t, err)
	require.NoError(t, h.set(sub, read, nil))
	in := &pb.SubscribeRequest{Transactions: filters{"all": {}}, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}}}
	watches, err := watchesOf(in, levelLog, 2)
	require.NoError(t, err)
	sub.shard.setWatches(sub, watches)

	for i := range waiting {
		sub.shard.match(levelLog, &transaction{offset: int64(i), slot: 7, raw: []byte{0}})
	}
	sub.shard.tell(&note{offset: waiting, slot: 7, kind: noteEnd, end: &eventspb.StreamBlock{Slot: 7}})
	sub.shard.match(levelLog, &transaction{offset: waiting + 1, slot: 8, raw: []byte{0}})
	sub.shard.tell(&note{offset: waiting + 2, slot: 3, kind: noteFinalized})
	sub.shard.tell(&note{offset: waiting + 3, slot: 5, kind: noteDead})

	ctx, cancel := context.WithCancel(t.Context())
	out := &sentMessages{ctx: ctx, cancel: cancel, most: waiting + 4}
	g := &geyser{Server: &Server{timings: socket.Usual(), cfg: Config{}.withDefaults()}}
	require.Error(t, g.send(out, sub, nil))
	var order []string
	for _, text := range out.list {
		if text != "transaction" || len(order) == 0 || order[len(order)-1] != text {
			order = append(order, text)
		}
	}
	if order[0] == "transaction" { // one may be on its way
		require.Equal(t, "3 SLOT_FINALIZED", out.list[1])
		order = order[1:]
	}
	require.Equal(t, []string{"3 SLOT_FINALIZED", "5 SLOT_DEAD", "transaction", "7 SLOT_CONFIRMED", "transaction"}, order)
}
