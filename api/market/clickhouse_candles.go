package market

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

// mostLegs bounds the legs from which the candles of one pool are made: they are read one by one.
const mostLegs = 500_000

// mostPoolHours bounds the hours that one question looks at, of those in which a pool traded: two
// years.
const mostPoolHours = 17_520

// Candles implements Reader. Candles of all pools are made from the figures by minute, hour and
// day. Candles of one pool, and candles of seconds, are made from the legs themselves, by the same
// rules.
func (c *ClickHouse) Candles(ctx context.Context, q *CandleQuestion) (answer Candles, err error) {
	answer.Candles = []Candle{}
	switch {
	case q.Pool != nil || q.In == Quote:
		return c.poolCandles(ctx, q)
	case q.Interval == Second:
		from, err := c.lastHour(ctx)
		if err != nil {
			return answer, err
		}
		within := *q
		if from.After(q.From) {
			within.From = from
		}
		// First only the last Limit+60 seconds are read. They are enough for a mint that trades in
		// nearly every second.
		if near := time.Duration(q.Limit+60) * time.Second; near < secondsReach {
			answer.Candles, err = c.ofLegs(ctx, &within, &legs{from: from.Add(secondsReach - near)})
			if err != nil || len(answer.Candles) == q.Limit {
				return answer, err
			}
		}
		answer.Candles, err = c.ofLegs(ctx, &within, &legs{from: from})
		return answer, err
	}
	answer.Candles, err = c.ofFigures(ctx, q)
	return answer, err
}

// lastHour returns the start of the hour that ends with the highest block time of the valuations.
func (c *ClickHouse) lastHour(ctx context.Context) (from time.Time, err error) {
	var until time.Time
	err = read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&until) }, "SELECT max(until) FROM "+c.database+".daily_volumes_raw")
	return until.Add(-secondsReach), err
}

// ofFigures makes candles from the figures of all pools. The query reads the rows of Limit+1
// candles at most. So only the oldest candle may miss rows, and if there are more than Limit
// candles, that one is left out.
func (c *ClickHouse) ofFigures(ctx context.Context, q *CandleQuestion) ([]Candle, error) {
	table, rows := q.Interval.base()
	return c.candles(ctx, "SELECT * FROM (SELECT "+q.Interval.start("bucket")+" AS start, argMinIf(open, bucket, isNotNull(open)), max(high), min(low), argMaxIf(close, bucket, isNotNull(close)),"+
		" toFloat64(sum(volume_usd)), sum(figures.trades), "+q.Interval.traders()+" FROM (SELECT * FROM "+c.database+".volume_"+string(table)+"_raw FINAL"+
		" WHERE mint = {mint:String} AND "+q.Interval.start("bucket")+" >= {from:DateTime('UTC')} AND "+q.Interval.start("bucket")+" < {to:DateTime('UTC')} AND bucket >= {from:DateTime('UTC')}"+
		" ORDER BY bucket DESC LIMIT {rows:UInt32}) AS figures GROUP BY start ORDER BY start DESC LIMIT {limit:UInt32}) ORDER BY start",
		append(named(q), clickhouse.Named("rows", (q.Limit+1)*rows))...)
}

// named returns the arguments that all questions about candles share.
func named(q *CandleQuestion) []any {
	return []any{
		clickhouse.Named("mint", q.Mint.String()), clickhouse.Named("from", q.From), clickhouse.Named("to", q.To), clickhouse.Named("limit", q.Limit),
	}
}

func (c *ClickHouse) candles(ctx context.Context, query string, args ...any) ([]Candle, error) {
	candles := []Candle{}
	err := read(ctx, c.public, func(rows driver.Rows) error {
		var candle Candle
		var at time.Time
		if err := rows.Scan(&at, &candle.Open, &candle.High, &candle.Low, &candle.Close, &candle.VolumeUSD, &candle.Trades, &candle.Traders); err != nil {
			return err
		}
		candle.Time = at.Unix()
		candles = append(candles, candle)
		return nil
	}, query, args...)
	return candles, err
}

// legs says which legs candles are made from.
type legs struct {
	from time.Time
	// pool and quote are the pool of the legs and the pool's other mint; empty: the legs of all
	// pools.
	pool, quote string
}

// candlesOfLegs has the rules of volume/sql/5_volume_1m.sql: a leg has a price if its value is a
// cent or more, and prices that are more than three times above or below the minute's median are
// left out. {price} is the price of a leg.
const candlesOfLegs = `SELECT * FROM (
	SELECT {start} AS start, argMinIf(price, position, kept) AS open, maxIf(price, kept) AS high, minIf(price, kept) AS low, argMaxIf(price, position, kept) AS close,
		toFloat64(sum(value)), count(), toNullable(uniqExact(trader))
	FROM (
		SELECT *, isNotNull(price) AND price >= median / 3 AND price <= median * 3 AS kept
		FROM (
			SELECT *, quantileExactLow(price) OVER (PARTITION BY toStartOfMinute(block_time)) AS median
			FROM (
				SELECT block_time, position, trader, toDecimal128(ifNull(usd_value, 0), 6) AS value, mint_in = {mint:String} AS sold,
					if(sold, amount_in, amount_out) AS amount, if(sold, decimals_in, decimals_out) AS places,
					if(sold, amount_out, amount_in) AS other, if(sold, decimals_out, decimals_in) AS other_places,
					{price} AS price
				FROM {db}.swaps_raw FINAL
				WHERE (mint_in = {mint:String} OR mint_out = {mint:String}) AND block_time >= toStartOfMinute({first:DateTime('UTC')}) AND block_time <= {last:DateTime('UTC')} {only}
			)
		)
	)
	WHERE start >= {from:DateTime('UTC')} AND start < {to:DateTime('UTC')}
	GROUP BY start ORDER BY start DESC LIMIT {limit:UInt32}
) ORDER BY start`

