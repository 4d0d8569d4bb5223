package market_test

import (
	"context"
	"testing"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// A pool whose trades have no price has no volume, which is not a volume of 0 dollars. One priced
// trade gives it a volume.
func TestAPoolWithoutAPriceHasNoVolume(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	mint := pubkey.Key{1}
	for _, query := range []string{
		"INSERT INTO mintlake.daily_volumes_raw (mint, until, generation) VALUES ('" + mint.String() + "', '2026-11-20 12:00:00', 1)",
		"INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, venue) SELECT arrayJoin(['priced', 'partly', 'unpriced', 'idle']), '" + mint.String() + "', 'other', 'raydium_cpmm'",
		`INSERT INTO mintlake.pool_volume_1h_raw (bucket, pool, mint_a, mint_b, venue, volume_usd, trades, unpriced, generation)
			SELECT bucket, pool, '` + mint.String() + `', 'other', 'raydium_cpmm', usd, trades, unpriced, 1 FROM values(
			'bucket DateTime, pool String, usd Decimal(38, 6), trades UInt64, unpriced UInt64',
			('2026-11-20 10:00:00', 'priced', 5, 2, 0), ('2026-11-20 11:00:00', 'priced', 7, 1, 0),
			('2026-11-20 10:00:00', 'partly', 0, 2, 2), ('2026-11-20 11:00:00', 'partly', 3, 2, 1),
			('2026-11-20 10:00:00', 'unpriced', 0, 4, 4), ('2026-11-20 11:00:00', 'unpriced', 0, 1, 1))`,
	} {
		require.NoError(t, conn.Exec(t.Context(), query))
	}
	open := func(context.Context) (driver.Conn, error) { return conn, nil }
	pools, err := market.NewClickHouse(open, schema.Database).Pools(t.Context(), mint, 10)
	require.NoError(t, err)
	usd := func(n float64) *float64 { return &n }
	volumes, trades := map[string]*float64{}, map[string]uint64{}
	for i := range pools {
		volumes[pools[i].Pool], trades[pools[i].Pool] = pools[i].DailyVolumeUSD, pools[i].Trades
	}
	require.Equal(t, map[string]*float64{"priced": usd(12), "partly": usd(3), "unpriced": nil, "idle": nil}, volumes)
	require.Equal(t, map[string]uint64{"priced": 3, "partly": 4, "unpriced": 5, "idle": 0}, trades)
}

// A mint with more pools than a set holds gets the same answer: by volume, then by address.
func TestPoolsOfAMintThatHasVeryMany(t *testing.T) {
	conn, _ := chtest.Migrated(t)
	mint := pubkey.Key{1}
	for _, query := range []string{
		"INSERT INTO mintlake.daily_volumes_raw (mint, until, generation) VALUES ('" + mint.String() + "', '2026-11-20 12:00:00', 1)",
		"INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, venue) SELECT 'pool ' || leftPad(toString(number), 5, '0'), '" + mint.String() + "', 'other', 'raydium_cpmm' FROM numbers(20001)",
		"INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b, venue) SELECT 'a stranger ' || toString(number), 'another', 'other', 'raydium_cpmm' FROM numbers(9)",
		`INSERT INTO mintlake.pool_volume_1h_raw (bucket, pool, mint_a, mint_b, venue, volume_usd, trades, unpriced, generation)
			SELECT bucket, pool, '` + mint.String() + `', 'other', 'raydium_cpmm', usd, trades, unpriced, 1 FROM values(
			'bucket DateTime, pool String, usd Decimal(38, 6), trades UInt64, unpriced UInt64',
			('2026-11-20 10:00:00', 'pool 20000', 5, 2, 0), ('2026-11-20 11:00:00', 'pool 20000', 7, 1, 0),
			('2026-11-20 10:00:00', 'pool 00001', 3, 2, 1), ('2026-11-20 10:00:00', 'pool 00002', 0, 4, 4), ('2026-11-20 10:00:00', 'pool 09999', 0, 4, 4),
			('2026-11-10 10:00:00', 'pool 00005', 99, 1, 0))`,
	} {
		require.NoError(t, conn.Exec(t.Context(), query))
	}
	open := func(context.Context) (driver.Conn, error) { return conn, nil }
	for limit, want := range map[int][]string{
		1: {"pool 20000"},
		2: {"pool 20000", "pool 00001"},
		6: {"pool 20000", "pool 00001", "pool 00000", "pool 00002", "pool 00003", "pool 00004"},
	} {
		pools, err := market.NewClickHouse(open, schema.Database).Pools(t.Context(), mint, limit)
		require.NoError(t, err)
		var names []string
		for i := range pools {
			names = append(names, pools[i].Pool)
		}
		require.Equal(t, want, names)
	}
}
