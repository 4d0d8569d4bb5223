package volume

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/schemas"
)

//go:embed sql/*.sql
var statements embed.FS

// ClickHouse is the Store on a real server, embedded or not.
type ClickHouse struct {
	conn     driver.Conn
	database string
	fixed    []string // placeholders of all statements and their values, for strings.NewReplacer
}

// twapMinutes is the number of minutes over which the price of SOL is averaged.
const twapMinutes = 10

// NewClickHouse returns a store on the tables of database.
func NewClickHouse(conn driver.Conn, database string, cfg Config) *ClickHouse {
	var stables, scales []string
	for _, stable := range cfg.Stables {
		mint, decimals, err := parseStable(stable)
		if err != nil {
			continue // cannot happen after Validate
		}
		stables = append(stables, "'"+mint.String()+"'")
		scales = append(scales, "toUInt64(1"+strings.Repeat("0", decimals)+")")
	}
	list := strings.Join(stables, ", ")
	return &ClickHouse{conn: conn, database: database, fixed: []string{
		"{database}", database, "{sol}", schemas.MintWrappedSOL,
		"IN ({stables})", "IN (" + list + ")", "{stables}", "[" + list + "]", "{stable_scales}", "[" + strings.Join(scales, ", ") + "]",
		"{anchors}", list + ", '" + schemas.MintWrappedSOL + "'",
		"{sol_floor}", strconv.Itoa(cfg.SOLFloorUSD), "{floor}", strconv.Itoa(cfg.FloorUSD), "{twap_minutes}", strconv.Itoa(twapMinutes),
		"{columns}", legColumns,
		"{prices}", "(SELECT mint, minute, raw_price_usd, liquidity_usd FROM " + database + ".prices_1m_raw FINAL WHERE minute IN ({minutes}))",
	}}
}

// legColumns are the columns of swaps_raw that a valuation copies unchanged.
const legColumns = "slot, block_time, transaction_index, instruction_index, inner_instruction_index, batch_index, signature_head, signature_rest, venue, program_id, pool, " +
	"mint_a, mint_b, in_is_a, amount_in, amount_out, decimals_in, decimals_out, trader, agreed, disagreed, aggregator, instruction, stored_on"

