package holders

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// questions are the queries of docs/balances.md by the line that asks for them.
func questions(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs/balances.md"))
	require.NoError(t, err)
	queries := map[string]string{}
	for _, block := range regexp.MustCompile("(?s)\n([^\n]+[?])\n\n```sql\n(.*?)```").FindAllSubmatch(page, -1) {
		queries[string(block[1])] = string(block[2])
	}
	require.Len(t, queries, strings.Count(string(page), "```sql"))
	return queries
}

// TestQuestions: each question of the page has the answer that its rows were made for.
func TestQuestions(t *testing.T) {
	w := newTables(t)
	mint, alice, bob, carol := key(1), key(2), key(3), key(4)
	const day = 86_400 // slots are seconds in these rows
	w.slots(100, 100+3*day, 1)
	w.created(mint, 100)
	w.change(mint, key(10), 100, none, held{alice, 100})
	w.change(mint, key(10), 101, held{alice, 100}, held{alice, 60})
	w.change(mint, key(11), 101, none, held{bob, 40})
	w.count(mint)
	w.change(mint, key(11), 101+day, held{bob, 40}, held{bob, 0})
	w.change(mint, key(12), 101+day, none, held{carol, 40})
	w.count(mint)
	moved := func(slot int, from, to string, amount int) {
		w.exec("INSERT INTO mintlake.transfers_raw (mint, slot, place, signature, kind, from_owner, to_owner, amount) VALUES (?, ?, 1, repeat('s', 64), 'transfer', ?, ?, ?)",
			mint, slot, bytesOf(from), bytesOf(to), amount)
		for side, owners := range [][2]string{{from, to}, {to, from}} {
			w.exec("INSERT INTO mintlake.wallet_transfers_raw (owner, slot, place, signature, is_in, mint, kind, other, amount) VALUES (?, ?, 1, repeat('s', 64), ?, ?, 'transfer', ?, ?)",
				owners[0], slot, side == 1, mint, bytesOf(owners[1]), amount)
		}
	}
	moved(101, alice, bob, 40)
	moved(101+day, bob, carol, 40)
	moved(102+day, carol, bob, 5)
	w.exec("INSERT INTO mintlake.tokens_raw (mint, supply, is_member, creator) VALUES (?, 100, true, ?)", mint, alice)
	w.exec(`INSERT INTO mintlake.swaps_raw (slot, instruction_index, mint_a, mint_b, in_is_a, amount_in, amount_out, trader, usd_value) VALUES
		(101, 0, ?, 'other', false, 7, 30, ?, 60), (102, 0, ?, 'other', true, 10, 8, ?, 50)`, mint, bob, mint, bob)
	w.exec("INSERT INTO mintlake.wallet_accounts_raw (owner, mint, account, amount, open, position) VALUES (?, ?, ?, 25, true, 1)", bob, mint, bytesOf(key(11)))

	for question, want := range map[string]string{
		"Who holds the most, and how concentrated is it?":  alice + "\t60\t60\n" + carol + "\t40\t40",
		"How many holders were there, hour by hour?":       "2023-11-14 22:00:00\t2\n2023-11-15 22:00:00\t2",
		"How many came and went each day?":                 "2023-11-14\t2\t0\n2023-11-15\t1\t1",
		"Who received tokens from the creator?":            bob + "\t40",
		"What flowed between two wallets?":                 mint + "\t40\t5\t2",
		"What did a wallet gain or lose, by average cost?": mint + "\t30\t10\t60\t50\t30\t25\t5\nother\t8\t7\t50\t60\t16.25\t0\t-1",
		"Who gets an airdrop for what was held at a slot?": alice + "\t60\n" + bob + "\t40",
	} {
		t.Run(question, func(t *testing.T) {
			query, ok := questions(t)[question]
			require.True(t, ok)
			query = strings.NewReplacer("MINT", mint, "OWNER", bob, "OTHER", carol, "400000000", "150").Replace(query)
			require.Equal(t, want, w.text(query))
		})
	}
}

// TestWhoCameAndWentOfAMintThatWasRead: what its holders had before the history begins is in no
// change that has a time.
func TestWhoCameAndWentOfAMintThatWasRead(t *testing.T) {
	w := newTables(t)
	mint, alice, bob, carol := key(1), key(2), key(3), key(4)
	const day = 86_400
	w.slots(100, 100+3*day, 1)
	w.created(mint, 100)
	for account, owner := range map[string]string{key(10): alice, key(11): bob} {
		w.fact(mint, account, 100, true, none, held{owner, 100})
	}
	w.exec("ALTER TABLE mintlake.balance_changes_raw UPDATE block_time = 0 WHERE is_read SETTINGS mutations_sync = 2")
	w.change(mint, key(10), 101, held{alice, 100}, held{alice, 0})
	w.change(mint, key(11), 101, held{bob, 100}, held{bob, 105})
	w.change(mint, key(12), 101+day, none, held{carol, 5})
	query := questions(t)["How many came and went each day?"]
	require.Equal(t, "2023-11-14\t0\t1\n2023-11-15\t1\t0", w.text(strings.ReplaceAll(query, "MINT", mint)))
}

// text returns the rows of a query as tab-separated lines.
func (w *tables) text(query string) string {
	w.t.Helper()
	rows, err := w.conn.Query(w.t.Context(), "SELECT formatRowNoNewline('TSV', *) FROM ("+query+")")
	require.NoError(w.t, err, fmt.Sprint(query))
	var lines []string
	for rows.Next() {
		var line string
		require.NoError(w.t, rows.Scan(&line))
		lines = append(lines, line)
	}
	require.NoError(w.t, rows.Err())
	return strings.Join(lines, "\n")
}
