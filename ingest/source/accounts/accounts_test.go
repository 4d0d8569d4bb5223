package accounts

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/ingest/chain"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func update(key, tx byte, data string) chain.Account {
	return chain.Account{Key: pubkey.Key{key}, Signature: chain.Signature{tx}, Transaction: -1, Data: []byte(data)}
}

func block(slot uint64, txs ...byte) *chain.Block {
	b := &chain.Block{Slot: slot, Whole: true}
	for i, tx := range txs {
		b.Transactions = append(b.Transactions, chain.Transaction{Signature: chain.Signature{tx}, Index: 10 * i})
	}
	return b
}

func add(b *Buffer, slot uint64, updates ...chain.Account) {
	for i := range updates {
		b.Add(slot, &updates[i])
	}
}

func TestABlockGetsTheAccountsOfItsOwnTransactions(t *testing.T) {
	b := NewBuffer(nil)
	add(b, 7, update('m', 2, "second"), update('m', 1, "first"), update('m', 2, "second"), update('n', 9, "of another fork"))
	add(b, 8, update('m', 1, "of another slot"))
	got := block(7, 1, 2)
	got.Transactions[1].Failed = false
	b.Join(got)
	require.Len(t, got.Accounts, 2, "each once")
	require.Equal(t, "first", string(got.Accounts[0].Data))
	require.Equal(t, 0, got.Accounts[0].Transaction)
	require.Equal(t, "second", string(got.Accounts[1].Data))
	require.Equal(t, 10, got.Accounts[1].Transaction)

	again := block(7, 1, 2)
	b.Join(again)
	require.Empty(t, again.Accounts, "forgotten")
}

func TestFailedAndUnplacedTransactionsWriteNothing(t *testing.T) {
	b := NewBuffer(nil)
	add(b, 7, update('m', 1, "x"), update('m', 2, "y"))
	got := block(7, 1, 2)
	got.Transactions[0].Failed = true
	got.Transactions[1].Index = -1
	b.Join(got)
	require.Empty(t, got.Accounts)
}

func TestTheBufferOwnsWhatItKeeps(t *testing.T) {
	b := NewBuffer(nil)
	u := update('m', 1, "mine")
	b.Add(7, &u)
	copy(u.Data, "gone")
	got := block(7, 1)
	b.Join(got)
	require.Equal(t, "mine", string(got.Accounts[0].Data))
}

func TestMemoryIsBounded(t *testing.T) {
	b := NewBuffer(nil)
	big := string(make([]byte, MaxData))
	for slot := range uint64(2 * MaxBytes / MaxData) {
		add(b, 1000+slot, update('m', 1, big))
		require.LessOrEqual(t, b.bytes, MaxBytes)
	}
	newest := uint64(1000 + 2*MaxBytes/MaxData - 1)
	require.Contains(t, b.slots, newest, "the oldest go first")
	add(b, newest, update('m', 2, big+"x"))
	require.Len(t, b.slots[newest].updates, 1, "larger than any account that is read")

	b.Join(block(newest+reach+1, 1))
	require.Empty(t, b.slots, "too far behind")
	require.Zero(t, b.bytes)
	add(b, 1, update('m', 1, "x"))
	add(b, newest+reach+1+ahead+1, update('m', 1, "x"))
	require.Empty(t, b.slots, "too far away to be believed")
}

// Order, repeats and losses of updates change nothing about the accounts that are there.
func TestAnySubsetInAnyOrderIsASubset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []chain.Account
		for tx := range byte(4) {
			for key := range byte(3) {
				all = append(all, update(key, tx, string([]byte{key, tx})))
			}
		}
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		sent := slices.Clone(all)
		sent = append(sent, all...)
		random.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		sent = sent[:rapid.IntRange(0, len(sent)).Draw(t, "arrived")]
		b := NewBuffer(nil)
		add(b, 7, sent...)
		got := block(7, 3, 1, 2)
		b.Join(got)
		want := map[string]bool{}
		for _, u := range sent {
			if u.Signature[0] != 0 { // which is not in the block
				want[string(u.Data)] = true
			}
		}
		require.Len(t, got.Accounts, len(want))
		for i, a := range got.Accounts {
			require.True(t, want[string(a.Data)])
			if i > 0 {
				require.LessOrEqual(t, got.Accounts[i-1].Transaction, a.Transaction)
			}
		}
		require.Zero(t, b.bytes)
	})
}
