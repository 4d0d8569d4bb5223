package oracle

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// candle is what the tests read of a candle.
type candle struct {
	Time      int64    `json:"time"`
	Open      *float64 `json:"open"`
	High      *float64 `json:"high"`
	Low       *float64 `json:"low"`
	Close     *float64 `json:"close"`
	VolumeUSD float64  `json:"volume_usd"`
	Trades    int      `json:"trades"`
	Traders   *int     `json:"traders"`
}

// bucketOf is the start of the bucket that a time is in.
func bucketOf(at time.Time, interval string) time.Time {
	lengths := map[string]time.Duration{
		"1s": time.Second, "1m": time.Minute, "5m": 5 * time.Minute, "15m": 15 * time.Minute, "1h": time.Hour, "4h": 4 * time.Hour, "1d": 24 * time.Hour,
	}
	if interval != "1w" {
		return at.Truncate(lengths[interval])
	}
	day := at.Truncate(24 * time.Hour)
	for day.Weekday() != time.Monday {
		day = day.AddDate(0, 0, -1)
	}
	return day
}

// requireCandles compares the candles of a mint in each interval: of all pools, and of the pool of
// its newest leg in dollars and in the pool's other mint. legs are the mint's, newest first.
func requireCandles(t testing.TB, ask Node, mint string, legs []*leg, until time.Time, when string) {
	t.Helper()
	newest := legs[0].pooled()
	other := newest.a
	if other == mint {
		other = newest.b
	}
	ofPool := slices.DeleteFunc(slices.Clone(legs), func(l *leg) bool { return l.pooled() != newest })
	for _, interval := range []string{"1s", "1m", "5m", "15m", "1h", "4h", "1d", "1w"} {
		since := time.Time{}
		if interval == "1s" {
			since = until.Add(-time.Hour)
		}
		for query, of := range map[string][]*leg{"": legs, "&pool=" + newest.pool: ofPool, "&in=quote&pool=" + newest.pool: ofPool} {
			inQuote := len(query) > 9 && query[:9] == "&in=quote"
			want := candlesOf(of, mint, interval, inQuote)
			if query == "" {
				want = slices.DeleteFunc(want, func(c candle) bool { return c.Time < since.Unix() })
			}
			want = want[max(0, len(want)-1000):]
			var got struct {
				QuoteMint *string  `json:"quote_mint"`
				Candles   []candle `json:"candles"`
			}
			what := fmt.Sprintf("%s: candles of %s by %s%s", when, mint, interval, query)
			ask.read(t, fmt.Sprintf("/tokens/%s/ohlcv?limit=1000&interval=%s%s", mint, interval, query), &got)
			if query != "" {
				require.Equal(t, other, text(got.QuoteMint), what)
			}
			require.Len(t, got.Candles, len(want), what)
			for i := range want {
				if query == "" && (interval == "5m" || interval == "15m" || interval == "1w") {
					want[i].Traders = nil
				}
				want[i].require(t, &got.Candles[i], what)
			}
		}
	}
}

// require compares a candle with an answer.
func (c *candle) require(t testing.TB, got *candle, what string) {
	t.Helper()
	require.Equal(t, []any{c.Time, c.Trades, c.Traders}, []any{got.Time, got.Trades, got.Traders}, what)
	require.InDelta(t, c.VolumeUSD, got.VolumeUSD, 3e-6*float64(c.Trades)+1e-9*c.VolumeUSD, what)
	for i, pair := range [][2]*float64{{c.Open, got.Open}, {c.High, got.High}, {c.Low, got.Low}, {c.Close, got.Close}} {
		require.Equal(t, pair[0] == nil, pair[1] == nil, "%s at %d: price %d is known to one only", what, c.Time, i)
		if pair[0] != nil {
			// A leg of a cent has its value to a millionth of a dollar.
			require.InEpsilon(t, *pair[0], *pair[1], 3e-4, "%s at %d, price %d", what, c.Time, i)
		}
	}
}

// candlesOf makes candles of legs, which are newest first.
func candlesOf(legs []*leg, mint, interval string, inQuote bool) (list []candle) {
	medians := mediansOf(legs, mint, inQuote)
	traders := map[string]bool{}
	for n := len(legs) - 1; n >= 0; n-- {
		l := legs[n]
		start := bucketOf(l.at, interval).Unix()
		if len(list) == 0 || list[len(list)-1].Time != start {
			list = append(list, candle{Time: start})
			traders = map[string]bool{}
		}
		c := &list[len(list)-1]
		c.Trades++
		traders[l.wallet] = true
		c.Traders = new(len(traders))
		if l.value != nil {
			c.VolumeUSD += *l.value
		}
		price, priced := priceOf(l, mint, inQuote)
		if median := medians[l.at.Truncate(time.Minute)]; !priced || price < median/3 || price > median*3 {
			continue
		}
		if c.Open == nil {
			c.Open, c.High, c.Low = new(price), new(price), new(price)
		}
		c.High, c.Low, c.Close = new(max(*c.High, price)), new(min(*c.Low, price)), new(price)
	}
	return list
}

// mediansOf are the lower medians of the prices of each minute.
func mediansOf(legs []*leg, mint string, inQuote bool) map[time.Time]float64 {
	prices := map[time.Time][]float64{}
	for _, l := range legs {
		if price, priced := priceOf(l, mint, inQuote); priced {
			minute := l.at.Truncate(time.Minute)
			prices[minute] = append(prices[minute], price)
		}
	}
	medians := map[time.Time]float64{}
	for minute, list := range prices {
		slices.Sort(list)
		medians[minute] = list[(len(list)+1)/2-1]
	}
	return medians
}

// priceOf is the price that a leg says of a mint.
func priceOf(l *leg, mint string, inQuote bool) (price float64, priced bool) {
	mine, other := 0, 1
	if l.mint[1] == mint {
		mine, other = 1, 0
	}
	if l.amount[mine] == 0 || l.decimals[mine] == nil || l.value != nil && *l.value < 0.01 {
		return 0, false
	}
	whole := float64(l.amount[mine]) / math.Pow10(int(*l.decimals[mine]))
	if !inQuote {
		if l.value == nil {
			return 0, false
		}
		return *l.value / whole, true
	}
	if l.amount[other] == 0 || l.decimals[other] == nil {
		return 0, false
	}
	return float64(l.amount[other]) / math.Pow10(int(*l.decimals[other])) / whole, true
}
