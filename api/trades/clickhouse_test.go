package trades_test

import (
	"context"
	"os"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/trades"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func TestMain(m *testing.M) { os.Exit(chtest.Main(m)) }

// TestAPageIsEmptyOnlyAtTheEnd: of a mint that traded each hour for four months, and is on the way
// of a valuation for the last day, one trader has the first trade of all.
func TestAPageIsEmptyOnlyAtTheEnd(t *testing.T) {
	conn, dsn := chtest.Migrated(t)
	mint, other, first, later := pubkey.Key{1}, pubkey.Key{2}, pubkey.Key{3}, pubkey.Key{4}
	exec := func(query string, args ...any) { require.NoError(t, conn.Exec(t.Context(), query, args...)) }
	exec("INSERT INTO mintlake.swaps_raw (slot, block_time, mint_a, mint_b, in_is_a, amount_in, amount_out, trader) SELECT number + 1, toDateTime(1750003200 + 3600 * number, 'UTC'), ?, ?, true, 5, 7, if(number = 0, ?, ?) FROM numbers(3000)",
		mint.String(), other.String(), first.String(), later.String())
	exec("INSERT INTO mintlake.volume_1h_raw (mint, bucket, trades) SELECT ?, toDateTime(1750003200 + 3600 * number, 'UTC'), 1 FROM numbers(3000)", mint.String())
	exec("INSERT INTO mintlake.swap_minutes_raw (minute, touched, valued) SELECT toDateTime(1750003200 + 3600 * 3000 + 60 * number, 'UTC'), 2, 1 FROM numbers(1440)")

	reader := trades.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, chtest.InIndia(dsn)) }, "mintlake")
	t.Cleanup(func() { require.NoError(t, reader.Close()) })
	page := func(trader *pubkey.Key, before string) trades.Page {
		cursor, err := trades.ParseCursor(before)
		require.NoError(t, err)
		page, err := reader.Trades(t.Context(), mint, &trades.Filter{Trader: trader}, cursor, 2)
		require.NoError(t, err)
		return page
	}
	all := page(nil, "")
	require.Len(t, all.Trades, 2)
	require.Equal(t, uint64(3000), all.Trades[0].Slot)
	require.Equal(t, all.Trades[1].ID, *all.Next)

	found := page(&first, "")
	require.Len(t, found.Trades, 1)
	require.Equal(t, uint64(1), found.Trades[0].Slot)
	require.Nil(t, found.Next)

	end := page(nil, found.Trades[0].ID)
	require.Empty(t, end.Trades)
	require.Nil(t, end.Next)

	slots, before := 0, ""
	for got := page(&later, before); ; got = page(&later, *got.Next) {
		for _, trade := range got.Trades {
			require.Equal(t, uint64(3000-slots), trade.Slot)
			slots++
		}
		if got.Next == nil || slots >= 10 {
			break
		}
		require.NotEmpty(t, got.Trades)
	}
	require.Equal(t, 10, slots)
}

// TestPagesGoOnWithinAnHour: of two hours that no valuation has seen, which are read in minutes,
// each page begins where the one before ended.
func TestPagesGoOnWithinAnHour(t *testing.T) {
	const count = 120
	conn, dsn := chtest.Migrated(t)
	mint, other := pubkey.Key{1}, pubkey.Key{2}
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO mintlake.swaps_raw (slot, block_time, mint_a, mint_b, in_is_a, amount_in, amount_out) SELECT number + 1, toDateTime(1750003200 + 60 * number, 'UTC'), ?, ?, true, 5, 7 FROM numbers(120)",
		mint.String(), other.String()))
	require.NoError(t, conn.Exec(t.Context(), "INSERT INTO mintlake.swap_minutes_raw (minute, touched, valued) SELECT toDateTime(1750003200 + 60 * number, 'UTC'), 2, 1 FROM numbers(120)"))
	reader := trades.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, chtest.InIndia(dsn)) }, "mintlake")
	t.Cleanup(func() { require.NoError(t, reader.Close()) })
	var slots []uint64
	for before := ""; len(slots) < 2*count; {
		cursor, err := trades.ParseCursor(before)
		require.NoError(t, err)
		page, err := reader.Trades(t.Context(), mint, &trades.Filter{}, cursor, 2)
		require.NoError(t, err)
		for _, trade := range page.Trades {
			slots = append(slots, trade.Slot)
		}
		if page.Next == nil {
			break
		}
		before = *page.Next
	}
	require.Len(t, slots, count)
	for i, slot := range slots {
		require.Equal(t, uint64(count-i), slot)
	}
}
