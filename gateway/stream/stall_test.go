package stream

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
)

// slotOf is the next update of the filter for the stream's status.
func slotOf(t *testing.T, stream pb.Geyser_SubscribeClient) *pb.SubscribeUpdateSlot {
	t.Helper()
	for {
		update, err := stream.Recv()
		require.NoError(t, err)
		if slot := update.GetSlot(); slot != nil {
			require.Equal(t, []string{statusFilter}, update.Filters)
			return slot
		}
	}
}

// statusNotification is the next message that a WebSocket gets, which must be one of these.
func statusNotification(t *testing.T, f *fixture, socket *websocket.Conn) (result statusResult) {
	t.Helper()
	_, message, err := socket.Read(f.context(t))
	require.NoError(t, err)
	var in struct {
		Method string
		Params struct {
			Subscription int
			Result       *statusResult
		}
	}
	in.Params.Result = &result
	require.NoError(t, json.Unmarshal(message, &in), string(message))
	require.Equal(t, "statusNotification", in.Method, string(message))
	require.Equal(t, 1, in.Params.Subscription)
	return result
}

// TestSubscribersAreToldOfAStall: why, until when, and those who come meanwhile, too.
func TestSubscribersAreToldOfAStall(t *testing.T) {
	t.Parallel() // it waits most of the time
	f := start(t, Config{stallAfter: 3 * time.Second})
	c, ctx := f.client(t)
	stream, err := c.Subscribe(ctx)
	require.NoError(t, err)
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Transactions: filters{"all": {}}, Slots: map[string]*pb.SubscribeRequestFilterSlots{statusFilter: {}}}))
	socket := f.dial(t)
	for number, want := range []string{stalledSource, stalledLog} {
		slot := slotOf(t, stream)
		require.Equal(t, pb.SlotStatus_SLOT_DEAD, slot.Status)
		require.Equal(t, "stalled: "+want, slot.GetDeadError())
		if number == 0 {
			require.JSONEq(t, `{"jsonrpc":"2.0","result":1,"id":1}`, f.call(t, socket, `{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{}]}`))
		}
		require.Equal(t, statusResult{"stalled", slot.Slot, want}, statusNotification(t, f, socket))

		f.topic.away.Store(number == 0) // which tells how the next stall is explained
		f.publish(tx{number: number, slot: uint64(10 + number), keys: []byte{1}})
		resumed := slotOf(t, stream)
		require.Equal(t, pb.SlotStatus_SLOT_CONFIRMED, resumed.Status)
		require.Equal(t, slot.Slot, resumed.Slot)
		n, _ := next(t, stream)
		require.EqualValues(t, number, n)
		require.Equal(t, statusResult{"resumed", slot.Slot, ""}, statusNotification(t, f, socket))
		_, message, err := socket.Read(f.context(t))
		require.NoError(t, err)
		require.Contains(t, string(message), "transactionNotification")
	}
	require.GreaterOrEqual(t, testutil.ToFloat64(f.metrics.stalls), 2.0)
}
