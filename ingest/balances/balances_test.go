package balances_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

var (
	token = pubkey.MustParse(schemas.ProgramToken)
	mint  = pubkey.Key{1, 31: 1}
	other = pubkey.Key{2, 31: 2}
	alice = pubkey.Key{3, 31: 3}
)

// transferOf is a transaction in which key 0 sends amount of a mint to key 1; both are alice's.
func transferOf(index int, mint pubkey.Key, amount uint64) chain.Transaction {
	from, to := pubkey.Key{4, byte(index), byte(index >> 8), 31: 4}, pubkey.Key{5, byte(index), byte(index >> 8), 31: 5}
	balance := func(account int, amount uint64) chain.TokenBalance {
		return chain.TokenBalance{AccountIndex: account, Mint: mint, Owner: alice, Program: token, Decimals: 6, Amount: amount}
	}
	data := append([]byte{3}, byte(amount), byte(amount>>8), 0, 0, 0, 0, 0, 0)
	return chain.Transaction{
		Signature: chain.Signature{1, byte(index), byte(index >> 8)}, Index: index, Keys: []pubkey.Key{from, to, alice, token}, Signers: 1,
		Instructions: []chain.Instruction{{Call: chain.Call{ProgramIndex: 3, Accounts: []byte{0, 1, 2}, Data: data}}},
		PreBalances:  []chain.TokenBalance{balance(0, 1000), balance(1, 0)},
		PostBalances: []chain.TokenBalance{balance(0, 1000-amount), balance(1, amount)},
	}
}

func TestFactsOfABlock(t *testing.T) {
	block := &chain.Block{Slot: 7, BlockTime: 1_700_000_000, Transactions: []chain.Transaction{transferOf(0, mint, 10), transferOf(1, other, 20), transferOf(2, mint, 30)}}
	failed := transferOf(3, mint, 40)
	failed.Failed = true
	block.Transactions = append(block.Transactions, failed)

	facts := balances.New(nil).Of(block)
	require.Equal(t, 6, facts.Changes)
	require.Zero(t, facts.Untold)
	require.Zero(t, facts.Unexplained)
	require.Len(t, facts.Balances, 2, "one message a mint")
	first := facts.Balances[0]
	require.Equal(t, mint[:], first.GetMint())
	require.EqualValues(t, 6, first.GetDecimals())
	require.Len(t, first.GetChanges(), 4)
	require.Equal(t, schemas.EndOfTransaction(7, 0).Order, first.GetChanges()[0].GetPlace())
	require.Equal(t, schemas.EndOfTransaction(7, 2).Order, first.GetChanges()[2].GetPlace())
	require.EqualValues(t, 1000, first.GetChanges()[0].GetBefore().GetAmount())
	require.EqualValues(t, 990, first.GetChanges()[0].GetAfter().GetAmount())
	require.Len(t, facts.Transfers, 2)
	moved := facts.Transfers[1].GetTransfers()
	require.Len(t, moved, 1)
	require.Equal(t, eventspb.TransferKind_TRANSFER_KIND_MOVE, moved[0].GetKind())
	require.Equal(t, alice[:], moved[0].GetFromOwner())
	require.EqualValues(t, 20, moved[0].GetAmount())
	require.Less(t, moved[0].GetPlace(), facts.Balances[1].GetChanges()[0].GetPlace(), "a transfer is before the end of its transaction")

	listed := balances.New(map[pubkey.Key]struct{}{other: {}})
	facts = listed.Of(block)
	require.Len(t, facts.Balances, 1)
	require.Equal(t, other[:], facts.Balances[0].GetMint())
	require.Len(t, facts.Transfers, 1)
	require.NotEqual(t, balances.New(nil).Extent(), listed.Extent())
	require.NotEqual(t, balances.New(map[pubkey.Key]struct{}{mint: {}}).Extent(), listed.Extent())
	require.Equal(t, balances.New(map[pubkey.Key]struct{}{other: {}}).Extent(), listed.Extent())
}

// TestAccountOfTwoMints: a transaction that closes an account and opens it for another mint makes
// a fact about each.
func TestAccountOfTwoMints(t *testing.T) {
	tx := transferOf(0, mint, 10)
	tx.Instructions = nil
	tx.PreBalances, tx.PostBalances = tx.PreBalances[:1], tx.PostBalances[:1]
	tx.PreBalances[0].Amount, tx.PostBalances[0].Mint = 0, other
	facts := balances.New(nil).Of(&chain.Block{Slot: 7, Transactions: []chain.Transaction{tx}})
	require.Len(t, facts.Balances, 2)
	require.Nil(t, facts.Balances[0].GetChanges()[0].GetAfter())
	require.Nil(t, facts.Balances[1].GetChanges()[0].GetBefore())
}

