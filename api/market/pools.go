package market

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// mostPools is how many pools of a mint a query handles as one set. SOL has millions, and to handle
// them would take more memory than publicBounds allows.
const mostPools = 20_000

const (
	countPools = `SELECT count() FROM (SELECT 1 FROM {db}.pools_raw WHERE mint_a = {mint:String} OR mint_b = {mint:String} LIMIT {most:UInt32})`

	// {candidates} is empty, or bounds the pools that are looked at: candidatePools.
	selectPools = `WITH (SELECT max(until) FROM {db}.daily_volumes_raw) AS latest,
		held AS (SELECT * FROM {db}.pools WHERE (mint_a = {mint:String} OR mint_b = {mint:String}) {candidates})
		SELECT pool, venue, mint_a, mint_b, reserve_a, reserve_b, created_at, volume, trades, lp_mint FROM held LEFT JOIN (
			SELECT pool, mint_a, mint_b, toFloat64(sumOrNullIf(volume_usd, hours.trades > unpriced)) AS volume, sum(hours.trades) AS trades FROM {db}.pool_volume_1h_raw AS hours FINAL
			WHERE pool IN (SELECT pool FROM held) AND bucket > latest - INTERVAL 24 HOUR GROUP BY pool, mint_a, mint_b
		) AS traded USING (pool, mint_a, mint_b) ORDER BY volume DESC NULLS LAST, pool LIMIT {limit:UInt32}`

	// candidatePools has the limit pools with the greatest volumes, and the first 2 * limit pools
	// by address. The answer has pools without a volume last, by address. If fewer than limit pools
	// have a volume, more than limit of these first pools have none: enough to fill the answer.
	candidatePools = `AND pool IN (
			SELECT pool FROM {db}.pool_volume_1h_raw AS active FINAL WHERE (mint_a = {mint:String} OR mint_b = {mint:String}) AND bucket > latest - INTERVAL 24 HOUR
			GROUP BY pool, mint_a, mint_b HAVING sum(active.trades) > sum(unpriced) ORDER BY sum(volume_usd) DESC, pool LIMIT {limit:UInt32}
			UNION ALL
			SELECT pool FROM (SELECT DISTINCT pool FROM {db}.pools_raw WHERE mint_a = {mint:String} OR mint_b = {mint:String} ORDER BY pool LIMIT 2 * {limit:UInt32}))`
)

// Pools implements Reader.
func (c *ClickHouse) Pools(ctx context.Context, mint pubkey.Key, limit int) ([]Pool, error) {
	args := []any{
		clickhouse.Named("mint", mint.String()), clickhouse.Named("limit", limit),
		clickhouse.Named("most", mostPools+1),
	}
	var count uint64
	if err := read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&count) }, strings.ReplaceAll(countPools, "{db}", c.database), args...); err != nil {
		return nil, err
	}
	candidates := ""
	if count > mostPools {
		candidates = candidatePools
	}
	query := strings.ReplaceAll(strings.ReplaceAll(selectPools, "{candidates}", candidates), "{db}", c.database)
	pools := []Pool{}
	err := read(ctx, c.public, func(rows driver.Rows) error {
		var (
			pool    Pool
			a, b    *uint64
			created *time.Time
			lpMint  string
		)
		if err := rows.Scan(&pool.Pool, &pool.Venue, &pool.MintA, &pool.MintB, &a, &b, &created, &pool.DailyVolumeUSD, &pool.Trades, &lpMint); err != nil {
			return err
		}
		pool.ReserveA, pool.ReserveB, pool.LPMint = decimal(a), decimal(b), given(lpMint)
		if created != nil {
			ms := created.UnixMilli()
			pool.CreatedAt = &ms
		}
		pools = append(pools, pool)
		return nil
	}, query, args...)
	return pools, err
}

// decimal returns n in decimal digits; nil if n is nil.
func decimal(n *uint64) *string {
	if n == nil {
		return nil
	}
	text := strconv.FormatUint(*n, 10)
	return &text
}
