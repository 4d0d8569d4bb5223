package history_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// BenchmarkActiveMint asks about mints that were minted and burnt very often, in a table of a
// million rows about others. copies says how often each message was delivered; the last 100,000
// rows are a part of their own, as between merges.
func BenchmarkActiveMint(b *testing.B) {
	for _, c := range []struct{ events, copies int }{{1_000, 1}, {100_000, 1}, {100_000, 3}, {1_000_000, 1}} {
		db := start(b)
		insert := func(mint string, from, to int) {
			require.NoError(b, db.conn.Exec(context.Background(), fmt.Sprintf(`INSERT INTO token_fact_history_raw
				SELECT %s, 100 + intDiv(number, 4) AS slot, upper(concat(hex(sipHash128(number)), hex(sipHash128(number, 1)), hex(sipHash64(number, 2)))) AS signature,
				bitShiftLeft(2, 28), 'mint_to', 'instruction', 'MintTo', bitOr(bitShiftLeft(toUInt128(slot), 64), bitShiftLeft(toUInt128(number %% 4), 40)), number %% 4,
				toDateTime(1700000000 + slot), [(4, lower(hex(sipHash128(number))), toString(number %% 1000)), (21, '', toString((1700000000 + slot) * 1000)),
				(22, '', toString((1700000000 + slot) * 1000))] FROM numbers(%d, %d) SETTINGS max_memory_usage = 0`, mint, from, to-from)))
		}
		insert("concat('other', toString(number))", 0, 1_000_000)
		for range c.copies {
			insert("'mint'", 0, max(c.events-100_000, c.events/2))
			insert("'mint'", max(c.events-100_000, c.events/2), c.events)
		}
		require.NoError(b, db.conn.Exec(context.Background(), `INSERT INTO token_fact_history_raw SELECT 'mint', 1, 'created', 0, 'initialize_mint', 'instruction',
			'InitializeMint2', bitShiftLeft(toUInt128(1), 64), 0, toDateTime(1700000001), [(1, '', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'), (2, '', '6'), (3, '', '0'), (21, '', '1700000001000')]`))
		h := history.New(db.reader)
		measure := func(name string, ask func(ctx context.Context) error) {
			b.Run(fmt.Sprintf("events=%d/copies=%d/%s", c.events, c.copies, name), func(b *testing.B) {
				for b.Loop() {
					require.NoError(b, ask(context.Background()))
				}
				b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/question")
			})
		}
		page := func(slot uint64, limit int) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				p, err := h.Page(ctx, benched, history.CursorAt(slot), limit)
				if err == nil && len(p.Items) != limit {
					return fmt.Errorf("%d items", len(p.Items))
				}
				return err
			}
		}
		last := uint64(100 + c.events/4)
		measure("newest_page", page(last+1, 50))
		measure("largest_page", page(last+1, 200))
		measure("middle_page", page(last/2+50, 50))
		measure("as_of_last", func(ctx context.Context) error { _, err := h.AsOf(ctx, benched, last); return err })
		measure("as_of_first", func(ctx context.Context) error { _, err := h.AsOf(ctx, benched, 100); return err })
		begin := time.Now()
		snapshot, err := h.AsOf(b.Context(), benched, last)
		require.NoError(b, err)
		token, _ := snapshot.Token()
		b.Logf("%d events: supply %s in %s", c.events, *token.Supply, time.Since(begin))
	}
}

var benched = pubkey.Key{1}
