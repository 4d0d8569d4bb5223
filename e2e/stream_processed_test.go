package e2e

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/mintlake/mintlake/demo"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// placed is a transaction in a slot.
type placed struct {
	signature string
	slot      uint64
}

// slotsAndTransactions is what a Yellowstone client was sent.
type slotsAndTransactions struct {
	stream pb.Geyser_SubscribeClient
	// transactions are what came; twice counts what came again. What a dead slot had may come in
	// another slot.
	transactions map[placed]bool
	twice        int
	// late are transactions that came after their slot was told as dead.
	late int
	told map[pb.SlotStatus]map[uint64]bool
	// reasons are why slots died.
	reasons map[uint64]string
}

// subscribeAt opens a stream for all transactions that touch tokens, and for slots. It is in force
// when it returns.
func subscribeAt(t *testing.T, target string, commitment pb.CommitmentLevel) *slotsAndTransactions {
	t.Helper()
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	stream, err := pb.NewGeyserClient(conn).Subscribe(ctx)
	require.NoError(t, err)
	no, interim := false, commitment == pb.CommitmentLevel_PROCESSED
	require.NoError(t, stream.Send(&pb.SubscribeRequest{
		Commitment: &commitment,
		Transactions: map[string]*pb.SubscribeRequestFilterTransactions{"tokens": {Vote: &no,
			AccountInclude: []string{schemas.ProgramToken, schemas.ProgramToken2022, schemas.ProgramMetaplex}}},
		Slots: map[string]*pb.SubscribeRequestFilterSlots{"slots": {InterslotUpdates: &interim}},
	}))
	require.NoError(t, stream.Send(&pb.SubscribeRequest{Ping: &pb.SubscribeRequestPing{Id: 1}}))
	s := &slotsAndTransactions{stream: stream, transactions: map[placed]bool{}, told: map[pb.SlotStatus]map[uint64]bool{}, reasons: map[uint64]string{}}
	for {
		update, err := stream.Recv()
		require.NoError(t, err)
		if update.GetPong() != nil {
			return s
		}
	}
}

// readUntil reads until a slot has a status.
func (s *slotsAndTransactions) readUntil(t *testing.T, slot uint64, status pb.SlotStatus) {
	t.Helper()
	for !s.told[status][slot] {
		update, err := s.stream.Recv()
		require.NoError(t, err)
		if tx := update.GetTransaction(); tx != nil {
			came := placed{base58.Encode(tx.GetTransaction().GetSignature()), tx.GetSlot()}
			if s.transactions[came] {
				s.twice++
			}
			if s.told[pb.SlotStatus_SLOT_DEAD][tx.GetSlot()] {
				s.late++
			}
			s.transactions[came] = true
		}
		if u := update.GetSlot(); u != nil {
			if s.told[u.Status] == nil {
				s.told[u.Status] = map[uint64]bool{}
			}
			s.told[u.Status][u.Slot] = true
			if u.Status == pb.SlotStatus_SLOT_DEAD {
				s.reasons[u.Slot] = u.GetDeadError()
			}
		}
	}
}

// flow reads on until some slot has a status, or the stream ends, and forgets what it reads.
func (s *slotsAndTransactions) flow(status pb.SlotStatus) {
	for {
		update, err := s.stream.Recv()
		if u := update.GetSlot(); err != nil || u != nil && u.Status == status {
			return
		}
	}
}

// from returns the transactions of slots from first to last.
func (s *slotsAndTransactions) from(first, last uint64) map[placed]bool {
	out := maps.Clone(s.transactions)
	maps.DeleteFunc(out, func(p placed, _ bool) bool { return p.slot < first || p.slot > last })
	return out
}

// TestProcessedBesideConfirmed: a client of the stream at processed gets what the node itself sends
// at processed, slots that die among it, and is told of their death with the node's reason. One at
// confirmed, beside it, gets exactly the confirmed chain.
func TestProcessedBesideConfirmed(t *testing.T) {
	node := startDemo(t, demo.Config{Seed: 21, TPS: 200, Tokens: 40, SlotTime: slotTime, StartSlot: 400_000_000, ForkRate: 0.2, SkipRate: 0.05})
	up := launch(t, t.TempDir(), "--rooms", "ingest,gateway", "--source", "geyser+http://"+node.GeyserAddr(), "--rpc-upstream", node.RPCURL(), "--stream-processed")
	processed := subscribeAt(t, streamTarget(up), pb.CommitmentLevel_PROCESSED)
	confirmed := subscribeAt(t, streamTarget(up), pb.CommitmentLevel_CONFIRMED)

	// Gateway and ingest subscribe by themselves, each a moment after the gateway serves: what was
	// before that is in neither stream.
	flows := make(chan struct{})
	go func() {
		defer close(flows)
		processed.flow(pb.SlotStatus_SLOT_PROCESSED)
		confirmed.flow(pb.SlotStatus_SLOT_CONFIRMED)
	}()
	for flowing := false; !flowing; {
		require.NoError(t, node.Step(1))
		select {
		case <-flows:
			flowing = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	// The node cuts off who does not read, so nobody subscribes there while that goes on.
	atNode := subscribeAt(t, node.GeyserAddr(), pb.CommitmentLevel_PROCESSED)
	first := node.Slot() + 1
	require.NoError(t, node.Step(80))
	last := node.Ledger().Tip(ledger.Processed).Slot
	final := node.Ledger().Tip(ledger.Confirmed).Slot
	atNode.readUntil(t, last, pb.SlotStatus_SLOT_PROCESSED)
	processed.readUntil(t, last, pb.SlotStatus_SLOT_PROCESSED)
	confirmed.readUntil(t, final, pb.SlotStatus_SLOT_CONFIRMED)

	want := atNode.from(first, last-1) // of the last slot the node may send more
	require.NotEmpty(t, want)
	require.Equal(t, want, processed.from(first, last-1))
	require.Zero(t, processed.twice)
	require.Zero(t, processed.late)
	dead := slices.DeleteFunc(slices.Collect(maps.Keys(atNode.told[pb.SlotStatus_SLOT_DEAD])), func(slot uint64) bool { return slot < first || slot >= last })
	require.NotEmpty(t, dead, "another seed is needed")
	ofDead := 0
	for _, slot := range dead {
		processed.readUntil(t, slot, pb.SlotStatus_SLOT_DEAD)
		require.Equal(t, atNode.reasons[slot], processed.reasons[slot])
		for of := range want {
			if of.slot == slot {
				ofDead++
			}
		}
	}
	require.Positive(t, ofDead, "transactions of slots that died were delivered")

	wantConfirmed := map[placed]bool{}
	for _, tx := range streamed(node, first, final) {
		wantConfirmed[placed{tx.signature, tx.slot}] = true
	}
	require.Equal(t, wantConfirmed, confirmed.from(first, final))
	require.Zero(t, confirmed.twice)
	require.Empty(t, confirmed.told[pb.SlotStatus_SLOT_PROCESSED])
}
