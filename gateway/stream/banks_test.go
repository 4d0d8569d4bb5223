package stream

import (
	"fmt"
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// toldOf is what banks has to tell, as texts: like told, with the bank's id and the reason.
func toldOf(b *banks) (list []string) {
	for _, item := range b.take() {
		switch n := item.note; {
		case n == nil:
			list = append(list, fmt.Sprintf("%d tx %d", item.tx.slot, item.tx.index))
		case n.kind == noteDead:
			list = append(list, fmt.Sprintf("%d dead %d %s", n.slot, n.bank, n.why))
		case n.kind == noteProcessed:
			list = append(list, fmt.Sprintf("%d processed %d", n.slot, n.bank))
		case n.kind == noteInterim:
			list = append(list, fmt.Sprintf("%d bank %d", n.slot, n.bank))
		case n.kind == noteGap:
			list = append(list, fmt.Sprintf("%d gap", n.slot))
		}
	}
	return list
}

// runBank executes a block of one transaction whose index is the block's number, as is its hash.
func runBank(b *banks, slot, id uint64, number, parent int) {
	before := slot - 1
	b.created(slot, id, &before)
	b.transaction(&transaction{slot: slot, bank: id, index: uint64(number), signature: signature{1}})
	_, _ = b.blockCame(id, &eventspb.StreamBlock{Slot: slot, ParentSlot: &before, Blockhash: hashNumber(number), ParentBlockhash: hashNumber(parent)})
	b.executed(slot, id, &before)
}

// TestABankComesBack: the first bank of a slot is confirmed after all. It and its descendants are
// told again, as new, after the second one is withdrawn; then nothing of the slot changes.
func TestABankComesBack(t *testing.T) {
	b := newBanks()
	runBank(b, 100, 31, 1, 0)
	runBank(b, 101, 32, 2, 1)
	_ = toldOf(b)
	runBank(b, 100, 35, 3, 0)
	require.Equal(t, []string{"101 dead 32 " + whyOrphan, "100 dead 31 " + whyReplaced, "100 bank 35", "100 tx 3", "100 processed 35"}, toldOf(b), "children first")
	b.transaction(&transaction{slot: 100, bank: 31, index: 9, signature: signature{9}})
	require.Empty(t, toldOf(b), "late news of the withdrawn bank")
	b.confirmed(100, 31)
	require.Equal(t, []string{"100 dead 35 " + whyConfirmed, "100 bank 31", "100 tx 1", "100 tx 9", "100 processed 31", "101 bank 32", "101 tx 2", "101 processed 32"}, toldOf(b))
	require.Zero(t, b.held-b.slots[101].list[0].list[0].size(), "only what is not confirmed is held")
	b.confirmed(100, 35)
	runBank(b, 100, 36, 4, 0)
	require.True(t, b.dies(100, 0, "late"))
	require.Empty(t, toldOf(b), "nothing that is confirmed is switched")
	b.confirmedBlock(&eventspb.StreamBlock{Slot: 101, Blockhash: hashNumber(2)})
	require.Empty(t, toldOf(b))
	require.Zero(t, b.held)
}

// TestADeadSlotComesBack with another bank, with and without ids.
func TestADeadSlotComesBack(t *testing.T) {
	for _, id := range []uint64{0, 31} {
		b := newBanks()
		b.created(100, id, nil)
		b.transaction(&transaction{slot: 100, bank: id, index: 1, signature: signature{1}})
		require.False(t, b.dies(100, 0, "bad"))
		require.True(t, b.dies(100, 0, "bad"), "once")
		b.transaction(&transaction{slot: 100, bank: id, index: 2, signature: signature{2}})
		require.Equal(t, []string{fmt.Sprintf("100 bank %d", id), "100 tx 1", "100 dead 0 bad"}, toldOf(b))
		runBank(b, 100, 2*id, 1, 0)
		require.Equal(t, []string{fmt.Sprintf("100 bank %d", 2*id), "100 tx 1", fmt.Sprintf("100 processed %d", 2*id)}, toldOf(b), "the same transaction, too")
	}
}

// TestWithdrawnWhileAway: the other node after a reconnect has another block of a slot, with the
// first block's id. Its content is told once its hash says that it is another one; what is the same
// is not told again.
func TestWithdrawnWhileAway(t *testing.T) {
	f, n := startProcessed(t, newMemoryLog(0), Config{})
	stream := f.subscribeFrom(t, t.Context(), allProcessed())
	f.listeners(t, 1)
	update := func(text string, bank uint64, number int) *pb.SubscribeUpdate {
		u := nodeUpdate(text)
		switch x := u.UpdateOneof.(type) {
		case *pb.SubscribeUpdate_Slot:
			x.Slot.BankId = &bank
		case *pb.SubscribeUpdate_Transaction:
			x.Transaction.BankId = bank
		case *pb.SubscribeUpdate_BlockMeta:
			x.BlockMeta.BankId = bank
			if number > 0 {
				x.BlockMeta.Blockhash = text32(uint64(number))
			}
		}
		return u
	}
	block := func(s *nodeSession, slot, bank uint64, number int) {
		for _, text := range []string{"bank %d %d", "tx 1000%[1]d %[1]d", "meta %d %d", "processed %d %d"} {
			s.out <- update(fmt.Sprintf(text, slot, slot-1), bank, number)
		}
	}
	s := n.session(t)
	block(s, 100, 31, 0)
	block(s, 101, 32, 0)
	require.Equal(t, []string{"100 SLOT_CREATED_BANK", "1000100", "100 SLOT_PROCESSED", "100 meta", "101 SLOT_CREATED_BANK", "1000101", "101 SLOT_PROCESSED", "101 meta"}, told(t, stream, 8))
	s.ends(codes.Unavailable)
	s = n.session(t)
	block(s, 100, 5, 0)
	block(s, 101, 31, 200)
	require.Equal(t, []string{"101 SLOT_DEAD 32", "101 SLOT_CREATED_BANK 31", "1000101 31", "101 SLOT_PROCESSED 31", "101 meta 31"}, withBanks(t, stream, 5))
}

// withBanks is told with the ids of the banks.
func withBanks(t *testing.T, stream pb.Geyser_SubscribeClient, n int) (list []string) {
	t.Helper()
	for len(list) < n {
		u, err := stream.Recv()
		require.NoError(t, err)
		switch x := u.UpdateOneof.(type) {
		case *pb.SubscribeUpdate_Transaction:
			list = append(list, fmt.Sprintf("%d %d", x.Transaction.Transaction.Index, x.Transaction.BankId))
		case *pb.SubscribeUpdate_Slot:
			list = append(list, fmt.Sprintf("%d %s %d", x.Slot.Slot, x.Slot.Status, x.Slot.GetBankId()))
		case *pb.SubscribeUpdate_BlockMeta:
			list = append(list, fmt.Sprintf("%d meta %d", x.BlockMeta.Slot, x.BlockMeta.BankId))
		}
	}
	return list
}

// TestStatusOfABank: transactions_status has the bank's id, too.
func TestStatusOfABank(t *testing.T) {
	m := tx{number: 1, slot: 7}.message()
	m.BankId = 31
	raw, err := proto.Marshal(m)
	require.NoError(t, err)
	x, err := parseTransaction(raw, 0, time.Time{})
	require.NoError(t, err)
	var u pb.SubscribeUpdate
	require.NoError(t, proto.Unmarshal(x.statusUpdate(), &u))
	require.EqualValues(t, 31, u.GetTransactionStatus().BankId)
}

// TestBanksAreBounded: whatever the node says.
func TestBanksAreBounded(t *testing.T) {
	b := newBanks()
	raw := make([]byte, 1<<20)
	for id := range uint64(5_000) {
		b.created(100, id+1, nil)
		b.transaction(&transaction{slot: 100, bank: id + 1, index: id, signature: signature{1}, raw: raw})
		b.dies(100, 1_000_000+id, "x")
		b.confirmed(100+id, 0)
		require.LessOrEqual(t, len(b.slots[100].list), banksOfSlot)
	}
	require.LessOrEqual(t, b.held, banksHeld)
	_ = b.take()
	for slot := range uint64(5_000) {
		parent := uint64(0)
		b.created(1e12+slot*slot, 1, &parent)
		b.transaction(&transaction{slot: 1e12 + slot*slot, bank: 1, signature: signature{1}, raw: raw})
		b.confirmed(1e12+slot*slot, 1)
		b.transaction(&transaction{slot: 1e6 + slot, signature: signature{1}, raw: raw})
	}
	require.LessOrEqual(t, len(b.slots), bankSlots)
	require.Len(t, b.order, len(b.slots))
	held := 0
	for _, s := range b.slots {
		for _, n := range s.list {
			for _, x := range n.list {
				held += x.size()
			}
		}
	}
	require.Equal(t, held, b.held)
	require.LessOrEqual(t, b.held, banksHeld+len(raw)+1024)
}
