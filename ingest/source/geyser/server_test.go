package geyser

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana/yellowstone"
)

// raw is a message that the fake server sends as it is.
type raw []byte

type serverCodec struct{ yellowstone.RawCodec }

func (serverCodec) Marshal(v any) (mem.BufferSlice, error) {
	if data, ok := v.(raw); ok {
		return mem.BufferSlice{mem.SliceBuffer(data)}, nil
	}
	return yellowstone.RawCodec{}.Marshal(v)
}

// fake is a Geyser server over a made-up chain. Unless a script says otherwise, a subscription gets
// the blocks from from_slot on (without one: from the head on), then each block as it is produced,
// then pings.
type fake struct {
	pb.UnimplementedGeyserServer
	t     testing.TB
	chain sourcetest.Chain
	token string
	// script is what the n-th subscription does instead; nil entries and those beyond follow the
	// rule.
	script []func(*sub) error
	// every changes every subscription's block messages: it returns what is sent for the i-th
	// block.
	every func(i int) []any
	// oldest is the first slot that can be replayed; tells lets SubscribeReplayInfo say so;
	// noReplay refuses every from_slot.
	oldest   uint64
	tells    bool
	noReplay bool
	// badReplay is what every subscription with a from_slot does instead.
	badReplay func(*sub) error
	// resumes lets the head stand still until so many subscriptions have come.
	standAt, resumes int

	mu    sync.Mutex
	head  int
	subs  []*sub
	pongs int

	running sync.WaitGroup
}

type sub struct {
	*fake
	n      int
	stream grpc.ServerStream
	req    *pb.SubscribeRequest
}

func (s *sub) send(v any) error { return s.stream.SendMsg(v) }

func ping() *pb.SubscribeUpdate {
	return &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}}
}

// start serves on a free port and returns the address.
func (f *fake) start(t testing.TB, opts ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f.serve(t, l, opts...)
	return l.Addr().String()
}

// startInBubble serves without a network, and returns how to connect: a bubble's clock stands still
// while anybody waits for a real one. So what a test does with time is no race against the machine.
func (f *fake) startInBubble(t testing.TB, listener func(net.Listener) net.Listener) func(context.Context, string) (net.Conn, error) {
	t.Helper()
	memory := bufconn.Listen(1 << 20)
	var l net.Listener = memory
	if listener != nil {
		l = listener(l)
	}
	f.serve(t, l)
	return func(ctx context.Context, _ string) (net.Conn, error) { return memory.DialContext(ctx) }
}

func (f *fake) serve(t testing.TB, l net.Listener, opts ...grpc.ServerOption) {
	t.Helper()
	f.t = t
	s := grpc.NewServer(append(opts, grpc.ForceServerCodecV2(serverCodec{}), grpc.WaitForHandlers(true))...)
	pb.RegisterGeyserServer(s, f)
	f.running.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { // a bubble must be left by all
		s.Stop()
		f.running.Wait()
	})
}

func (f *fake) SubscribeReplayInfo(context.Context, *pb.SubscribeReplayInfoRequest) (*pb.SubscribeReplayInfoResponse, error) {
	if !f.tells {
		return nil, status.Error(codes.Unimplemented, "no")
	}
	if f.noReplay {
		return &pb.SubscribeReplayInfoResponse{}, nil
	}
	return &pb.SubscribeReplayInfoResponse{FirstAvailable: &f.oldest}, nil
}

func (f *fake) Subscribe(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]) error {
	md, _ := metadata.FromIncomingContext(stream.Context())
	if f.token != "" && (len(md["x-token"]) != 1 || md["x-token"][0] != f.token) {
		return status.Error(codes.Unauthenticated, "no valid auth token")
	}
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	f.mu.Lock()
	s := &sub{fake: f, n: len(f.subs), stream: stream, req: req}
	f.subs = append(f.subs, s)
	f.mu.Unlock()
	if s.n == 0 {
		f.running.Go(f.produce)
	}
	f.running.Go(func() {
		for {
			more, err := stream.Recv()
			if err != nil {
				return
			}
			if more.Ping != nil {
				f.mu.Lock()
				f.pongs++
				f.mu.Unlock()
			}
		}
	})
	if s.n < len(f.script) && f.script[s.n] != nil {
		return f.script[s.n](s)
	}
	if s.req.FromSlot != nil && f.badReplay != nil {
		return f.badReplay(s)
	}
	return s.live(-1)
}