// exec runs the statement sql/NAME.sql over the buckets, each of the given length. more are further
// placeholders and their values. Placeholders are replaced twice, because values of the first round
// contain placeholders of the second.
func (c *ClickHouse) exec(ctx context.Context, name string, generation uint64, buckets []time.Time, length time.Duration, more ...string) error {
	text, err := statements.ReadFile("sql/" + name + ".sql")
	if err != nil {
		return fmt.Errorf("read statement: %w", err)
	}
	times := make([]string, len(buckets))
	for i, bucket := range buckets {
		times[i] = moment(bucket)
	}
	from, to := strconv.FormatInt(buckets[0].Unix(), 10), strconv.FormatInt(buckets[len(buckets)-1].Add(length).Unix(), 10)
	list := strings.Join(times, ", ")
	unit := map[time.Duration]string{time.Minute: "toStartOfMinute", time.Hour: "toStartOfHour", 24 * time.Hour: "toStartOfDay"}[length]
	legs := "block_time >= toDateTime(" + from + ", 'UTC') AND block_time < toDateTime(" + to + ", 'UTC') AND " + unit + "(block_time) IN (" + list + ")"
	query := strings.NewReplacer(append(slices.Clone(c.fixed), more...)...).Replace(string(text))
	query = strings.NewReplacer("{legs}", legs, "{minutes}", list, "{targets}", list, "{buckets}", list, "{from}", from, "{to}", to,
		"{generation}", strconv.FormatUint(generation, 10)).Replace(query)
	if err := c.conn.Exec(ctx, query); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func moment(t time.Time) string { return "toDateTime(" + strconv.FormatInt(t.Unix(), 10) + ", 'UTC')" }

// PoolMinutes implements Store.
func (c *ClickHouse) PoolMinutes(ctx context.Context, generation uint64, minutes []time.Time) error {
	return c.exec(ctx, "1_pool_minutes", generation, minutes, time.Minute)
}

// Value implements Store. The statements run in the order of what they need: prices, then the value
// of each leg, then the sums.
func (c *ClickHouse) Value(ctx context.Context, generation uint64, minutes []time.Time) error {
	for _, name := range []string{"2_price_of_sol", "3_prices", "4_values", "5_volume_1m"} {
		if err := c.exec(ctx, name, generation, minutes, time.Minute); err != nil {
			return err
		}
	}
	err := c.exec(ctx, "8_pool_volume", generation, minutes, time.Minute,
		"{interval}", "1m", "{start}", "toStartOfMinute", "{set_column}", "", "{set}", "")
	if err != nil {
		return err
	}
	return c.Venues(ctx, generation, minutes)
}

// Venues implements Store.
func (c *ClickHouse) Venues(ctx context.Context, generation uint64, minutes []time.Time) error {
	if err := c.exec(ctx, "11_trade_pools_1m", generation, minutes, time.Minute); err != nil {
		return err
	}
	return c.exec(ctx, "10_venue_volume_1m", generation, minutes, time.Minute)
}

// WithoutVenues implements Store.
func (c *ClickHouse) WithoutVenues(ctx context.Context, before time.Time, limit int) ([]time.Time, error) {
	var minutes []time.Time
	query := "SELECT arraySort(groupArray(minute)) FROM (SELECT minute FROM " + c.database + ".swap_minutes_raw WHERE minute < " + moment(before) +
		" AND minute NOT IN (SELECT bucket FROM " + c.database + ".venue_volume_1m_raw) GROUP BY minute HAVING max(valued) > 0 ORDER BY minute DESC LIMIT " +
		strconv.Itoa(limit) + ")"
	err := c.conn.QueryRow(ctx, query).Scan(&minutes)
	return minutes, err
}

// Hours implements Store.
func (c *ClickHouse) Hours(ctx context.Context, generation uint64, hours []time.Time) error {
	for _, name := range []string{"6_volume_1h", "12_pool_held_1h"} {
		if err := c.exec(ctx, name, generation, hours, time.Hour); err != nil {
			return err
		}
	}
	return c.exec(ctx, "8_pool_volume", generation, hours, time.Hour,
		"{interval}", "1h", "{start}", "toStartOfHour", "{set_column}", "trader_set, ", "{set}", "uniqExactState(sipHash64(trader)) AS trader_set, ")
}

// Days implements Store.
func (c *ClickHouse) Days(ctx context.Context, generation uint64, days []time.Time) error {
	if err := c.exec(ctx, "7_volume_1d", generation, days, 24*time.Hour); err != nil {
		return err
	}
	return c.exec(ctx, "8_pool_volume_1d", generation, days, 24*time.Hour)
}

// Daily implements Store.
func (c *ClickHouse) Daily(ctx context.Context, generation uint64) error {
	var until time.Time
	if err := c.conn.QueryRow(ctx, "SELECT max(block_time) FROM "+c.database+".swaps_raw").Scan(&until); err != nil {
		return fmt.Errorf("read the highest block time: %w", err)
	}
	return c.exec(ctx, "9_daily_volumes", generation, []time.Time{until}, time.Minute, "{until}", moment(until),
		"{from_5m}", moment(until.Add(-5*time.Minute)), "{from_1h}", moment(until.Add(-time.Hour)),
		"{from_6h}", moment(until.Add(-6*time.Hour)), "{from_24h}", moment(until.Add(-24*time.Hour)))
}

// Begin implements Store. Rows of valuations expire after 30 days, figures do not. If the number
// began again at 1, old figures would win against new ones. So it also reads daily_volumes_raw,
// which has the number of each valuation that was finished.
func (c *ClickHouse) Begin(ctx context.Context) (generation uint64, err error) {
	query := "SELECT max(generation) + 1 FROM (SELECT generation FROM " + c.database + ".valuations UNION ALL SELECT generation FROM " + c.database + ".daily_volumes_raw)"
	if err := c.conn.QueryRow(ctx, query).Scan(&generation); err != nil {
		return 0, fmt.Errorf("read the last valuation: %w", err)
	}
	err = c.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s.valuations (generation, started_at) VALUES (%d, now())", c.database, generation))
	return generation, err
}

// Dirty implements Store.
func (c *ClickHouse) Dirty(ctx context.Context) ([]Minute, error) {
	var minutes []Minute
	err := clickhouse.Each(ctx, c.conn, func(rows driver.Rows) error {
		var (
			minute          time.Time
			partition       int32
			touched, valued int64
		)
		if err := rows.Scan(&minute, &partition, &touched, &valued); err != nil {
			return err
		}
		if len(minutes) == 0 || !minutes[len(minutes)-1].Start.Equal(minute) {
			minutes = append(minutes, Minute{minute, map[int32]int64{}})
		}
		minutes[len(minutes)-1].Touched[partition] = touched
		return nil
	}, "SELECT minute, partition, max(touched) AS t, max(valued) AS v FROM "+c.database+
		".swap_minutes_raw GROUP BY minute, partition HAVING t > v ORDER BY minute, partition")
	return minutes, err
}

// Minutes implements Store.
func (c *ClickHouse) Minutes(ctx context.Context, from, to time.Time) ([]time.Time, error) {
	var minutes []time.Time
	query := "SELECT arraySort(groupArray(minute)) FROM (SELECT DISTINCT minute FROM " + c.database + ".swap_minutes_raw WHERE minute >= " +
		moment(from) + " AND minute <= " + moment(to) + ")"
	err := c.conn.QueryRow(ctx, query).Scan(&minutes)
	return minutes, err
}

func minuteColumns() []clickhouse.Column {
	return []clickhouse.Column{
		{Name: "minute", Type: "DateTime('UTC')"},
		{Name: "partition", Type: "Int32"},
		{Name: "touched", Type: "SimpleAggregateFunction(max, Int64)"},
		{Name: "valued", Type: "SimpleAggregateFunction(max, Int64)"},
	}
}

// Done implements Store.
func (c *ClickHouse) Done(ctx context.Context, minutes []Minute) error {
	return clickhouse.Insert(ctx, c.conn, c.database+".swap_minutes_raw", minuteColumns(), func(rows driver.Batch) error {
		for _, minute := range minutes {
			for partition, offset := range minute.Touched {
				if err := rows.Append(minute.Start, partition, offset, offset); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Retryable implements Store.
func (c *ClickHouse) Retryable(err error) bool { return clickhouse.Retryable(err) }