// TestMessagesAreBounded: a block that changes one mint in thousands of transactions makes several
// messages, none larger than a broker takes.
func TestMessagesAreBounded(t *testing.T) {
	block := &chain.Block{Slot: 1 << 40, BlockTime: 1 << 40}
	const transactions = 4000
	for i := range transactions {
		block.Transactions = append(block.Transactions, transferOf(i, mint, 900))
	}
	facts := balances.New(nil).Of(block)
	var changes, transfers int
	for _, m := range facts.Balances {
		require.Less(t, proto.Size(m), 512<<10)
		changes += len(m.GetChanges())
	}
	for _, m := range facts.Transfers {
		require.Less(t, proto.Size(m), 512<<10)
		transfers += len(m.GetTransfers())
	}
	require.Greater(t, len(facts.Balances), 1)
	require.Equal(t, 2*transactions, changes)
	require.Equal(t, transactions, transfers)
}

func TestReadList(t *testing.T) {
	name := filepath.Join(t.TempDir(), "mints")
	write := func(text string) string {
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	mints, err := balances.ReadList(write("# comment\n" + mint.String() + " # mine\n\n" + other.String() + "\n"))
	require.NoError(t, err)
	require.Equal(t, map[pubkey.Key]struct{}{mint: {}, other: {}}, mints)
	for text, reason := range map[string]string{"": "no mint", mint.String() + "\nnonsense\n": "line 2", strings.Repeat("1", 1<<17): "too long"} {
		_, err = balances.ReadList(write(text))
		require.ErrorContains(t, err, reason)
		require.ErrorContains(t, err, name)
	}
}

// TestGrowList: mints are added, comments stay, and a list that would be the same is not written.
func TestGrowList(t *testing.T) {
	name, third := filepath.Join(t.TempDir(), "mints"), pubkey.Key{3}
	grow := func(drop bool, mints ...pubkey.Key) (balances.Grown, string) {
		done, err := balances.GrowList(name, mints, drop)
		require.NoError(t, err)
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		return done, string(text)
	}
	_, err := balances.GrowList(name, nil, false)
	require.ErrorContains(t, err, "no mint")
	require.NoFileExists(t, name)
	done, text := grow(false, mint)
	require.Equal(t, balances.Grown{Mints: 1, New: 1}, done)
	require.Equal(t, mint.String()+"\n", text)

	require.NoError(t, os.WriteFile(name, []byte("# ours\n"+mint.String()+" # the first"), 0o600))
	done, text = grow(false, third, third)
	require.Equal(t, balances.Grown{Mints: 2, New: 1}, done)
	require.Equal(t, "# ours\n"+mint.String()+" # the first\n"+third.String()+"\n", text)
	before, err := os.Stat(name)
	require.NoError(t, err)
	done, _ = grow(false, mint)
	require.Equal(t, balances.Grown{Mints: 2}, done)
	after, err := os.Stat(name)
	require.NoError(t, err)
	require.True(t, os.SameFile(before, after), "it was not written")
	done, text = grow(true, third, other)
	require.Equal(t, balances.Grown{Mints: 2, New: 1, Gone: 1}, done)
	require.Equal(t, "# ours\n"+third.String()+"\n"+other.String()+"\n", text)

	require.NoError(t, os.WriteFile(name, []byte("nonsense"), 0o600))
	_, err = balances.GrowList(name, []pubkey.Key{mint}, false)
	require.ErrorContains(t, err, "line 1")
}

func TestConfig(t *testing.T) {
	cfg := balances.DefaultConfig()
	require.NoError(t, cfg.Validate())
	require.True(t, cfg.On(true))
	require.False(t, cfg.On(false))
	for field, broken := range map[string]balances.Config{
		"balances.mode": {Mode: "some"}, "balances.mints": {Mode: balances.ModeList}, "balances.history_days": {Mode: balances.ModeOff, TopicDays: 7, HistoryDays: -1},
		"balances.topic_days": {Mode: balances.ModeOff}, "balances.base_every": {Mode: balances.ModeOff, TopicDays: 1, BaseEvery: 13 * time.Hour},
	} {
		require.ErrorContains(t, broken.Validate(), field)
	}
}

// TestKindsHaveNames: each kind on the wire has a name in tables and answers.
func TestKindsHaveNames(t *testing.T) {
	for number, name := range eventspb.TransferKind_name {
		kind := eventspb.TransferKind(number)
		require.Equal(t, kind == eventspb.TransferKind_TRANSFER_KIND_UNSPECIFIED, schemas.TransferKind(kind) == "unknown", name)
	}
}
