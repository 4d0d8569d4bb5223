package state

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/cpmm"
)

// hang is what anything may take before it counts as hanging.
const hang = 3 * time.Minute

// server is a Yellowstone server that sends what a test says. It answers pings.
type server struct {
	pb.UnimplementedGeyserServer
	mu       sync.Mutex
	requests []*pb.SubscribeRequest
	updates  chan *pb.SubscribeUpdate
	// noReplay refuses older slots.
	noReplay bool
}

func (s *server) Subscribe(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]) error {
	pings := make(chan int32, 16)
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			if request.Ping != nil {
				pings <- request.GetPing().GetId()
				continue
			}
			s.mu.Lock()
			s.requests = append(s.requests, request)
			s.mu.Unlock()
		}
	}()
	for {
		select {
		case <-stream.Context().Done():
			return nil
		case id := <-pings:
			if s.refuses() {
				return status.Error(codes.OutOfRange, "gone")
			}
			if err := stream.Send(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: id}}}); err != nil {
				return err
			}
		case u := <-s.updates:
			if u == nil {
				return status.Error(codes.Unavailable, "restart")
			}
			if err := stream.Send(u); err != nil {
				return err
			}
		}
	}
}

func (s *server) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noReplay && s.requests[len(s.requests)-1].FromSlot != nil
}

func (s *server) last() *pb.SubscribeRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[len(s.requests)-1]
}

// await returns the last request, once there is one.
func (s *server) await(t *testing.T) *pb.SubscribeRequest {
	t.Helper()
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.requests) > 0
	}, hang, time.Millisecond)
	return s.last()
}

// block sends a slot's end, and that it is confirmed.
func (s *server) block(slot uint64) {
	s.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: slot, ParentSlot: slot - 1}}}
	s.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot, Status: pb.SlotStatus_SLOT_CONFIRMED}}}
}

// write sends accounts as one transaction of a slot left them.
func (s *server) write(t *testing.T, c *swaptest.Chain, slot uint64, transaction byte, keys ...venue.Key) {
	t.Helper()
	_, accounts, err := c.GetMultipleAccounts(t.Context(), keys, rpcOptions)
	require.NoError(t, err)
	for i, key := range keys {
		s.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Account{Account: &pb.SubscribeUpdateAccount{Slot: slot, Account: &pb.SubscribeUpdateAccountInfo{
			Pubkey: key[:], Owner: accounts[i].Owner[:], Lamports: 1, Data: accounts[i].Data, WriteVersion: slot*100 + uint64(i),
			TxnSignature: append([]byte{transaction}, make([]byte, 63)...)}}}}
	}
}

// follow starts a feed of the server's stream over a chain.
func follow(t *testing.T, s *server, c *swaptest.Chain) *Feed {
	t.Helper()
	return followWith(t, s, Deps{RPC: c})
}

// followWith fills in the rest of deps.
func followWith(t *testing.T, s *server, deps Deps) *Feed {
	t.Helper()
	f, _ := followFrom(t, "", s, deps)
	return f
}

// followFrom is followWith with a checkpoint. stop ends the feed.
func followFrom(t *testing.T, file string, s *server, deps Deps) (f *Feed, stop func()) {
	t.Helper()
	s.updates = make(chan *pb.SubscribeUpdate)
	memory := bufconn.Listen(1 << 20)
	serving := grpc.NewServer()
	pb.RegisterGeyserServer(serving, s)
	go func() { _ = serving.Serve(memory) }()
	if deps.Venues == nil {
		deps.Venues = venue.List{cpmm.Venue{}}
	}
	deps.Registerer = prometheus.NewRegistry()
	deps.Dial = func(ctx context.Context, _ string) (net.Conn, error) { return memory.DialContext(ctx) }
	f, err := New(Config{Endpoint: "http://test:1", File: file}, deps)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(t, <-done)
		serving.Stop()
	})
	t.Cleanup(stop)
	return f, stop
}

// advance moves the slot that calls read at.
func advance(c *swaptest.Chain, slots int) {
	for range slots {
		c.Edit(swaptest.Clock, func([]byte) {})
	}
}

// awaitPair waits until a pair has so many pools at a slot.
func awaitPair(t *testing.T, f *Feed, coin venue.Key, slot uint64, pools int) (found *market.Snapshot) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		found, err = f.Pair(coin, swaptest.WrappedSOL)
		return err == nil && found.Slot == slot && len(found.Pools) == pools
	}, hang, 2*time.Millisecond)
	return found
}

