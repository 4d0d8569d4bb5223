package stream

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// node is a Geyser server that sends what the test says.
type node struct {
	pb.UnimplementedGeyserServer
	url      string
	sessions chan *nodeSession
}

type nodeSession struct {
	t       *testing.T
	request *pb.SubscribeRequest
	out     chan *pb.SubscribeUpdate
	end     chan error
	over    chan struct{} // closed when the session has ended
}

func (n *node) Subscribe(stream pb.Geyser_SubscribeServer) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	s := &nodeSession{request: request, out: make(chan *pb.SubscribeUpdate), end: make(chan error), over: make(chan struct{})}
	defer close(s.over)
	select {
	case n.sessions <- s:
	case <-stream.Context().Done():
		return nil
	}
	for {
		select {
		case u := <-s.out:
			if err := stream.Send(u); err != nil {
				return err
			}
		case err := <-s.end:
			return err
		case <-stream.Context().Done():
			return nil
		}
	}
}

func startNode(t *testing.T) *node {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	n := &node{url: "http://" + listener.Addr().String(), sessions: make(chan *nodeSession)}
	server := grpc.NewServer()
	pb.RegisterGeyserServer(server, n)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return n
}

// session waits for the next session.
func (n *node) session(t *testing.T) *nodeSession {
	t.Helper()
	select {
	case s := <-n.sessions:
		s.t = t
		return s
	case <-time.After(patience):
		t.Fatal("the stream did not subscribe")
		return nil
	}
}

// ends ends the session with a code.
func (s *nodeSession) ends(code codes.Code) {
	s.t.Helper()
	select {
	case s.end <- status.Error(code, "the test says so"):
	case <-time.After(patience):
		s.t.Fatal("the session is stuck")
	}
}

// say sends updates, each written as a text: see nodeUpdate.
func (s *nodeSession) say(list ...string) {
	s.t.Helper()
	for _, text := range list {
		select {
		case s.out <- nodeUpdate(text):
		case <-time.After(patience):
			s.t.Fatal("the session is stuck")
		}
	}
}

// repeats sends an update again and again, over one session after the other, until ctx ends.
func (n *node) repeats(ctx context.Context, text string) {
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-n.sessions:
			for alive := true; alive; {
				select {
				case <-ctx.Done():
					return
				case s.out <- nodeUpdate(text):
				case <-s.over:
					alive = false
				}
			}
		}
	}
}

// nodeUpdate is an update written as a text: "bank 7 6" and "shred 7" are interim statuses,
// "dead 7", "processed 7 6" and "confirmed 7" others, "meta 7 6" is a block, where the last number
// is the parent; "tx 701 7" is a transaction with its slot, "vote 702 7" one that is a vote; "ping"
// is about nothing.
func nodeUpdate(text string) *pb.SubscribeUpdate {
	var kind string
	var a, b uint64
	_, _ = fmt.Sscan(text, &kind, &a, &b)
	u := &pb.SubscribeUpdate{Filters: []string{"mintlake"}}
	of := func(status pb.SlotStatus) {
		slot := &pb.SubscribeUpdateSlot{Slot: a, Status: status}
		if b > 0 {
			slot.Parent = &b
		}
		if status == pb.SlotStatus_SLOT_DEAD {
			why := "a bad block"
			slot.DeadError = &why
		}
		u.UpdateOneof = &pb.SubscribeUpdate_Slot{Slot: slot}
	}
	switch kind {
	case "shred":
		of(pb.SlotStatus_SLOT_FIRST_SHRED_RECEIVED)
	case "bank":
		of(pb.SlotStatus_SLOT_CREATED_BANK)
	case "processed":
		of(pb.SlotStatus_SLOT_PROCESSED)
	case "confirmed":
		of(pb.SlotStatus_SLOT_CONFIRMED)
	case "dead":
		of(pb.SlotStatus_SLOT_DEAD)
	case "meta":
		u.UpdateOneof = &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{
			Slot: a, ParentSlot: b, Blockhash: text32(a), ParentBlockhash: text32(b), BlockHeight: &pb.BlockHeight{BlockHeight: a - 5},
		}}
	case "ping":
		u.UpdateOneof = &pb.SubscribeUpdate_Ping{Ping: &pb.SubscribeUpdatePing{}}
	case "tx", "vote":
		x := tx{number: int(a), slot: b, keys: []byte{byte(a % 10)}, vote: kind == "vote"}
		u.UpdateOneof = &pb.SubscribeUpdate_Transaction{Transaction: x.message()}
	default:
		panic(text)
	}
	return u
}

// text32 is the hash of a slot's block.
func text32(slot uint64) string { return base58.Encode(named(byte(slot))) }

// wireOf is an update as a session receives it.
func wireOf(t *testing.T, u *pb.SubscribeUpdate) []byte {
	t.Helper()
	raw, err := proto.Marshal(u)
	require.NoError(t, err)
	return raw
}
