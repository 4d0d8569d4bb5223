package main

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

const (
	// slotTime and slotSize make 1,500 transactions a second. They are executed in steps.
	slotTime, slotSize = 400 * time.Millisecond, 600
	steps              = 40
	// wantedOnly in place of an account makes the node send only what clients may want.
	wantedOnly = "wanted"
	// unread is how many messages a subscriber may leave unread.
	unread = 1 << 14
)

// node is a Geyser server whose chain has the transactions of one block, over and over. What it is
// asked for it sends to every subscriber of the level, whatever the filter.
type node struct {
	pb.UnimplementedGeyserServer
	addr string
	// block has the transactions with their own accounts, and plain has them without.
	block, plain []*pb.SubscribeUpdateTransaction
	stop         func()

	mu          sync.Mutex
	subscribers []*subscriber
	measures    bool
	sent        []int // the numbers in block of what was sent while it measures
}

// subscriber is one stream.
type subscriber struct {
	request *pb.SubscribeRequest
	updates chan *pb.SubscribeUpdate
	wanted  bool // only what clients may want
}

// startNode listens, and makes blocks until stop is called.
func startNode(block []*pb.SubscribeUpdateTransaction) (*node, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &node{addr: listener.Addr().String()}
	for i, x := range block {
		plain := proto.CloneOf(x)
		meta := plain.Transaction.Meta
		meta.LoadedReadonlyAddresses = meta.LoadedReadonlyAddresses[:len(meta.LoadedReadonlyAddresses)-1]
		n.plain, n.block = append(n.plain, plain), append(n.block, withAccount(plain, ownAccount(i)))
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(4 << 20))
	pb.RegisterGeyserServer(s, n)
	go func() { _ = s.Serve(listener) }()
	ended := make(chan struct{})
	go n.produce(ended)
	n.stop = func() { close(ended); s.Stop() }
	return n, nil
}

// withAccount returns the transaction with the account in place of its last one: ingest refuses one
// that has more accounts than its message says.
func withAccount(x *pb.SubscribeUpdateTransaction, account []byte) *pb.SubscribeUpdateTransaction {
	x = proto.CloneOf(x)
	meta, keys := x.Transaction.Meta, x.Transaction.Transaction.Message.AccountKeys
	if loaded := meta.LoadedReadonlyAddresses; len(loaded) > 0 {
		keys = loaded
	}
	keys[len(keys)-1] = account
	return x
}

// begin sends transactions with their own accounts from the next slot on.
func (n *node) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.measures, n.sent = true, nil
}

// end goes back to plain ones, and returns what was sent.
func (n *node) end() []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.measures = false
	return n.sent
}

