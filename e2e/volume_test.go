package e2e

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

const (
	mintSOL  = "So11111111111111111111111111111111111111112"
	mintUSDC = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
)

// awaitValued waits until every leg stored is valued.
func (i *instance) awaitValued() {
	i.t.Helper()
	deadline := time.Now().Add(hang)
	for {
		waiting := i.query("SELECT count() FROM (SELECT minute, partition FROM mintlake.swap_minutes_raw GROUP BY minute, partition HAVING max(touched) > max(valued))")
		if waiting[0] == "0" {
			return
		}
		require.True(i.t, time.Now().Before(deadline), "%s minutes are not valued\n%s", waiting[0], i.log())
		time.Sleep(200 * time.Millisecond)
	}
}

// dumpSwaps is every row about swaps that users can see, in a fixed order.
func (i *instance) dumpSwaps() map[string][]string {
	i.t.Helper()
	i.awaitValued()
	tables := map[string][]string{}
	for view, order := range map[string]string{
		"swaps": "position", "routes": "slot, signature, instruction_index", "pools": "pool, mint_a", "prices_1m": "mint, minute", "daily_volumes": "mint",
		"volume_1m": "mint, bucket", "volume_1h": "mint, bucket", "volume_1d": "mint, bucket",
		"pool_volume_1m": "pool, mint_a, bucket", "pool_volume_1h": "pool, mint_a, bucket", "pool_volume_1d": "pool, mint_a, bucket",
		"venue_volume_1m": "bucket, venue, aggregator", "trade_pools_1m": "bucket, aggregator, pools",
	} {
		tables[view] = i.query("SELECT * FROM mintlake." + view + " ORDER BY " + order + " FORMAT TSV")
	}
	return tables
}

// TestVolumesOfRealBlocks: SOL and USDC lead, and the price of SOL is the one that the block's own
// SOL/USDC swaps imply.
func TestVolumesOfRealBlocks(t *testing.T) {
	t.Parallel()
	// The test is one client, and asks until the API has looked for figures.
	up := launch(t, t.TempDir(), append(kafkaFlags(t), "--rate-limits-enabled=false", "--source", "file:"+testkit.Shared(t, "data/blocks"))...)
	up.awaitDone()
	up.awaitValued()
	up.requireMarkets(t)
	up.requireVenues(t)

	var page struct {
		Items []struct {
			Mint   string   `json:"mint"`
			Volume *float64 `json:"daily_volume_usd"`
		} `json:"items"`
	}
	code, body := up.get("/tokens?limit=2")
	require.Equal(t, http.StatusOK, code, string(body))
	require.NoError(t, json.Unmarshal(body, &page))
	require.Len(t, page.Items, 2)
	require.Equal(t, []string{mintSOL, mintUSDC}, []string{page.Items[0].Mint, page.Items[1].Mint})
	require.NotNil(t, page.Items[0].Volume)
	priced := up.query("SELECT mint FROM mintlake.daily_volumes WHERE price_usd > 0 AND NOT anchor ORDER BY volume_usd DESC LIMIT 3")
	require.Len(t, priced, 3)
	up.requireOnePrice(t, append(priced, mintSOL, mintUSDC)...)

	for _, row := range up.query(`SELECT toString(minute), price_usd, implied FROM mintlake.prices_1m INNER JOIN
		(SELECT toStartOfMinute(block_time) AS minute,
			sum(if(mint_in = '` + mintSOL + `', amount_out, amount_in)) * 1000 / sum(if(mint_in = '` + mintSOL + `', amount_in, amount_out)) AS implied
		 FROM mintlake.swaps WHERE (mint_in = '` + mintSOL + `' AND mint_out = '` + mintUSDC + `') OR (mint_in = '` + mintUSDC + `' AND mint_out = '` + mintSOL + `') GROUP BY minute
		) AS own USING (minute) WHERE mint = '` + mintSOL + `' ORDER BY minute FORMAT JSONCompactEachRow`) {
		var values []any
		require.NoError(t, json.Unmarshal([]byte(row), &values))
		price, implied := values[1].(float64), values[2].(float64) // the query's types
		require.InEpsilon(t, implied, price, 0.01, row)
		t.Log(row, strconv.FormatFloat(price/implied-1, 'f', 6, 64))
	}
}

