package market_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/chtest"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// until is the highest block time of the valuations here.
var until = time.Date(2026, 11, 20, 12, 0, 30, 0, time.UTC)

type tables struct {
	conn   driver.Conn
	reader *market.ClickHouse
}

// TestClickHouse: the tests share tables, which take the longest to make.
func TestClickHouse(t *testing.T) {
	conn, dsn := chtest.Migrated(t)
	reader := market.NewClickHouse(func(ctx context.Context) (driver.Conn, error) { return clickhouse.Open(ctx, chtest.InIndia(dsn)) }, schema.Database)
	defer func() { require.NoError(t, reader.Close()) }()
	for _, test := range []struct {
		name string
		run  func(*testing.T, *tables)
	}{
		{"volumes are of one valuation", volumesAreOfOneValuation},
		{"volumes do not wait for the public", volumesDoNotWaitForThePublic},
		{"venues are of whole minutes", venuesAreOfWholeMinutes},
		{"candles are of hours in UTC", candlesAreOfHoursInUTC},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, &tables{conn, reader}) })
	}
}

func (s *tables) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	require.NoError(t, s.conn.Exec(t.Context(), query, args...))
}

// valued inserts the daily volumes of a valuation.
func (s *tables) valued(t *testing.T, generation int, mints ...pubkey.Key) {
	t.Helper()
	for _, mint := range mints {
		s.exec(t, "INSERT INTO mintlake.daily_volumes_raw (mint, until, volume_usd, trades, generation) VALUES (?, ?, 1, 1, ?)", mint.String(), until, generation)
	}
}

// volumesAreOfOneValuation: the next valuation ends after the node looked for the latest one.
func volumesAreOfOneValuation(t *testing.T, s *tables) {
	left, stays, came := pubkey.Key{1}, pubkey.Key{2}, pubkey.Key{3}
	s.valued(t, 1, left, stays)
	generation, err := s.reader.Generation(t.Context())
	require.NoError(t, err)
	s.valued(t, 2, stays, came)
	list, of, err := s.reader.Volumes(t.Context(), generation, market.RankingVolume, false)
	require.NoError(t, err)
	var mints []pubkey.Key
	for i := range list {
		mints = append(mints, list[i].Mint)
	}
	require.ElementsMatch(t, []pubkey.Key{stays, came}, mints)
	require.EqualValues(t, 2, of)
}

// stuck is a connection on which questions about candles hang, once they are told.
type stuck struct {
	driver.Conn
	asked chan<- struct{}
}

func (s stuck) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	if strings.Contains(query, "volume_1h_raw") {
		s.asked <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return s.Conn.Query(ctx, query, args...)
}

// volumesDoNotWaitForThePublic: requests for candles hold all turns, and more of them wait.
func volumesDoNotWaitForThePublic(t *testing.T, s *tables) {
	s.valued(t, 7, pubkey.Key{1})
	const requests, turns = 20, 4
	errs, asked := make(chan error, requests), make(chan struct{}, requests)
	reader := market.NewClickHouse(func(context.Context) (driver.Conn, error) { return stuck{s.conn, asked}, nil }, schema.Database)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range requests {
		go func() {
			_, err := reader.Candles(ctx, &market.CandleQuestion{Mint: pubkey.Key{1}, Interval: market.Hour, From: until, To: until, Limit: 1, In: market.USD})
			errs <- err
		}()
	}
	for range turns {
		<-asked
	}
	generation, err := reader.Generation(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, generation)
	require.Empty(t, errs, "the requests still wait")
	cancel()
	for range requests {
		require.Error(t, <-errs)
	}
}

// venuesAreOfWholeMinutes: of the last 1,440, that of the valuation included.
func venuesAreOfWholeMinutes(t *testing.T, s *tables) {
	s.valued(t, 1, pubkey.Key{1})
	latest := until.Truncate(time.Minute)
	for _, ago := range []int{0, 1439, 1440} {
		s.exec(t, "INSERT INTO mintlake.venue_volume_1m_raw (bucket, venues, generation) VALUES (?, [('raydium_cpmm', '', 10, 1, 0, 0, 0)], 1)",
			latest.Add(-time.Duration(ago)*time.Minute))
	}
	asOf, venues, err := s.reader.Venues(t.Context())
	require.NoError(t, err)
	require.True(t, asOf.Equal(until), asOf)
	require.Equal(t, []market.Venue{{Venue: "raydium_cpmm", VolumeUSD: 20, Trades: 2}}, venues)
}

// candlesAreOfHoursInUTC: of figures, of the legs of all pools, and of those of one pool.
func candlesAreOfHoursInUTC(t *testing.T, s *tables) {
	mint, other, pool := pubkey.Key{21}, pubkey.Key{22}, pubkey.Key{23}
	s.valued(t, 1, mint)
	hour := until.Truncate(time.Hour)
	for _, bucket := range []time.Time{hour.Add(-time.Hour), hour} {
		s.exec(t, "INSERT INTO mintlake.volume_1h_raw (mint, bucket, trades, generation) VALUES (?, ?, 1, 1)", mint.String(), bucket)
		s.exec(t, "INSERT INTO mintlake.pool_volume_1h_raw (pool, mint_a, mint_b, bucket, trades, generation) VALUES (?, ?, ?, ?, 1, 1)",
			pool.String(), mint.String(), other.String(), bucket)
		s.exec(t, "INSERT INTO mintlake.swaps_raw (slot, block_time, pool, mint_a, mint_b, in_is_a, amount_in, amount_out) VALUES (?, ?, ?, ?, ?, true, 5, 7)",
			bucket.Unix(), bucket.Add(30*time.Second), pool.String(), mint.String(), other.String())
	}
	s.exec(t, "INSERT INTO mintlake.pools_raw (pool, mint_a, mint_b) VALUES (?, ?, ?)", pool.String(), mint.String(), other.String())
	for name, question := range map[string]market.CandleQuestion{
		"figures": {Interval: market.Hour}, "legs": {Interval: market.Second}, "one pool": {Interval: market.Hour, Pool: &pool},
	} {
		question.Mint, question.From, question.To, question.Limit, question.In = mint, hour, hour.Add(time.Hour), 10, market.USD
		got, err := s.reader.Candles(t.Context(), &question)
		require.NoError(t, err)
		require.Len(t, got.Candles, 1, name)
		require.Equal(t, hour.Unix(), time.Unix(got.Candles[0].Time, 0).Truncate(time.Hour).Unix(), name)
	}
}