// Prices of a leg; NULL if the leg has none. In the quote token, a leg whose value is unknown has a
// price, too.
const (
	priceInUSD   = `if(value >= 0.01 AND amount > 0, toNullable(toFloat64(value)) * exp10(places) / toFloat64(amount), NULL)`
	priceInQuote = `if((isNull(usd_value) OR value >= 0.01) AND amount > 0 AND other > 0,
		toNullable(toFloat64(other)) / exp10(other_places) * exp10(places) / toFloat64(amount), NULL)`
)

// ofLegs makes candles from the selected legs.
func (c *ClickHouse) ofLegs(ctx context.Context, q *CandleQuestion, selected *legs) ([]Candle, error) {
	first := q.From
	if selected.from.After(first) {
		first = selected.from
	}
	price, only := priceInUSD, ""
	if q.In == Quote {
		price = priceInQuote
	}
	// The legs go on up to the end of the last candle, and of its last minute: a leg's price is
	// compared with the median of its whole minute.
	last := min(q.To.Unix()+max(int64(q.Interval.length().Seconds()), 60), math.MaxUint32)
	args := append(named(q), clickhouse.Named("first", first),
		clickhouse.Named("last", time.Unix(last, 0)))
	if selected.pool != "" {
		only = "AND pool = {pool:String} AND (mint_in = {quote:String} OR mint_out = {quote:String})"
		args = append(args, clickhouse.Named("pool", selected.pool), clickhouse.Named("quote", selected.quote))
	}
	query := strings.NewReplacer("{start}", q.Interval.start("block_time"), "{price}", price, "{only}", only, "{db}", c.database).Replace(candlesOfLegs)
	return c.candles(ctx, query, args...)
}

// poolCandles makes the candles of one pool.
func (c *ClickHouse) poolCandles(ctx context.Context, q *CandleQuestion) (answer Candles, err error) {
	answer.Candles = []Candle{}
	var selected legs
	if q.Pool != nil {
		selected.pool = q.Pool.String()
	} else {
		pools, err := c.Pools(ctx, q.Mint, 1)
		if err != nil || len(pools) == 0 {
			return answer, err
		}
		selected.pool = pools[0].Pool
	}
	mint := clickhouse.Named("mint", q.Mint.String())
	pool := clickhouse.Named("pool", selected.pool)
	err = read(ctx, c.public, func(rows driver.Rows) error { return rows.Scan(&selected.quote) },
		"SELECT if(mint_a = {mint:String}, mint_b, mint_a) AS other FROM "+c.database+".pools_raw FINAL WHERE pool = {pool:String} AND (mint_a = {mint:String} OR mint_b = {mint:String}) ORDER BY other LIMIT 1", mint, pool)
	if err != nil || selected.quote == "" {
		return answer, err
	}
	answer.Pool, answer.QuoteMint = &selected.pool, &selected.quote
	var partial bool
	if selected.from, partial, err = c.reach(ctx, q, &selected); err != nil || selected.from.IsZero() {
		return answer, err
	}
	answer.Candles, err = c.ofLegs(ctx, q, &selected)
	if partial && len(answer.Candles) > 0 && answer.Candles[0].Time <= selected.from.Unix() {
		answer.Candles = answer.Candles[1:]
	}
	return answer, err
}

// reach returns the time from which a pool's legs must be read for Limit candles, but for mostLegs
// legs at most. It is the start of an hour in which the pool traded, and zero if the pool has not
// traded. The newest such hour is always read. partial is true if this start leaves out a part of
// the oldest candle. Candles of less than an hour need no more hours than candles: each of these
// hours has at least one.
func (c *ClickHouse) reach(ctx context.Context, q *CandleQuestion, selected *legs) (from time.Time, partial bool, err error) {
	var (
		trades uint64
		oldest time.Time
		found  int
		full   bool
	)
	args := append(named(q), clickhouse.Named("pool", selected.pool), clickhouse.Named("quote", selected.quote))
	err = read(ctx, c.public, func(rows driver.Rows) error {
		var hour, start time.Time
		var n uint64
		if err := rows.Scan(&hour, &start, &n); err != nil || full {
			return err
		}
		fresh := found == 0 || !start.Equal(oldest)
		trades += n
		if full = found > 0 && (trades > mostLegs || fresh && found == q.Limit); full {
			partial = !fresh
			return nil
		}
		if fresh {
			found++
		}
		from, oldest = hour, start
		return nil
	}, fmt.Sprintf("SELECT bucket, %s, trades FROM %s.pool_volume_1h_raw FINAL WHERE pool = {pool:String} AND (mint_a = {quote:String} OR mint_b = {quote:String})"+
		" AND bucket >= toStartOfHour({from:DateTime('UTC')}) AND bucket < {to:DateTime('UTC')} ORDER BY bucket DESC LIMIT %d", q.Interval.start("bucket"), c.database, mostPoolHours), args...)
	return from, partial, err
}
