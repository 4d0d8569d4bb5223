package market_test

import (
	"context"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Changes and legs of one pool make one course; a pool that states nothing for a day counts no
// more; SOL has the latest price of the day.
func TestLiquidityOverTime(t *testing.T) {
	conn, dsn := chtest.Migrated(t)
	mint, pool, stable := pubkey.Key{1}, pubkey.Key{2}, pubkey.Key{3}
	sol := schemas.MintWrappedSOL
	for _, query := range []string{
		"INSERT INTO mintlake.daily_volumes_raw (mint, until, anchor, generation) VALUES ('" + stable.String() + "', '2026-11-20 12:30:00', true, 1), ('" + sol + "', '2026-11-20 12:30:00', true, 1)",
		"INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, decimals_a, decimals_b, lp_mint) VALUES ('" + pool.String() + "', '" + mint.String() + "', '" + stable.String() + "', 9, 6, 'shares')",
		`INSERT INTO mintlake.pool_reserves_raw (minute, pool, mint_a, mint_b, last) VALUES
			('2026-11-19 11:10:00', '` + pool.String() + "', '" + mint.String() + "', '" + stable.String() + `', (100, 7, 2000000)),
			('2026-11-20 10:59:00', '` + pool.String() + "', '" + mint.String() + "', '" + stable.String() + `', (400, 9, 4000000)),
			('2026-11-20 12:01:00', 'of SOL', '` + mint.String() + "', '" + sol + `', (500, 1, 3000000000))`,
		`INSERT INTO mintlake.liquidity_raw (pool, slot, block_time, signature, position, added, mint_a, mint_b, amount_a, amount_b, reserve_a, reserve_b) VALUES
			('` + pool.String() + "', 3, '2026-11-20 10:30:00', 'one', 300, true, '" + mint.String() + "', '" + stable.String() + `', 5, 6, 8, 9000000),
			('` + pool.String() + "', 4, '2026-11-20 12:29:00', 'two', 600, false, '" + mint.String() + "', '" + stable.String() + `', 5, 6, 0, 500000),
			('` + pool.String() + "', 5, '1970-01-01 00:00:00', 'three', 700, true, '" + mint.String() + "', '', 1, 0, 1, NULL)",
		"INSERT INTO mintlake.prices_1m_raw (mint, minute, raw_price_usd, generation) VALUES ('" + sol + "', '2026-11-20 09:00:00', 2e-9, 1), ('" + sol + "', '2026-11-20 09:30:00', NULL, 1)",
	} {
		require.NoError(t, conn.Exec(t.Context(), query))
	}
	reader := market.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, chtest.InIndia(dsn)) }, schema.Database)
	t.Cleanup(func() { require.NoError(t, reader.Close()) })
	always, never := time.Unix(0, 0), time.Unix(1<<32-1, 0)
	hour := func(text string) int64 {
		at, err := time.Parse(time.DateTime, text)
		require.NoError(t, err)
		return at.Unix()
	}

	reserves, err := reader.PoolReserves(t.Context(), pool, always, never, 10)
	require.NoError(t, err)
	a, b := mint.String(), stable.String()
	require.Equal(t, []market.Reserves{
		{Time: hour("2026-11-19 11:00:00"), MintA: a, MintB: b, ReserveA: "7", ReserveB: "2000000"}, {Time: hour("2026-11-20 10:00:00"), MintA: a, MintB: b, ReserveA: "9", ReserveB: "4000000"},
		{Time: hour("2026-11-20 12:00:00"), MintA: a, MintB: b, ReserveA: "0", ReserveB: "500000"},
	}, reserves, "the leg at position 400 came after the change at 300")
	whole := time.Unix(hour("2026-11-20 10:00:00"), 0)
	for from, want := range map[time.Time]int{whole: 2, whole.Add(time.Second): 1} {
		later, err := reader.PoolReserves(t.Context(), pool, from, never, 10)
		require.NoError(t, err)
		require.Equal(t, reserves[len(reserves)-want:], later, "hours that begin at this time or later")
	}

	held, err := reader.MintLiquidity(t.Context(), mint, always, never, 5)
	require.NoError(t, err)
	usd := func(n float64) *float64 { return &n }
	require.Equal(t, []market.Liquidity{
		{Time: hour("2026-11-20 08:00:00"), USD: usd(2), Pools: 1}, {Time: hour("2026-11-20 09:00:00"), USD: usd(2), Pools: 1}, {Time: hour("2026-11-20 10:00:00"), USD: usd(4), Pools: 1},
		{Time: hour("2026-11-20 11:00:00"), USD: usd(4), Pools: 1}, {Time: hour("2026-11-20 12:00:00"), USD: usd(0.5 + 6), Pools: 2},
	}, held)
	held, err = reader.MintLiquidity(t.Context(), mint, time.Unix(hour("2026-11-20 11:00:00"), 0), time.Unix(hour("2026-11-20 12:00:00"), 0), 5)
	require.NoError(t, err)
	require.Len(t, held, 1)

	// An analyst writes times as text.
	elsewhere, err := clickhouse.Open(t.Context(), chtest.InIndia(dsn))
	require.NoError(t, err)
	defer func() { require.NoError(t, elsewhere.Close()) }()
	var first uint32
	require.NoError(t, elsewhere.QueryRow(t.Context(), "SELECT toUnixTimestamp(min(hour)) FROM mintlake.liquidity_over_time(mint = '"+a+
		"', start = '2026-11-20 12:00:00', end = '2026-11-20 13:00:00')").Scan(&first))
	require.Equal(t, hour("2026-11-20 12:00:00"), int64(first))

	// Another mint: a stable has six places where no record says how many; SOL had no price yet.
	other := pubkey.Key{4}
	require.NoError(t, conn.Exec(t.Context(), `INSERT INTO mintlake.pool_reserves_raw (minute, pool, mint_a, mint_b, last) VALUES
		('2026-11-20 06:10:00', 'unknown', '`+other.String()+"', '"+stable.String()+`', (800, 7, 3000000)),
		('2026-11-20 07:10:00', 'of SOL too', '`+other.String()+"', '"+sol+`', (900, 7, 3000000))`))
	held, err = reader.MintLiquidity(t.Context(), other, time.Unix(hour("2026-11-20 06:00:00"), 0), time.Unix(hour("2026-11-20 08:00:00"), 0), 5)
	require.NoError(t, err)
	require.Equal(t, []market.Liquidity{{Time: hour("2026-11-20 06:00:00"), USD: usd(3), Pools: 1}, {Time: hour("2026-11-20 07:00:00"), Pools: 2}}, held)

	page, err := reader.PoolLiquidity(t.Context(), pool, market.LiquidityCursor{Slot: 1 << 63}, 2)
	require.NoError(t, err)
	require.Equal(t, "shares", *page.LPMint)
	require.Len(t, page.Changes, 2)
	require.Nil(t, page.Changes[0].Time)
	require.Nil(t, page.Changes[0].MintB)
	require.Equal(t, []string{market.Added, market.Removed}, []string{page.Changes[0].Kind, page.Changes[1].Kind})
	next, err := market.ParseLiquidityCursor(*page.Next)
	require.NoError(t, err)
	page, err = reader.PoolLiquidity(t.Context(), pool, next, 2)
	require.NoError(t, err)
	require.Nil(t, page.Next)
}
