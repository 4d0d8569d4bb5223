package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
)

func key(i byte) chain.Key { return chain.Key{i} }

// block is a live block that writes lamports to accounts.
func block(slot, parent uint64, writes map[byte]uint64) *chain.Block {
	tx := &chain.Tx{Signatures: []chain.Signature{{byte(slot), byte(slot >> 8), 1}}}
	for k, v := range writes {
		w := chain.Write{Key: key(k)}
		if v > 0 {
			w.Account = &chain.Account{Lamports: v, Owner: chain.SystemProgram}
		}
		tx.Writes = append(tx.Writes, w)
	}
	return &chain.Block{Slot: slot, Parent: parent, Height: slot, Hash: chain.Hash{byte(slot), byte(slot >> 8)}, Txs: []*chain.Tx{tx}}
}

func lamports(l *Ledger, k byte, c Commitment) uint64 {
	list, _ := l.Accounts([]chain.Key{key(k)}, c)
	if list[0] == nil {
		return 0
	}
	return list[0].Lamports
}

func TestAccountsByCommitment(t *testing.T) {
	l := New(Config{confirmLag: 2, finalizeLag: 4}, 10, 0, []chain.Write{{Key: key(1), Account: &chain.Account{Lamports: 7}}})
	require.EqualValues(t, 9, l.Slot(Finalized))
	l.Add(chain.Slot{Number: 10, Block: block(10, 9, map[byte]uint64{1: 100})})
	require.EqualValues(t, 100, lamports(l, 1, Processed))
	require.EqualValues(t, 7, lamports(l, 1, Confirmed))
	l.Add(chain.Slot{Number: 11, Kind: chain.Skipped})
	l.Add(chain.Slot{Number: 12, Block: block(12, 10, map[byte]uint64{1: 0, 2: 5})})
	require.EqualValues(t, 0, lamports(l, 1, Processed), "closed")
	require.EqualValues(t, 100, lamports(l, 1, Confirmed))
	require.EqualValues(t, 7, lamports(l, 1, Finalized))
	list, slot := l.Program(chain.SystemProgram, Processed, func(chain.Key, *chain.Account) bool { return true })
	require.Len(t, list, 1)
	require.EqualValues(t, 12, slot)
	l.Add(chain.Slot{Number: 13, Kind: chain.Dead, Block: block(13, 12, map[byte]uint64{2: 999})})
	require.EqualValues(t, 5, lamports(l, 2, Processed), "a fork that dies never changes what is read")
	_, _, ok := l.Block(13)
	require.False(t, ok)
	_, ok = l.Transaction(chain.Signature{13, 0, 1})
	require.False(t, ok)
	l.Add(chain.Slot{Number: 14, Block: block(14, 12, nil)})
	require.EqualValues(t, 100, lamports(l, 1, Finalized))
	l.Settle()
	require.EqualValues(t, 0, lamports(l, 1, Finalized))
	require.EqualValues(t, 14, l.Slot(Finalized))
	require.Equal(t, []uint64{10, 12, 14}, l.Slots(0, 100, 10, Finalized))
}

func TestHistoryIsBounded(t *testing.T) {
	l := New(Config{Blocks: 100, finalizeLag: 5}, 1000, 0, nil)
	parent := uint64(999)
	for slot := uint64(1000); slot < 1500; slot++ {
		l.Add(chain.Slot{Number: slot, Block: block(slot, parent, nil)})
		parent = slot
	}
	require.EqualValues(t, 1400, l.First())
	require.Len(t, l.signatures, 100)
	require.Len(t, l.hashes, 100)
	old := uint64(1399)
	_, err := l.Subscribe(10, &old)
	var gone *UnavailableError
	require.ErrorAs(t, err, &gone)
	require.EqualValues(t, 1400, gone.First)
}

// A subscription that replays sees each slot's steps once and in order, with nothing between replay
// and stream lost.
func TestReplayJoinsTheStream(t *testing.T) {
	l := New(Config{finalizeLag: 3}, 1000, 0, nil)
	parent := uint64(999)
	add := func(slot uint64) {
		l.Add(chain.Slot{Number: slot, Block: block(slot, parent, nil)})
		parent = slot
	}
	for slot := uint64(1000); slot < 1010; slot++ {
		add(slot)
	}
	from := uint64(1004)
	sub, err := l.Subscribe(1000, &from)
	require.NoError(t, err)
	for slot := uint64(1010); slot < 1020; slot++ {
		add(slot)
	}
	seen := map[uint64][]EventKind{}
	for _, ev := range sub.Backlog {
		seen[ev.Slot] = append(seen[ev.Slot], ev.Kind)
	}
	sub.Close()
	sub.Close()
	for ev := range sub.C {
		seen[ev.Slot] = append(seen[ev.Slot], ev.Kind)
	}
	require.NoError(t, sub.Err())
	all := []EventKind{SlotFirstShred, SlotCreatedBank, SlotCompleted, SlotProcessed, SlotConfirmed, SlotFinalized}
	for slot := uint64(1004); slot < 1016; slot++ {
		require.Equal(t, all, seen[slot], "slot %d", slot)
	}
}

func TestSlowSubscriberIsCutOff(t *testing.T) {
	l := New(Config{}, 1000, 0, nil)
	sub, err := l.Subscribe(3, nil)
	require.NoError(t, err)
	l.Add(chain.Slot{Number: 1000, Block: block(1000, 999, nil)})
	n := 0
	for range sub.C {
		n++
	}
	require.Equal(t, 3, n)
	require.ErrorIs(t, sub.Err(), ErrLagged)
	require.Zero(t, l.Subscribers())
}
