package state

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// begin is a first block.
func begin(f *Fold) {
	f.Block(Block{Slot: 10, Parent: 9, UnixTime: 1, At: time.Unix(0, 0)})
	f.Confirmed(10, 0)
}

// ask asks for a coin's pools with SOL. All of them are known.
func ask(f *Fold, coin venue.Key) {
	f.Ask(coin, swaptest.WrappedSOL)
	f.Complete(coin, swaptest.WrappedSOL)
}

// born tells a fold of a block in which one transaction makes a pool.
func born(f *Fold, slot uint64, k twinKeys) {
	for i, key := range k.keys {
		f.Write(Write{Slot: slot, Order: uint64(i + 1), Key: key, Transaction: 7, Account: k.account(i, 5)})
	}
	f.Block(Block{Slot: slot, Parent: slot - 1, UnixTime: 1, At: time.Unix(1, 0)})
}

// read answers what is wanted, at a slot.
func read(f *Fold, slot uint64, k twinKeys) {
	f.Covered(f.Fresh(), 0)
	f.Confirmed(slot, 0)
	keys := f.Wanted(100, 0, 1).Keys
	accounts := make([]*solana.Account, len(keys))
	for i, key := range keys {
		accounts[i] = mintAccount()
		for n, own := range k.keys {
			if key == own {
				accounts[i] = k.account(n, 5)
			}
		}
	}
	f.Read(slot, keys, accounts)
	f.Publish()
}

func TestANewPoolIsQuotableByItsOwnAccounts(t *testing.T) {
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	k := newTwin("new")
	ask(f, k.coin)
	begin(f)
	read(f, 10, k)
	found, err := f.Snapshot().Pair(k.coin, swaptest.WrappedSOL)
	require.NoError(t, err)
	require.Empty(t, found.Pools, "asked for, and there is none yet")
	born(f, 11, k)
	f.Publish()
	_, err = f.Snapshot().Pair(k.coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld, "its vaults are not subscribed yet")
	read(f, 11, k)
	found, err = f.Snapshot().Pair(swaptest.WrappedSOL, k.coin)
	require.NoError(t, err)
	require.Len(t, found.Pools, 1)
	require.Equal(t, [3]uint64{5, 5, 5}, found.Pools[0].Pool.(*twinPool).numbers)
	require.EqualValues(t, 11, found.Slot)
}

// A look at all wanted pools costs much if there are many, and finds the same until a slot is
// confirmed. Pools of a pair that somebody waits for are found at any time.
func TestWantedPoolsAreLookedForOnceAConfirmedSlot(t *testing.T) {
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	k := newTwin("new")
	ask(f, k.coin)
	begin(f)
	f.Covered(f.Fresh(), 0)
	f.Confirmed(10, 0)
	require.NotEmpty(t, f.Wanted(100, 0, 1).Keys)
	require.Empty(t, f.Wanted(100, 0, 1).Keys, "they were told")
	f.Hurry(k.coin, swaptest.WrappedSOL)
	require.NotEmpty(t, f.Wanted(100, 0, 1).Keys)
	f.Block(Block{Slot: 11, Parent: 10, UnixTime: 1, At: time.Unix(1, 0)})
	f.Confirmed(11, 0)
	require.NotEmpty(t, f.Wanted(100, 0, 1).Keys, "the reading may have failed")
}

func TestAPairWithAPoolForWhichThereIsNoRoomIsNotQuotedFromHere(t *testing.T) {
	f := NewFold(FoldConfig{MaxPools: 1}, venue.List{twin{}})
	first, second := newTwin("first"), newTwin("second")
	ask(f, first.coin)
	begin(f)
	born(f, 11, first)
	born(f, 12, second)
	require.Len(t, f.pools.byAddress, 1)
	read(f, 12, first)
	_, err := f.Snapshot().Pair(first.coin, swaptest.WrappedSOL)
	require.NoError(t, err)
	ask(f, second.coin)
	read(f, 12, second)
	_, err = f.Snapshot().Pair(second.coin, swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld)
}

func TestThePairThatWasAskedForFirstGivesWay(t *testing.T) {
	f := NewFold(FoldConfig{MaxAsked: 1}, venue.List{twin{}})
	ask(f, swaptest.Named("a"))
	held := len(f.accounts)
	for _, name := range []string{"b", "c", "d"} {
		ask(f, swaptest.Named(name))
	}
	require.Len(t, f.accounts, held)
	require.Len(t, f.pools.pairs, 1)
	f.Publish()
	_, err := f.Snapshot().Pair(swaptest.Named("a"), swaptest.WrappedSOL)
	require.ErrorIs(t, err, market.ErrNotHeld)
}

// A trade changes its own pool only. Decoding the others again would cost each of their next
// quotes.
func TestOnlyAPoolThatChangedIsDecodedAgain(t *testing.T) {
	f := quotable(t, "still", "busy")
	pool := func(name string) venue.Pool {
		found, err := f.Snapshot().Pair(newTwin(name).coin, swaptest.WrappedSOL)
		require.NoError(t, err)
		require.Len(t, found.Pools, 1)
		return found.Pools[0].Pool
	}
	still, busy := pool("still"), pool("busy")
	born(f, f.Head()+1, newTwin("busy"))
	f.Publish()
	require.NotSame(t, busy, pool("busy"))
	require.Same(t, still, pool("still"))
}

// TestFinalSlotsAreForgotten: of a long life only the last state is kept.
func TestFinalSlotsAreForgotten(t *testing.T) {
	f := NewFold(FoldConfig{}, venue.List{twin{}})
	k := newTwin("busy")
	begin(f)
	born(f, 11, k)
	read(f, 11, k)
	bytes := int64(0)
	for slot := uint64(12); slot < 400; slot++ {
		born(f, slot, k)
		if slot < 300 {
			f.Finalized(slot-2, 0)
		} else if slot == 310 {
			bytes = f.Bytes() // and from here on nothing becomes final any more
		}
		f.Publish()
	}
	require.Equal(t, uint64(399), f.Snapshot().Slot)
	require.False(t, f.Broken())
	require.Less(t, f.Bytes(), 30*bytes)
	require.LessOrEqual(t, len(f.tree.slots), maxDepth+1)
	f.Finalized(399, 0)
	require.Empty(t, f.tree.slots)
	require.Less(t, f.Bytes(), bytes)
}
