// Package holdings compares balances and transfers with plain loops over recorded blocks. It is the
// one place that uses ingest and the projector of balances together without a node.
package holdings

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/e2e/oracle"
	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/transfer"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	store "github.com/mintlake/mintlake/projector/balances"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

func read(t *testing.T, path string) []*chain.Block {
	t.Helper()
	source, err := file.New(file.Config{Paths: []string{path}}, file.Deps{})
	require.NoError(t, err)
	var sink sourcetest.Sink
	require.NoError(t, source.Run(context.Background(), sourcetest.Ledger{}, &sink))
	return sink.Blocks()
}

// recorded are the real blocks, and those with transactions of version 1.
func recorded(t *testing.T) []*chain.Block {
	t.Helper()
	blocks := read(t, testkit.Shared(t, "data/blocks"))
	for _, slot := range []string{"254170887", "332254855", "361774429"} {
		folder := testkit.Shared(t, filepath.Join("data/chain-2026/blocks", slot+"-alpenglow", "json"))
		blocks = append(blocks, read(t, folder)...)
	}
	require.GreaterOrEqual(t, len(blocks), 6)
	return blocks
}

// TestTransfersEqualASecondReading: transfers, mints and burns are those that loops over the
// instructions find, and hardly one lacks its mint or a wallet.
func TestTransfersEqualASecondReading(t *testing.T) {
	maker := balances.New(nil)
	transfers, untold := 0, 0
	for _, block := range recorded(t) {
		facts := maker.Of(block)
		untold += facts.Untold
		got := map[string]int{}
		for _, message := range facts.Transfers {
			for _, m := range message.GetTransfers() {
				transfers++
				kind := schemas.TransferKind(m.GetKind())
				if !slices.Contains([]string{"transfer", "mint", "burn"}, kind) {
					continue
				}
				got[fmt.Sprint(m.GetPlace(), kind, key(m.GetFromAccount()), key(m.GetToAccount()), m.GetAmount())]++
			}
		}
		want := map[string]int{}
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			for _, m := range oracle.Movements(tx) {
				want[fmt.Sprint(place(block.Slot, tx, m.Place), m.Kind, m.From, m.To, m.Amount)]++
			}
		}
		require.Equal(t, want, got, "block %d", block.Slot)
	}
	require.Greater(t, transfers, 1000)
	require.LessOrEqual(t, untold*1000, transfers, "of %d transfers", transfers)
}

// TestStatesEqualASecondReading: what is told of delegates and frozen accounts is what loops over
// the instructions find.
func TestStatesEqualASecondReading(t *testing.T) {
	decoder, found, spent := transfer.New(), 0, 0
	names := map[transfer.StateKind]string{transfer.Approved: "approved", transfer.Revoked: "revoked", transfer.Frozen: "frozen", transfer.Thawed: "thawed"}
	for _, block := range recorded(t) {
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			var got []string
			for _, s := range decoder.Decode(tx, 0).States {
				require.False(t, s.Mint.IsZero(), "%x: %+v", tx.Signature, s)
				switch {
				case names[s.Kind] != "":
					found++
					got = append(got, fmt.Sprint([3]int{s.Place.Outer, s.Place.Inner, s.Place.Batch}, names[s.Kind], s.Account, s.Delegate, s.Amount))
				case s.Kind == transfer.Spent:
					spent++
				}
			}
			require.ElementsMatch(t, oracle.States(tx), got, "%x", tx.Signature)
		}
	}
	t.Logf("%d changes of states, %d movements that owners did not make", found, spent)
	require.NotZero(t, found)
}

func key(raw []byte) pubkey.Key {
	if len(raw) == 0 {
		return pubkey.Key{}
	}
	return pubkey.Key(raw)
}

func place(slot uint64, tx *chain.Transaction, at [3]int) uint64 {
	index := func(n int) *uint32 {
		if n < 0 {
			return nil
		}
		index := uint32(n)
		return &index
	}
	p := &eventspb.Position{
		Slot: slot, TransactionIndex: index(tx.Index), InstructionIndex: uint32(at[0]), InnerInstructionIndex: index(at[1]), BatchIndex: index(at[2]),
	}
	return schemas.PositionOf(p, tx.Signature[:]).Order
}

// TestLastBalances: however the facts of the blocks come, the tables end with the balances that the
// last transactions left.
func TestLastBalances(t *testing.T) {
	blocks := recorded(t)
	slices.SortStableFunc(blocks, func(a, b *chain.Block) int { return int(a.Slot) - int(b.Slot) })
	maker := balances.New(nil)
	var records []kafka.Record
	last := map[[2]pubkey.Key]string{} // of an account and mint
	for _, block := range blocks {
		for _, message := range maker.Of(block).Balances {
			value, err := proto.Marshal(message)
			require.NoError(t, err)
			records = append(records, kafka.Record{Topic: schemas.TopicBalances, Offset: int64(len(records)), Value: value})
		}
		for i := range block.Transactions {
			leave(last, &block.Transactions[i])
		}
	}
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	backwards := slices.Clone(records)
	slices.Reverse(backwards)
	shuffled := append(slices.Clone(records), records[:len(records)/2]...)
	random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	for name, order := range map[string][]kafka.Record{"forwards": records, "backwards": backwards, "shuffled and repeated": shuffled} {
		t.Run(name, func(t *testing.T) { require.Equal(t, last, stored(t, order)) })
	}
}

// leave enters what a transaction leaves in accounts that it changes.
func leave(last map[[2]pubkey.Key]string, tx *chain.Transaction) {
	if tx.Failed || tx.Vote {
		return
	}
	state := func(b *chain.TokenBalance) string { return fmt.Sprint(b.Owner, b.Amount) }
	before := map[[2]pubkey.Key]string{}
	for i := range tx.PreBalances {
		b := &tx.PreBalances[i]
		before[[2]pubkey.Key{tx.Keys[b.AccountIndex], b.Mint}] = state(b)
	}
	after := map[[2]pubkey.Key]string{}
	for i := range tx.PostBalances {
		b := &tx.PostBalances[i]
		at := [2]pubkey.Key{tx.Keys[b.AccountIndex], b.Mint}
		after[at] = state(b)
		if before[at] != after[at] {
			last[at] = after[at]
		}
	}
	for at := range before {
		if after[at] == "" {
			delete(last, at)
		}
	}
}

// stored are the accounts of the tables after records, which come in pieces.
func stored(t *testing.T, records []kafka.Record) map[[2]pubkey.Key]string {
	t.Helper()
	conn, _ := chtest.Migrated(t)
	tables := store.NewClickHouse(conn, schema.Database)
	for piece := range slices.Chunk(records, len(records)/3+1) {
		batch := store.NewBatch()
		for i := range piece {
			require.NoError(t, batch.Add(&piece[i]))
		}
		require.NoError(t, tables.Insert(t.Context(), batch))
	}
	rows, err := conn.Query(t.Context(), "SELECT account, mint, owner, amount FROM mintlake.token_accounts")
	require.NoError(t, err)
	all := map[[2]pubkey.Key]string{}
	for rows.Next() {
		var account, mint, owner string
		var amount uint64
		require.NoError(t, rows.Scan(&account, &mint, &owner, &amount))
		all[[2]pubkey.Key{pubkey.MustParse(account), pubkey.MustParse(mint)}] = fmt.Sprint(orNone(owner), amount)
	}
	require.NoError(t, rows.Err())
	return all
}

func orNone(owner string) pubkey.Key {
	if owner == "" {
		return pubkey.Key{}
	}
	return pubkey.MustParse(owner)
}