// replay sends so many blocks from from_slot on.
func (s *sub) replay(most int) error {
	for i := range s.chain {
		if s.chain[i].Slot >= s.req.GetFromSlot() && most > 0 {
			most--
			if err := s.block(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// chat sends the same message every second.
func (s *sub) chat(message any) error {
	for s.send(message) == nil {
		time.Sleep(time.Second)
	}
	return nil
}

func (f *fake) produce() {
	for i := 0; i <= len(f.chain) && f.t.Context().Err() == nil; i++ {
		for i == f.standAt && f.count() < f.resumes && f.t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		f.mu.Lock()
		f.head = i
		f.mu.Unlock()
		time.Sleep(300 * time.Microsecond)
	}
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.subs)
}

// live follows the rule for so many blocks (-1: until the client goes).
func (s *sub) live(most int) error {
	s.mu.Lock()
	next := s.head
	s.mu.Unlock()
	if s.req.FromSlot != nil {
		switch {
		case s.noReplay:
			return status.Error(codes.Internal, "from_slot is not supported")
		case *s.req.FromSlot < s.oldest:
			return status.Error(codes.OutOfRange, fmt.Sprintf("broadcast from %d is not available", *s.req.FromSlot))
		}
		for next = 0; next < len(s.chain) && s.chain[next].Slot < *s.req.FromSlot; next++ {
		}
	} else if s.n == 0 {
		next = 0
	} else {
		// a chain goes on: without another block, what was lost at its end would never show
		next = min(next, len(s.chain)-1)
	}
	for sent := 0; sent != most; {
		if err := s.stream.Context().Err(); err != nil {
			return err
		}
		s.mu.Lock()
		head := s.head
		s.mu.Unlock()
		if next >= head {
			if err := s.send(ping()); err != nil {
				return err
			}
			time.Sleep(time.Millisecond)
			continue
		}
		if err := s.block(next); err != nil {
			return err
		}
		next++
		sent++
	}
	return nil
}

func (s *sub) block(i int) error {
	messages := []any{s.chain[i].Update()}
	if s.every != nil {
		messages = s.every(i)
	}
	for _, m := range messages {
		if err := s.send(m); err != nil {
			return err
		}
	}
	return nil
}

func slotUpdate(slot uint64, parent *uint64, st pb.SlotStatus) *pb.SubscribeUpdate {
	return &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot, Parent: parent, Status: st}}}
}

// cutting closes each of the first so many connections after it has carried so many bytes, wherever
// in a message that is.
type cutting struct {
	net.Listener
	mu    sync.Mutex
	after []int
}

func (c *cutting) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.after) == 0 {
		return conn, nil
	}
	left := c.after[0]
	c.after = c.after[1:]
	return &cutConn{Conn: conn, left: left}, nil
}

type cutConn struct {
	net.Conn
	left int
}

func (c *cutConn) Write(b []byte) (int, error) {
	if len(b) > c.left {
		n, _ := c.Conn.Write(b[:c.left])
		_ = c.Close()
		return n, net.ErrClosed
	}
	c.left -= len(b)
	return c.Conn.Write(b)
}

// refusing closes the connections that come after the first one, until some time.
type refusing struct {
	net.Listener
	until   time.Time
	seen    int
	refused int
}

func (r *refusing) over(l net.Listener) net.Listener {
	r.Listener = l
	return r
}

func (r *refusing) Accept() (net.Conn, error) {
	for {
		conn, err := r.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if r.seen++; r.seen == 1 || time.Now().After(r.until) {
			return conn, nil
		}
		r.refused++
		_ = conn.Close()
	}
}
