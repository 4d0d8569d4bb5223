package market

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// publicBounds limits what the public can make ClickHouse do here. figureBounds is for the daily
// volumes of all mints, which do not wait for the public's turns.
var (
	publicBounds = clickhouse.Bounds{Time: 10 * time.Second, Concurrent: 4, Memory: 512 << 20, Threads: 2}
	figureBounds = clickhouse.Bounds{Time: time.Minute, Concurrent: 1, Memory: 512 << 20, Threads: 2}
)

// ClickHouse implements Reader.
type ClickHouse struct {
	public, figures *clickhouse.Questions
	database        string
}

var _ Reader = (*ClickHouse)(nil)

// NewClickHouse reads from the given database. See clickhouse.Questions for when the connection is
// opened.
func NewClickHouse(open func(ctx context.Context) (driver.Conn, error), database string) *ClickHouse {
	return &ClickHouse{clickhouse.NewQuestions(open, publicBounds), clickhouse.NewQuestions(open, figureBounds), database}
}

// Close closes the connections, if there are any.
func (c *ClickHouse) Close() error { return errors.Join(c.public.Close(), c.figures.Close()) }

// read calls each for every row of the answer.
func read(ctx context.Context, questions *clickhouse.Questions, each func(driver.Rows) error, query string, args ...any) error {
	return questions.Ask(ctx, func(ctx context.Context, conn driver.Conn) error {
		return clickhouse.Each(ctx, conn, each, query, args...)
	})
}

// Generation implements Reader.
func (c *ClickHouse) Generation(ctx context.Context) (generation uint64, err error) {
	err = read(ctx, c.figures, func(rows driver.Rows) error { return rows.Scan(&generation) }, "SELECT max(generation) FROM "+c.database+".daily_volumes_raw")
	return generation, err
}

// Volumes implements Reader.
func (c *ClickHouse) Volumes(ctx context.Context, generation uint64, ranking Ranking, all bool) (list []replica.Volume, of uint64, err error) {
	of = generation
	rank := map[Ranking]string{RankingVolume: "volume_usd", RankingUser: "user_volume_usd", RankingOrganic: "organic_volume_usd"}[ranking]
	err = read(ctx, c.figures, func(rows driver.Rows) error {
		var (
			mint   string
			volume replica.Volume
			number uint64
		)
		m := new(replica.Market)
		if err := rows.Scan(append([]any{
			&mint, &volume.DailyUSD, &volume.RankUSD, &volume.LastTradeAt, &m.PriceUSD, &m.PriceAt, &m.LiquidityUSD, &m.LiquidityAt, &m.Volume5mUSD, &m.Volume1hUSD, &m.Volume6hUSD,
			&m.OrganicUSD, &m.Trades, &m.Traders, &m.Pools, &m.FirstPoolAt, &m.AsOf, &m.HeldUSD, &m.Anchor, &number,
		}, windowTargets(m)...)...); err != nil {
			return err
		}
		volume.Market, m.Volume24hUSD = m, volume.DailyUSD
		if number > of { // a later generation: it has no figures for mints of older rows
			list, of = nil, number
		}
		if number == of {
			list = appendVolume(list, mint, volume)
		}
		return nil
	}, "SELECT mint, toFloat64(volume_usd), toFloat64("+rank+"), last_trade_at, price_usd, price_at, liquidity_usd, liquidity_at,"+
		" toFloat64(volume_5m_usd), toFloat64(volume_1h_usd), toFloat64(volume_6h_usd), toFloat64(organic_volume_usd), trades, traders, pools, first_pool_at, until, held_usd, anchor, generation, "+windowColumns+
		" FROM "+c.database+".daily_volumes_raw FINAL WHERE generation >= "+strconv.FormatUint(generation, 10))
	if err != nil || !all {
		return list, of, err
	}
	err = read(ctx, c.figures, func(rows driver.Rows) error {
		var (
			mint   string
			volume replica.Volume
		)
		if err := rows.Scan(&mint, &volume.LastTradeAt); err != nil {
			return err
		}
		list = appendVolume(list, mint, volume)
		return nil
	}, "SELECT mint, max(last_trade_at) FROM "+c.database+".last_trades_raw GROUP BY mint")
	return list, of, err
}

// appendVolume appends the volume of a mint. It leaves out a text that is no key, which no leg has.
func appendVolume(list []replica.Volume, mint string, volume replica.Volume) []replica.Volume {
	var err error
	if volume.Mint, err = pubkey.Parse(mint); err != nil {
		return list
	}
	return append(list, volume)
}

// Venues implements Reader.
func (c *ClickHouse) Venues(ctx context.Context) (asOf time.Time, venues []Venue, err error) {
	venues = []Venue{}
	err = read(ctx, c.public, func(rows driver.Rows) error {
		var v Venue
		if err := rows.Scan(&asOf, &v.Venue, &v.VolumeUSD, &v.AggregatedUSD, &v.Trades, &v.Unpriced); err != nil {
			return err
		}
		venues = append(venues, v)
		return nil
	}, `WITH (SELECT max(until) FROM `+c.database+`.daily_volumes_raw) AS latest
		SELECT latest, toString(venue) AS name, toFloat64(sum(volume_usd)) AS usd, toFloat64(sumIf(volume_usd, aggregator != '')), sum(trades), sum(unpriced)
		FROM `+c.database+`.venue_volume_1m WHERE bucket > latest - INTERVAL 24 HOUR AND bucket <= latest
		GROUP BY name ORDER BY usd DESC, name`)
	return asOf, venues, err
}
