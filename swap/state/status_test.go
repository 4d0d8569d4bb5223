package state

import (
	"testing"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

// swapIn tells of a transaction that changes a pool in a bank of a slot.
func swapIn(f *Fold, slot, bank uint64, k twinKeys, number uint64) {
	for i, key := range k.keys {
		f.Write(Write{Slot: slot, Bank: bank, Order: number, Key: key, Transaction: number, Account: k.account(i, number)})
	}
}

// seal tells the end of a bank.
func seal(f *Fold, slot, bank uint64, hash, parent string) {
	f.Block(Block{Slot: slot, Parent: slot - 1, Bank: bank, Hash: swaptest.Named(hash), ParentHash: swaptest.Named(parent), UnixTime: 1, At: time.Unix(1, 0)})
}

// numberOf returns what a pool's quote has; ok is false if it is not quoted from here.
func numberOf(f *Fold, k twinKeys) (number uint64, ok bool) {
	f.Publish()
	found, err := f.Snapshot().Pair(k.coin, swaptest.WrappedSOL)
	if err != nil || len(found.Pools) == 0 {
		return 0, false
	}
	return found.Pools[0].Pool.(*twinPool).numbers[0], true
}

// forked is a state at slot 12, which follows slot 11; both have a bank of a slot that changed a
// pool, 5 before.
func forked(t *testing.T, id uint64) (*Fold, twinKeys) {
	t.Helper()
	f := quotable(t, "pool") // at slot 11
	k := newTwin("pool")
	f.Created(12, 11, id)
	swapIn(f, 12, id, k, 12)
	seal(f, 12, id, "first 12", "11")
	f.Created(13, 12, id*2)
	swapIn(f, 13, id*2, k, 13)
	seal(f, 13, id*2, "first 13", "first 12")
	number, _ := numberOf(f, k)
	require.EqualValues(t, 13, number)
	return f, k
}

// TestWritesLeaveTheQuotesWithTheirBank: when a second bank of the slot is told, those of the first
// and of all that follows it are not quoted any more.
func TestWritesLeaveTheQuotesWithTheirBank(t *testing.T) {
	f, k := forked(t, 1)
	require.True(t, f.Created(12, 11, 7))
	number, ok := numberOf(f, k)
	require.True(t, ok)
	require.EqualValues(t, 5, number)
	require.EqualValues(t, 11, f.Head())
	require.False(t, f.Created(12, 11, 7), "it is told twice")

	swapIn(f, 12, 1, k, 99) // the first one's, late
	swapIn(f, 12, 7, k, 21)
	seal(f, 12, 7, "second 12", "11")
	number, _ = numberOf(f, k)
	require.EqualValues(t, 21, number)
	f.Confirmed(12, 7)
	f.Created(12, 11, 8) // nothing confirmed is given up
	number, _ = numberOf(f, k)
	require.EqualValues(t, 21, number)
}

// TestACreationThatIsToldLateChangesNothing: the bank was set aside before.
func TestACreationThatIsToldLateChangesNothing(t *testing.T) {
	f := quotable(t, "pool")
	k := newTwin("pool")
	swapIn(f, 12, 1, k, 12)
	seal(f, 12, 1, "first 12", "11")
	f.Created(12, 11, 7)
	f.Created(12, 11, 1)
	number, _ := numberOf(f, k)
	require.EqualValues(t, 5, number)
}

// TestAStatusNamesTheBankThatWasSetAside: then it is quoted again.
func TestAStatusNamesTheBankThatWasSetAside(t *testing.T) {
	f, k := forked(t, 1)
	f.Created(12, 11, 7)
	seal(f, 12, 7, "second 12", "11")
	f.Finalized(13, 2) // and with it the one below it
	number, _ := numberOf(f, k)
	require.EqualValues(t, 13, number)
	require.EqualValues(t, 13, f.Root())
}

// TestWithoutIdsAccountsAreReadAgain that a slot with two banks wrote, at that slot or later.
func TestWithoutIdsAccountsAreReadAgain(t *testing.T) {
	f, k := forked(t, 0)
	f.Created(12, 11, 0)
	_, ok := numberOf(f, k)
	require.False(t, ok)
	swapIn(f, 12, 0, k, 21)
	seal(f, 12, 0, "second 12", "11")
	f.Confirmed(11, 0)
	require.Empty(t, f.Wanted(100, 0, 1).Keys, "nothing that is confirmed has it")
	f.Confirmed(12, 0)
	require.EqualValues(t, 12, f.Head())
	_, ok = numberOf(f, k)
	require.False(t, ok)
	r := f.Wanted(100, 0, 1)
	require.Subset(t, r.Keys, k.keys[:])
	require.EqualValues(t, 12, r.Slot)
	f.Read(12, k.keys[:], []*solana.Account{k.account(0, 21), k.account(1, 21), k.account(2, 21)})
	number, ok := numberOf(f, k)
	require.True(t, ok)
	require.EqualValues(t, 21, number)
}

// TestADeadSlotComesBack: by another bank, or by a confirmation, which may only be a later slot's.
func TestADeadSlotComesBack(t *testing.T) {
	for name, revive := range map[string]func(f *Fold, k twinKeys){
		"another bank": func(f *Fold, k twinKeys) {
			f.Created(12, 11, 7)
			swapIn(f, 12, 7, k, 21)
			seal(f, 12, 7, "second 12", "11")
		},
		"another bank's block": func(f *Fold, k twinKeys) {
			swapIn(f, 12, 7, k, 21)
			seal(f, 12, 7, "second 12", "11")
		},
		"its confirmation":     func(f *Fold, _ twinKeys) { f.Confirmed(12, 1) },
		"that of what follows": func(f *Fold, _ twinKeys) { f.Finalized(13, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			f, k := forked(t, 1)
			f.Dead(12)
			number, _ := numberOf(f, k)
			require.EqualValues(t, 5, number)
			revive(f, k)
			require.GreaterOrEqual(t, f.Head(), uint64(12))
			require.False(t, f.Broken())
			number, _ = numberOf(f, k)
			require.NotEqualValues(t, 5, number)
		})
	}
}

// TestAnotherConnectionCountsItsBanksAnew: an id of the last one is no bank of this one.
func TestAnotherConnectionCountsItsBanksAnew(t *testing.T) {
	f, k := forked(t, 1)
	f.Confirmed(12, 1)
	f.Disconnected()
	number, _ := numberOf(f, k)
	require.EqualValues(t, 5, number, "as it was at the root")
	require.False(t, f.Created(12, 11, 2), "it is the first of this connection")
	swapIn(f, 12, 2, k, 30)
	seal(f, 12, 2, "other 12", "11")
	require.EqualValues(t, 11, f.Head(), "another block of the slot is confirmed")
	require.True(t, f.Created(12, 11, 1))
	swapIn(f, 12, 1, k, 12)
	seal(f, 12, 1, "first 12", "11")
	number, _ = numberOf(f, k)
	require.EqualValues(t, 12, number)
}

// TestManyBanksTakeLittleMemory, whether they are announced or not, in one slot or in many.
func TestManyBanksTakeLittleMemory(t *testing.T) {
	f, k := forked(t, 1)
	before := f.Bytes()
	banks := func() (count int) {
		for _, s := range f.tree.slots {
			count += len(s.banks)
		}
		return count
	}
	for id := uint64(100); id < 5000; id++ {
		if id%2 == 0 {
			f.Created(12, 11, id)
		}
		swapIn(f, 12, id, k, id)
		seal(f, 12, id, "block "+time.Duration(id).String(), "11")
		f.Confirmed(12, id)
	}
	require.LessOrEqual(t, banks(), maxBanks+1)
	require.Less(t, f.Bytes(), 20*before)
	require.False(t, f.Broken())
	for slot := uint64(20); slot < 3000; slot++ {
		for id := range uint64(4) {
			f.Created(slot, slot-1, id)
			swapIn(f, slot, id, k, id)
		}
	}
	require.LessOrEqual(t, banks(), maxSlots+maxBanks)
	require.LessOrEqual(t, len(f.tree.order), maxSlots)
	require.True(t, f.Broken())
	f.Reset()
	require.False(t, f.Broken())
	require.Zero(t, f.Bytes())
}

// TestAClosedAccountMayKeepItsOwnerAndData: it has no lamports.
func TestAClosedAccountMayKeepItsOwnerAndData(t *testing.T) {
	f, err := New(Config{Endpoint: "http://test:1"}, Deps{RPC: swaptest.New(), Venues: venue.List{twin{}}})
	require.NoError(t, err)
	f.fold = quotable(t, "pool")
	k := newTwin("pool")
	number, ok := numberOf(f.fold, k)
	require.True(t, ok)
	require.EqualValues(t, 5, number)
	for i, key := range k.keys {
		a := k.account(i, 20)
		info := &pb.SubscribeUpdateAccountInfo{Pubkey: key[:], Owner: a.Owner[:], Data: a.Data, WriteVersion: 1, TxnSignature: make([]byte, 64)}
		f.message(&pb.SubscribeUpdate{UpdateOneof: &pb.SubscribeUpdate_Account{Account: &pb.SubscribeUpdateAccount{Slot: 12, Account: info}}})
	}
	f.fold.Block(Block{Slot: 12, Parent: 11, UnixTime: 1})
	f.publish()
	found, err := f.fold.Snapshot().Pair(k.coin, swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Empty(t, found.Pools)
}
