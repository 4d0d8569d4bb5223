package stream

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/gateway/socket"
)

// wantsOne is a filter of the transactions of one account.
func wantsOne() filters { return filters{"one": {AccountInclude: []string{text(1)}}} }

// TestAPanicEndsItsStreamOnly: both forms are told, and another client is served on.
func TestAPanicEndsItsStreamOnly(t *testing.T) {
	f := start(t, Config{})
	stream := f.subscribe(t, wantsOne())
	f.breakAll()
	_, err := stream.Recv()
	require.Equal(t, codes.Internal, status.Code(err), err)

	socket := f.dial(t)
	f.call(t, socket, `{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}`)
	f.breakAll()
	_, _, err = socket.Read(t.Context())
	require.Equal(t, websocket.StatusInternalError, websocket.CloseStatus(err), err)
	require.EqualValues(t, 2, testutil.ToFloat64(f.metrics.panics))

	other := f.subscribe(t, wantsOne())
	f.publish(tx{number: 1, keys: []byte{1}})
	number, _ := next(t, other)
	require.EqualValues(t, 1, number)
}

// breakAll gives each subscriber a delivery without a transaction, which panics where it is sent.
func (f *fixture) breakAll() {
	f.hub.mu.RLock()
	defer f.hub.mu.RUnlock()
	for s := range f.hub.subscribers {
		s.out.push(delivery{wants: []*entry{newEntry(s, namedFilter{"1", &filter{}}, nil)}})
	}
}

// TestAPanicInACall of a WebSocket ends its connection.
func TestAPanicInACall(t *testing.T) {
	f := start(t, Config{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lease, refused := f.admitWebSocket(r)
		sub, err := f.hub.add("b", formWebSocket, 1)
		if refused != nil || err != nil {
			t.Error(refused, err)
			return
		}
		session := newSession(f.Server, sub, lease)
		session.watches = nil // so that it can have none
		if err := session.Accept(w, r); err != nil {
			t.Error(err)
			return
		}
		session.run(t.Context())
	}))
	t.Cleanup(server.Close)
	socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(server.URL, "http")+"?apiKey="+f.key, nil)
	require.NoError(t, err)
	t.Cleanup(func() { socket.CloseNow() })
	require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"slotSubscribe"}`)))
	_, _, err = socket.Read(t.Context())
	require.Equal(t, websocket.StatusInternalError, websocket.CloseStatus(err), err)
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.panics))
}

// TestAPanicInAUnaryCall is its answer.
func TestAPanicInAUnaryCall(t *testing.T) {
	f := start(t, Config{})
	ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs(tokenHeader, f.key))
	_, err := f.interceptUnary(ctx, nil, &grpc.UnaryServerInfo{FullMethod: pb.Geyser_GetSlot_FullMethodName}, func(context.Context, any) (any, error) { panic("a bug") })
	require.Equal(t, codes.Internal, status.Code(err), err)
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.panics))
}

// TestAPanicInAReplay ends its stream.
func TestAPanicInAReplay(t *testing.T) {
	f := start(t, Config{})
	sub, err := f.hub.add("a", formGRPC, 1)
	require.NoError(t, err)
	t.Cleanup(func() { f.hub.remove(sub) })
	require.NoError(t, f.takePlace(t.Context(), sub.key))
	(&replay{server: f.Server, sub: sub, at: levelFinal}).run(t.Context()) // it has no log
	<-sub.Ended()
	require.ErrorIs(t, sub.Why(), socket.ErrInternal)
	require.EqualValues(t, 1, testutil.ToFloat64(f.metrics.panics))
}
