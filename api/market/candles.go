package market

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Candle is what was traded of a mint in one interval of block time. Prices are null if no leg of
// the interval has one.
type Candle struct {
	Time      int64    `json:"time"` // start, Unix seconds
	Open      *float64 `json:"open"`
	High      *float64 `json:"high"`
	Low       *float64 `json:"low"`
	Close     *float64 `json:"close"`
	VolumeUSD float64  `json:"volume_usd"`
	Trades    uint64   `json:"trades"`
	// Traders is the number of distinct traders; nil if it is not kept for this interval.
	Traders *uint64 `json:"traders"`
}

// Unit is what the prices of candles are in.
type Unit string

// Units.
const (
	// USD is US dollars for a whole token.
	USD Unit = "usd"
	// Quote is whole tokens of the pool's other mint for a whole token.
	Quote Unit = "quote"
)

// CandleQuestion asks for the candles of the intervals that begin in [From, To), at most Limit of
// them.
type CandleQuestion struct {
	Mint     pubkey.Key
	Interval Interval
	From, To time.Time
	Limit    int
	// Pool is the pool whose trades count. If it is nil, the trades of all pools count for prices
	// in USD. Prices in the quote token are always of one pool: then nil means the pool with the
	// highest volume in 24 hours.
	Pool *pubkey.Key
	In   Unit
}

// Candles are the answer to a CandleQuestion.
type Candles struct {
	// Pool is the pool whose trades count; nil: those of all pools do. QuoteMint is its other mint.
	Pool, QuoteMint *string
	Candles         []Candle
}

// Interval is the length of a candle.
type Interval string

// Intervals.
const (
	Second      Interval = "1s"
	Minute      Interval = "1m"
	FiveMinutes Interval = "5m"
	QuarterHour Interval = "15m"
	Hour        Interval = "1h"
	FourHours   Interval = "4h"
	Day         Interval = "1d"
	Week        Interval = "1w"

	// secondsReach is how far back candles of a second go.
	secondsReach = time.Hour
)

// Intervals returns all intervals, the shortest first.
func Intervals() []Interval {
	return []Interval{Second, Minute, FiveMinutes, QuarterHour, Hour, FourHours, Day, Week}
}

// ParseInterval reads the name of an interval.
func ParseInterval(text string) (Interval, error) {
	if i := Interval(text); slices.Contains(Intervals(), i) {
		return i, nil
	}
	names := make([]string, 0, len(Intervals()))
	for _, i := range Intervals() {
		names = append(names, string(i))
	}
	return "", errors.New("must be " + strings.Join(names, ", "))
}

// start returns the SQL of the start of the interval that a time is in. Weeks begin on Monday, UTC.
func (i Interval) start(column string) string {
	switch i {
	case Week:
		return "toDateTime(toMonday(" + column + "), 'UTC')"
	default:
		return "toStartOfInterval(" + column + ", INTERVAL " + map[Interval]string{
			Second: "1 SECOND", Minute: "1 MINUTE", FiveMinutes: "5 MINUTE", QuarterHour: "15 MINUTE", Hour: "1 HOUR", FourHours: "4 HOUR", Day: "1 DAY",
		}[i] + ")"
	}
}

// length returns the length of the interval.
func (i Interval) length() time.Duration {
	return map[Interval]time.Duration{
		Second: time.Second, Minute: time.Minute, FiveMinutes: 5 * time.Minute, QuarterHour: 15 * time.Minute, Hour: time.Hour, FourHours: 4 * time.Hour,
		Day: 24 * time.Hour, Week: 7 * 24 * time.Hour,
	}[i]
}

// base returns the interval of the table from which the candles of all pools are made, and how many
// rows of that table a candle has at most.
func (i Interval) base() (table Interval, rows int) {
	switch i {
	case FiveMinutes:
		return Minute, 5
	case QuarterHour:
		return Minute, 15
	case FourHours:
		return Hour, 4
	case Week:
		return Day, 7
	default:
		return i, 1
	}
}

// traders returns the SQL of the number of distinct traders of a candle. Hours keep the set of
// traders, so four of them can be merged. Minutes and days keep only its size, so candles of
// several minutes or days have no number.
func (i Interval) traders() string {
	switch i {
	case FourHours:
		return "toNullable(uniqExactMerge(trader_set))"
	case FiveMinutes, QuarterHour, Week:
		return "CAST(NULL, 'Nullable(UInt64)')"
	default:
		return "toNullable(any(traders))"
	}
}