// Subscribe implements pb.GeyserServer.
func (n *node) Subscribe(stream pb.Geyser_SubscribeServer) error {
	request, err := stream.Recv()
	if err != nil {
		return err
	}
	s := &subscriber{request: request, updates: make(chan *pb.SubscribeUpdate, unread)}
	for _, filter := range request.GetTransactions() {
		s.wanted = slices.Contains(filter.GetAccountInclude(), wantedOnly)
	}
	n.mu.Lock()
	n.subscribers = append(n.subscribers, s)
	n.mu.Unlock()
	go func() {
		for {
			in, err := stream.Recv()
			if err != nil {
				return
			}
			if in.GetPing() != nil {
				s.send(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Pong{Pong: &pb.SubscribeUpdatePong{Id: in.GetPing().GetId()}}})
			}
		}
	}()
	for {
		select {
		case update := <-s.updates:
			if update == nil {
				return errors.New("the subscriber does not read")
			}
			if err := stream.Send(update); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// send never waits: of a subscriber that is gone, the rest is dropped.
func (s *subscriber) send(update *pb.SubscribeUpdate) {
	select {
	case s.updates <- update:
	default:
	}
}

// at sends an update to the subscribers of the level that choose lets through.
func (n *node) at(level pb.CommitmentLevel, update *pb.SubscribeUpdate, choose func(*subscriber) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range n.subscribers {
		if s.request.GetCommitment() == level && choose(s) {
			s.send(update)
		}
	}
}

// made is a slot of the chain.
type made struct {
	slot         uint64
	measured     bool
	transactions []*pb.SubscribeUpdateTransactionInfo
}

// produce makes a slot after the other. Each is confirmed when the next one is complete.
func (n *node) produce(ended <-chan struct{}) {
	tick := time.NewTicker(slotTime / steps)
	defer tick.Stop()
	var last *made
	for slot := uint64(recordedSlot); ; slot++ {
		now := n.next(slot)
		for step := range steps {
			select {
			case <-tick.C:
			case <-ended:
				return
			}
			n.transactions(pb.CommitmentLevel_PROCESSED, now, step*slotSize/steps, (step+1)*slotSize/steps)
		}
		n.complete(pb.CommitmentLevel_PROCESSED, now)
		if last != nil {
			n.transactions(pb.CommitmentLevel_CONFIRMED, last, 0, slotSize)
			n.complete(pb.CommitmentLevel_CONFIRMED, last)
		}
		last = now
	}
}

// next makes the transactions of a slot, with signatures that no other slot has.
func (n *node) next(slot uint64) *made {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := &made{slot: slot, measured: n.measures}
	from := n.plain
	if m.measured {
		from = n.block
	}
	for i := range slotSize {
		number := (int(slot)*slotSize + i) % blockSize
		info := from[number].Transaction
		signature := binary.BigEndian.AppendUint64(slices.Clone(info.Signature[:56]), slot)
		m.transactions = append(m.transactions, &pb.SubscribeUpdateTransactionInfo{Signature: signature, Index: uint64(i), Meta: info.Meta, IsVote: info.IsVote,
			Transaction: &pb.Transaction{Signatures: slices.Concat([][]byte{signature}, info.Transaction.Signatures[1:]), Message: info.Transaction.Message}})
		if m.measured {
			n.sent = append(n.sent, number)
		}
	}
	return m
}

// transactions sends those of a slot from one number to another.
func (n *node) transactions(level pb.CommitmentLevel, m *made, from, to int) {
	for _, info := range m.transactions[from:to] {
		update := &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Transaction{Transaction: &pb.SubscribeUpdateTransaction{Slot: m.slot, Transaction: info}}}
		n.at(level, update, func(s *subscriber) bool { return len(s.request.GetTransactions()) > 0 && (m.measured || !s.wanted) })
	}
}

// complete sends the block of a slot to the subscribers of the level, and to all that the slot has
// reached the level.
func (n *node) complete(level pb.CommitmentLevel, m *made) {
	hash, parent := hashOf(m.slot), hashOf(m.slot-1)
	at, height := &pb.UnixTimestamp{Timestamp: time.Now().Unix()}, &pb.BlockHeight{BlockHeight: m.slot}
	n.at(level, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_BlockMeta{BlockMeta: &pb.SubscribeUpdateBlockMeta{Slot: m.slot, Blockhash: hash,
		ParentSlot: m.slot - 1, ParentBlockhash: parent, BlockTime: at, BlockHeight: height, ExecutedTransactionCount: slotSize}}},
		func(s *subscriber) bool { return len(s.request.GetBlocksMeta()) > 0 })
	n.at(level, &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Block{Block: &pb.SubscribeUpdateBlock{Slot: m.slot, Blockhash: hash,
		ParentSlot: m.slot - 1, ParentBlockhash: parent, BlockTime: at, BlockHeight: height, ExecutedTransactionCount: slotSize, Transactions: m.transactions}}},
		func(s *subscriber) bool { return len(s.request.GetBlocks()) > 0 })
	status := pb.SlotStatus_SLOT_PROCESSED
	if level == pb.CommitmentLevel_CONFIRMED {
		status = pb.SlotStatus_SLOT_CONFIRMED
	}
	before := m.slot - 1
	update := &pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Slot{Slot: &pb.SubscribeUpdateSlot{Slot: m.slot, Parent: &before, Status: status}}}
	for _, to := range []pb.CommitmentLevel{pb.CommitmentLevel_PROCESSED, pb.CommitmentLevel_CONFIRMED} {
		n.at(to, update, func(s *subscriber) bool { return len(s.request.GetSlots()) > 0 })
	}
}

func hashOf(slot uint64) string {
	hash := sha256.Sum256(binary.BigEndian.AppendUint64(nil, slot))
	return base58.Encode(hash[:])
}