func TestPoolsAreHeldFromTheStream(t *testing.T) {
	c, s, coin := swaptest.New(), &server{}, swaptest.Named("coin")
	c.Mint(coin, swaptest.TokenProgram, 6)
	pool := func(name string, amount uint64) swaptest.PoolKeys {
		return c.CPMM(swaptest.Pool{Name: name, Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{amount, amount}, TradeRate: 2500})
	}
	first := pool("first", 1_000_000)
	f := follow(t, s, c)
	s.block(1000)
	_, err := f.Pair(coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld)
	quote := func(found *market.Snapshot) uint64 {
		q, err := found.Pools[0].Quote(venue.Order{In: coin, Amount: 1000, Clock: found.Pools[0].Clock})
		require.NoError(t, err)
		return q.AmountOut
	}
	before := quote(awaitPair(t, f, coin, 1000, 1))

	calls, changed := c.Calls("getMultipleAccounts"), f.Changed()
	pool("first", 1_000_000) // as another trade leaves it
	c.TokenAccount(first.Vaults[0], swaptest.TokenProgram, first.Mints[0], 2_000_000)
	s.write(t, c, 1001, 1, first.Pool, first.Vaults[0], first.Vaults[1])
	require.Equal(t, before, quote(awaitPair(t, f, coin, 1000, 1)), "a slot that is not complete is not told")
	advance(c, 1)
	s.block(1001)
	require.NotEqual(t, before, quote(awaitPair(t, f, coin, 1001, 1)))
	require.LessOrEqual(t, c.Calls("getMultipleAccounts"), calls+2, "the test's own, and at most one that was under way")
	<-changed

	second := pool("second", 5)
	s.write(t, c, 1002, 2, second.Pool)
	advance(c, 1)
	s.block(1002)
	awaitPair(t, f, coin, 1002, 2)
	request := s.last()
	require.Equal(t, []string{cpmm.Program.String()}, request.Accounts["programs"].Owner)
	require.Contains(t, request.Accounts["accounts_0"].Account, second.Vaults[1].String())
}

func TestAStreamThatCannotGoOnBeginsAnew(t *testing.T) {
	c, s, coin := swaptest.New(), &server{}, swaptest.Named("coin")
	c.Mint(coin, swaptest.TokenProgram, 6)
	c.CPMM(swaptest.Pool{Name: "pool", Mints: [2]venue.Key{coin, swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}})
	f := follow(t, s, c)
	s.block(1000)
	awaitPair(t, f, coin, 1000, 1)
	s.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: 1001, ParentSlot: 1000, BankId: 7}}}
	require.Eventually(t, func() bool { return f.Slot() == 1001 }, hang, time.Millisecond)
	s.updates <- nil
	require.Eventually(t, func() bool { return f.Slot() == 1000 }, hang, time.Millisecond, "another connection does not know the bank")
	require.Eventually(t, func() bool { return s.last().FromSlot != nil && *s.last().FromSlot == 1001 }, hang, time.Millisecond, "from behind the root")
	advance(c, 1)
	s.block(1001)
	awaitPair(t, f, coin, 1001, 1)
	require.Zero(t, testutil.ToFloat64(f.metrics.resets))

	s.mu.Lock()
	s.noReplay = true
	s.mu.Unlock()
	s.updates <- nil
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.resets) == 1 }, hang, time.Millisecond)
	_, err := f.Pair(coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld)
	advance(c, 499)
	s.block(1500)
	awaitPair(t, f, coin, 1500, 1)
}

// TestWatchedAccountsAreTold: from when to when, and their writes.
func TestWatchedAccountsAreTold(t *testing.T) {
	c, s := swaptest.New(), &server{}
	watched := swaptest.Named("watched")
	c.Mint(watched, swaptest.TokenProgram, 6)
	live, writes := make(chan uint64, 16), make(chan Write, 16)
	ended := make(chan uint64, 16)
	followWith(t, s, Deps{RPC: c, Watched: []venue.Key{watched}, Wrote: func(w Write) { writes <- w }, Live: func(on bool, slot uint64) {
		if on {
			live <- slot
		} else {
			ended <- slot
		}
	}})
	told := func(from chan uint64) uint64 {
		t.Helper()
		select {
		case slot := <-from:
			return slot
		case <-time.After(hang):
			t.Fatal("nothing is told")
			return 0
		}
	}
	told(live)
	require.Equal(t, []string{watched.String()}, s.last().Accounts["watched"].Account)
	s.write(t, c, 1000, 1, watched)
	w := <-writes
	require.Equal(t, watched, w.Key)
	require.EqualValues(t, 1000, w.Slot)
	s.block(1001)
	require.Empty(t, ended)
	s.updates <- nil
	require.EqualValues(t, 1001, told(ended), "behind all that came")
	require.EqualValues(t, 1001, told(live), "of the next connection")
}