// requireVenues compares GET /venues with what the legs say.
func (i *instance) requireVenues(t *testing.T) {
	t.Helper()
	type venue struct {
		Venue    string  `json:"venue"`
		Volume   float64 `json:"volume_usd"`
		Trades   uint64  `json:"trades"`
		Unpriced uint64  `json:"unpriced"`
	}
	var want []venue
	for _, line := range i.query(`WITH (SELECT max(block_time) FROM mintlake.swaps) AS now
		SELECT toString(venue) AS name, toFloat64(sum(toDecimal128(ifNull(usd_value, 0), 6))) AS usd, count(), countIf(isNull(usd_value))
		FROM mintlake.swaps WHERE block_time > now - INTERVAL 1 DAY GROUP BY name ORDER BY usd DESC, name
		SETTINGS output_format_json_quote_64bit_integers = 0 FORMAT JSONCompactEachRow`) {
		var v venue
		require.NoError(t, json.Unmarshal([]byte(line), &[]any{&v.Venue, &v.Volume, &v.Trades, &v.Unpriced}))
		want = append(want, v)
	}
	var got struct {
		Venues []venue `json:"venues"`
	}
	code, body := i.get("/venues")
	require.Equal(t, http.StatusOK, code, string(body))
	require.NoError(t, json.Unmarshal(body, &got))
	require.NotEmpty(t, want)
	require.Equal(t, want, got.Venues)
}

// marketOf is what a test reads of a token's market.
type marketOf struct {
	Price   *float64 `json:"price_usd"`
	Organic *float64 `json:"organic_volume_usd"`
	Trades  uint64   `json:"trades_24h"`
	AsOf    int64    `json:"as_of"`
}

// requireMarkets waits until the market of the 200 mints that trade most is what their legs say:
// the API looks for figures each ten seconds, and may show those of a part of the legs until then.
func (i *instance) requireMarkets(t *testing.T) {
	t.Helper()
	legs := i.marketsOfLegs(t)
	for deadline := time.Now().Add(hang); ; time.Sleep(time.Second) {
		got := i.markets(t)
		want := map[string]marketOf{}
		for mint := range got {
			if m, traded := legs[mint]; traded {
				want[mint] = m
			}
		}
		if len(got) > 0 && reflect.DeepEqual(want, got) {
			return
		}
		if time.Now().After(deadline) {
			require.NotEmpty(t, got)
			require.Equal(t, want, got)
		}
	}
}

// markets are what the API says of the 200 mints that trade most, all 0 for one without a market.
func (i *instance) markets(t *testing.T) map[string]marketOf {
	t.Helper()
	var page struct {
		Items []struct {
			Mint   string    `json:"mint"`
			Market *marketOf `json:"market"`
		} `json:"items"`
	}
	code, body := i.get("/tokens?limit=200&sort=volume&min_volume=0&fields=mint,market")
	require.Equal(t, http.StatusOK, code, string(body))
	require.NoError(t, json.Unmarshal(body, &page))
	got := map[string]marketOf{}
	for _, item := range page.Items {
		var m marketOf
		if item.Market != nil {
			m = *item.Market
		}
		got[item.Mint] = m
	}
	return got
}

// marketsOfLegs are the markets as the legs in ClickHouse make them.
func (i *instance) marketsOfLegs(t *testing.T) map[string]marketOf {
	t.Helper()
	legs := map[string]marketOf{}
	for _, line := range i.query(`WITH (SELECT max(block_time) FROM mintlake.swaps) AS now
		SELECT mint, price, organic, legs, toUnixTimestamp(now) * 1000 FROM
		(SELECT arrayJoin([mint_in, mint_out]) AS mint, count() AS legs FROM mintlake.swaps WHERE block_time > now - INTERVAL 1 DAY GROUP BY mint) AS l
		LEFT JOIN (SELECT mint, argMax(price_usd, minute) AS price FROM mintlake.prices_1m WHERE isNotNull(price_usd) GROUP BY mint) AS p USING (mint)
		LEFT JOIN (SELECT mint, toFloat64(organic_volume_usd) AS organic FROM mintlake.daily_volumes) AS o USING (mint)
		SETTINGS join_use_nulls = 1, output_format_json_quote_64bit_integers = 0 FORMAT JSONCompactEachRow`) {
		var m marketOf
		var mint string
		require.NoError(t, json.Unmarshal([]byte(line), &[]any{&mint, &m.Price, &m.Organic, &m.Trades, &m.AsOf}))
		legs[mint] = m
	}
	return legs
}
