package decode_test

import (
	"bytes"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/decode/balance"
	"github.com/mintlake/mintlake/ingest/decode/transfer"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// recordedBlocks are all recorded blocks and transactions, those with version 1 among them.
func recordedBlocks(t testing.TB) []*chain.Block {
	t.Helper()
	var blocks []*chain.Block
	for _, name := range []string{"254170887", "332254855", "361774429", "transactions"} {
		blocks = append(blocks, realTransactions(t, name)...)
	}
	for _, slot := range []string{"254170887", "332254855", "361774429"} {
		for _, form := range []string{"base64", "json", "jsonParsed", "geyser"} {
			blocks = append(blocks, rewritten(t, slot, slot+"-alpenglow", form))
		}
	}
	return blocks
}

// register is a token account of one mint.
type register struct{ account, mint pubkey.Key }

// moved sums a transaction's transfers by register. unclear are registers of which an amount or a
// fee is not known.
func moved(transfers []transfer.Transfer) (sums map[register]*big.Int, unclear map[register]bool) {
	sums, unclear = make(map[register]*big.Int), make(map[register]bool)
	add := func(account, mint pubkey.Key, amount uint64, sign int64) {
		if account == (pubkey.Key{}) {
			return
		}
		at := register{account, mint}
		if sums[at] == nil {
			sums[at] = new(big.Int)
		}
		n := new(big.Int).SetUint64(amount)
		sums[at].Add(sums[at], n.Mul(n, big.NewInt(sign)))
	}
	for _, m := range transfers {
		if m.Kind == transfer.Harvest {
			continue
		}
		if !m.Known || !m.FeeKnown {
			unclear[register{m.To.Account, m.Mint}] = true
		}
		if !m.Known {
			unclear[register{m.From.Account, m.Mint}] = true
		}
		add(m.From.Account, m.Mint, m.Amount, -1)
		add(m.To.Account, m.Mint, m.Amount, 1)
		add(m.To.Account, m.Mint, m.Fee, -1)
	}
	return sums, unclear
}

// changed returns a transaction's changes of amounts by register.
func changed(tx *chain.Transaction) map[register]*big.Int {
	changes := make(map[register]*big.Int)
	for _, c := range balance.Changes(tx) {
		before, after := new(big.Int).SetUint64(c.Before.Amount), new(big.Int).SetUint64(c.After.Amount)
		changes[register{c.Account, c.Mint}] = after.Sub(after, before)
	}
	return changes
}

// requireExplained compares transfers with changes. An account that was opened and closed within
// the transaction has no change, and its transfers sum to nothing. It returns how many registers
// moved.
func requireExplained(t testing.TB, tx *chain.Transaction, found transfer.Result) int {
	t.Helper()
	signature := base58.Encode(tx.Signature[:])
	require.Zero(t, found.Unexplained, signature)
	sums, unclear := moved(found.Transfers)
	changes := changed(tx)
	// A fee that is withdrawn from its account to the same account cannot be told.
	withdrawn := make(map[register]bool)
	for _, m := range found.Transfers {
		if m.Kind == transfer.WithdrawWithheld {
			withdrawn[register{m.To.Account, m.Mint}] = true
		}
	}
	for at, sum := range sums {
		want := changes[at]
		if want == nil {
			want = new(big.Int)
		} else {
			require.True(t, !unclear[at] || withdrawn[at], "%s: %v has a balance, so its amounts can be told", signature, at)
		}
		if !unclear[at] {
			require.Equal(t, want.String(), sum.String(), "%s: %s of %s", signature,
				base58.Encode(at.account[:]), base58.Encode(at.mint[:]))
		}
		delete(changes, at)
	}
	for at, change := range changes {
		require.Zero(t, change.Sign(), "%s: %v changed without a transfer", signature, at)
	}
	return len(sums)
}

// TestTransfersExplainTheBalances: for each account and transaction, what it has after less what it
// had before is the sum of its transfers.
func TestTransfersExplainTheBalances(t *testing.T) {
	decoder, registers, transfers, amounts := transfer.New(), 0, 0, 0
	for _, block := range recordedBlocks(t) {
		rent := transfer.Rent(block.Transactions)
		for i := range block.Transactions {
			tx := &block.Transactions[i]
			found := decoder.Decode(tx, rent)
			registers += requireExplained(t, tx, found)
			for _, m := range found.Transfers {
				require.NotZero(t, m.Mint)
				require.Equal(t, m.From.Account == pubkey.Key{}, m.From.Owner == pubkey.Key{})
				require.Equal(t, m.To.Account == pubkey.Key{}, m.To.Owner == pubkey.Key{})
				transfers++
				if m.Known {
					amounts++
				}
			}
		}
	}
	require.Equal(t, 5_526, registers)
	// What cannot be told: wrapped SOL that came with a new account's rent in a lone transaction,
	// and fees that are withdrawn from an account to the same account.
	require.Equal(t, 4_700, transfers)
	require.Equal(t, 4_641, amounts)
}

// TestSVMTransfers: what the real programs moved. Read a change of the golden line by line before
// -update makes it the truth.
func TestSVMTransfers(t *testing.T) {
	var got strings.Builder
	decoder := transfer.New()
	for _, fixture := range loadSVM(t) {
		for i := range fixture.Steps {
			step := &fixture.Steps[i]
			block := step.block(t)
			found := decoder.Decode(&block.Transactions[0], transfer.Rent(block.Transactions))
			requireExplained(t, &block.Transactions[0], found)
			if len(found.Transfers) == 0 {
				continue
			}
			fmt.Fprintf(&got, "%s: %s\n", fixture.Name, step.Name)
			for _, m := range found.Transfers {
				fmt.Fprintf(&got, "  %s\n", fixture.transferLine(m))
			}
		}
	}
	golden := filepath.Join("testdata", "transfers.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	if !bytes.Equal(want, []byte(got.String())) {
		require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got.String(), "\n"))
	}
}

// transferLine is a transfer on one line, with the scenario's names for keys.
func (f *svmFixture) transferLine(m transfer.Transfer) string {
	name := func(k pubkey.Key) string {
		text := base58.Encode(k[:])
		if k == (pubkey.Key{}) {
			return "-"
		}
		if f.Names[text] != "" {
			return f.Names[text]
		}
		return text
	}
	optional := func(n uint64, known bool) string {
		if !known {
			return "?"
		}
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d/%d/%d %s %s of %s, fee %s, from %s (%s) to %s (%s)", m.Place.Outer, m.Place.Inner, m.Place.Batch,
		m.Kind, optional(m.Amount, m.Known), name(m.Mint), optional(m.Fee, m.FeeKnown),
		name(m.From.Account), name(m.From.Owner), name(m.To.Account), name(m.To.Owner))
}

// BenchmarkTransfers decodes a block; ns/tx counts its transactions that are not votes.
func BenchmarkTransfers(b *testing.B) {
	block, decoder, counted := loadBlock(b, "data/blocks/361774429.json.gz"), transfer.New(), 0
	for i := range block.Transactions {
		if !block.Transactions[i].Vote {
			counted++
		}
	}
	rent := transfer.Rent(block.Transactions)
	b.ReportAllocs()
	for b.Loop() {
		for i := range block.Transactions {
			decoder.Decode(&block.Transactions[i], rent)
			balance.Changes(&block.Transactions[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*counted), "ns/tx")
}
