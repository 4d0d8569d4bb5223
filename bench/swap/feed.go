package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// node is what the swap API follows: a Yellowstone server on loopback, and a JSON-RPC server that
// knows where the chain is. The accounts themselves come from a checkpoint.
type node struct {
	pb.UnimplementedGeyserServer
	endpoint string
	slot     atomic.Uint64
	updates  chan *pb.SubscribeUpdate
	stop     func()
}

func startNode(slot uint64) (*node, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &node{endpoint: "http://" + listener.Addr().String(), updates: make(chan *pb.SubscribeUpdate, 1<<14)}
	n.slot.Store(slot)
	// The request names all accounts of 100,000 pools.
	serving := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
	pb.RegisterGeyserServer(serving, n)
	go func() { _ = serving.Serve(listener) }()
	n.stop = serving.Stop
	return n, nil
}

// Subscribe implements pb.GeyserServer. It sends all updates to the one subscriber who asks for
// accounts, and answers pings. Another asks for transactions, of which there are none.
func (n *node) Subscribe(stream grpc.BidiStreamingServer[pb.SubscribeRequest, pb.SubscribeUpdate]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	var updates <-chan *pb.SubscribeUpdate
	if len(first.GetAccounts()) > 0 {
		updates = n.updates
	}
	pings := make(chan int32, 64)
	go func() {
		for {
			request, err := stream.Recv()
			if err != nil {
				return
			}
			if request.Ping != nil {
				pings <- request.GetPing().GetId()
			}
		}
	}()
	for {
		var u *pb.SubscribeUpdate
		select {
		case <-stream.Context().Done():
			return nil
		case id := <-pings:
			u = &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: id}}}
		case u = <-updates:
		}
		if err := stream.Send(u); err != nil {
			return err
		}
	}
}

// write sends accounts as one transaction left them.
func (n *node) write(slot, order uint64, accounts []account) {
	signature := make([]byte, 64)
	for i := range 8 {
		signature[i] = byte(order >> (8 * i))
	}
	for i, a := range accounts {
		n.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Account{Account: &pb.SubscribeUpdateAccount{Slot: slot, Account: &pb.SubscribeUpdateAccountInfo{
			Pubkey: a.key[:], Owner: a.Owner[:], Lamports: 1, Data: a.Data, WriteVersion: order + uint64(i), TxnSignature: signature,
		}}}}
	}
}

// seal ends a slot. The one before is confirmed, an old one final.
func (n *node) seal(slot uint64) {
	status := func(slot uint64, s pb.SlotStatus) {
		n.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: slot, Status: s}}}
	}
	n.slot.Store(slot)
	n.updates <- &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: slot, ParentSlot: slot - 1}}}
	status(slot-1, pb.SlotStatus_SLOT_CONFIRMED)
	if slot > 32 {
		status(slot-32, pb.SlotStatus_SLOT_FINALIZED)
	}
}

// GetMultipleAccounts implements swap.RPC: no account exists beside those of the checkpoint.
func (n *node) GetMultipleAccounts(_ context.Context, keys []pubkey.Key, _ solana.AccountOptions) (uint64, []*solana.Account, error) {
	return n.slot.Load(), make([]*solana.Account, len(keys)), nil
}

// Call implements swap.RPC.
func (n *node) Call(_ context.Context, method string, _ []any, result any) error {
	if method != "getGenesisHash" {
		return &solana.RPCError{Code: -32601, Message: "Method not found"}
	}
	return json.Unmarshal([]byte(fmt.Sprintf("%q", swaptest.Genesis.String())), result)
}

// save writes the checkpoint of a chain to a file of its own, and returns its name.
func (c *chain) save() (name string, err error) {
	file, err := os.CreateTemp("", "bench-swap-*.checkpoint")
	if err != nil {
		return "", err
	}
	saved := c.fold.Checkpoint()
	saved.Genesis = swaptest.Genesis
	if _, err = saved.WriteTo(file); err == nil {
		err = file.Close()
	}
	return file.Name(), err
}

// keepGoing makes slots with trades until over is closed. sealed is called with each slot and a
// pool that it traded, before its end is sent.
func (n *node) keepGoing(c *chain, slotTime time.Duration, over <-chan struct{}, sealed func(slot uint64, p *pool)) {
	random := rand.New(rand.NewPCG(18, 4))
	tick := time.NewTicker(slotTime)
	defer tick.Stop()
	order := uint64(1 << 32)
	for slot := n.slot.Load() + 1; ; slot++ {
		var last *pool
		for range int(updatesPerSecond * slotTime.Seconds() / 3) {
			last = c.pools[random.IntN(len(c.pools))]
			n.write(slot, order, traded(last, random))
			order += 8
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
		sealed(slot, last)
		n.seal(slot)
	}
}
