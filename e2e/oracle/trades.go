package oracle

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// trade is what the tests read of GET /tokens/{mint}/trades.
type trade struct {
	ID            string   `json:"id"`
	Time          int64    `json:"time"`
	Slot          uint64   `json:"slot"`
	Signature     *string  `json:"signature"`
	Side          string   `json:"side"`
	Amount        string   `json:"amount"`
	QuoteMint     string   `json:"quote_mint"`
	QuoteAmount   string   `json:"quote_amount"`
	Decimals      *uint32  `json:"decimals"`
	QuoteDecimals *uint32  `json:"quote_decimals"`
	Price         *float64 `json:"price"`
	PriceUSD      *float64 `json:"price_usd"`
	ValueUSD      *float64 `json:"value_usd"`
	Estimated     bool     `json:"estimated"`
	Pool          string   `json:"pool"`
	Venue         string   `json:"venue"`
	Trader        string   `json:"trader"`
	Aggregator    *string  `json:"aggregator"`
}

// fewTrades is up to how many mints' trades Require walks through, fewCandles of how many it
// compares the candles.
const (
	fewTrades  = 12
	fewCandles = 3
)

// requireTrades walks through the trades and the candles of some mints, those that trade most
// among them, and of the first also through its trades with each filter.
func (o *Oracle) requireTrades(t testing.TB, ask Node, tokens map[string]token, until time.Time, when string) {
	t.Helper()
	byMint := map[string][]*leg{}
	for _, l := range o.legs {
		for _, mint := range l.mint {
			if _, listed := tokens[mint]; listed {
				byMint[mint] = append(byMint[mint], l)
			}
		}
	}
	var mints []string
	for mint, legs := range byMint {
		slices.SortFunc(legs, func(x, y *leg) int {
			if !x.at.Equal(y.at) {
				return y.at.Compare(x.at)
			}
			return slices.Compare(y.place[:], x.place[:])
		})
		mints = append(mints, mint)
	}
	slices.SortFunc(mints, func(x, y string) int {
		return cmp.Or(len(byMint[y])-len(byMint[x]), strings.Compare(x, y))
	})
	for n, mint := range mints[:min(len(mints), fewTrades)] {
		legs := byMint[mint]
		requireWalk(t, ask, mint, "", legs, when)
		if n < fewCandles {
			requireCandles(t, ask, mint, legs, until, when)
		}
		if n > 0 {
			continue
		}
		middle := legs[len(legs)/2]
		for filter, passes := range map[string]func(l *leg) bool{
			"&pool=" + middle.pool:                    func(l *leg) bool { return l.pool == middle.pool },
			"&trader=" + middle.wallet:                func(l *leg) bool { return l.wallet == middle.wallet },
			"&side=buy":                               func(l *leg) bool { return l.mint[1] == mint },
			"&side=sell&min_value=100":                func(l *leg) bool { return l.mint[0] == mint && l.value != nil && *l.value >= 100 },
			fmt.Sprintf("&from=%d", middle.at.Unix()): func(l *leg) bool { return !l.at.Before(middle.at) },
			fmt.Sprintf("&to=%d", middle.at.Unix()):   func(l *leg) bool { return l.at.Before(middle.at) },
			"&pool=" + mint:                           func(*leg) bool { return false },
			"&pool=" + middle.pool + "&side=buy&to=" + strconv.FormatInt(middle.at.Unix()+1, 10): func(l *leg) bool {
				return l.pool == middle.pool && l.mint[1] == mint && !l.at.After(middle.at)
			},
		} {
			var some []*leg
			for _, l := range legs {
				if passes(l) {
					some = append(some, l)
				}
			}
			requireWalk(t, ask, mint, filter, some, when)
		}
	}
}

// requireWalk reads all pages of a mint's trades and compares them with legs, newest first.
func requireWalk(t testing.TB, ask Node, mint, filter string, legs []*leg, when string) {
	t.Helper()
	limit := max(1, min(200, len(legs)/3+1)) // three pages
	what := fmt.Sprintf("%s: trades of %s%s", when, mint, filter)
	var got []trade
	for next := ""; ; {
		var p struct {
			Trades []trade `json:"trades"`
			Next   *string `json:"next"`
		}
		ask.read(t, fmt.Sprintf("/tokens/%s/trades?limit=%d%s%s", mint, limit, filter, next), &p)
		require.LessOrEqual(t, len(p.Trades), limit, what)
		got = append(got, p.Trades...)
		if p.Next == nil {
			break
		}
		next = "&before=" + *p.Next
	}
	require.Len(t, got, len(legs), what)
	for i := range got {
		if i > 0 {
			require.Less(t, got[i].ID, got[i-1].ID, what)
		}
		got[i].require(t, legs[i], mint, what)
	}
}

// require compares a trade with the leg that it is.
func (g *trade) require(t testing.TB, l *leg, mint, what string) {
	t.Helper()
	mine, other, side := 0, 1, "sell"
	if l.mint[1] == mint {
		mine, other, side = 1, 0, "buy"
	}
	aggregator := text(g.Aggregator)
	require.Equal(t, []any{l.at.UnixMilli(), l.place[0], l.signature, side, strconv.FormatUint(l.amount[mine], 10), l.mint[other], strconv.FormatUint(l.amount[other], 10), l.pool, l.venue, l.wallet, l.aggregator, false},
		[]any{g.Time, g.Slot, text(g.Signature), g.Side, g.Amount, g.QuoteMint, g.QuoteAmount, g.Pool, g.Venue, g.Trader, aggregator, g.Estimated}, what)
	require.Equal(t, []*uint32{l.decimals[mine], l.decimals[other]}, []*uint32{g.Decimals, g.QuoteDecimals}, what)
	require.Equal(t, l.value == nil, g.ValueUSD == nil, "%s: the value of %s is known to one only", what, g.ID)
	if l.value != nil {
		require.InDelta(t, *l.value, *g.ValueUSD, 2e-6+1e-9**l.value, what)
	}
	if l.decimals[mine] == nil || l.amount[mine] == 0 {
		require.Nil(t, g.PriceUSD, what)
		require.Nil(t, g.Price, what)
		return
	}
	whole := float64(l.amount[mine]) / math.Pow10(int(*l.decimals[mine]))
	if l.value != nil {
		require.InDelta(t, *l.value/whole, *g.PriceUSD, (2e-6+1e-9**l.value)/whole, what)
	}
	if l.decimals[other] != nil {
		require.InEpsilon(t, 1+float64(l.amount[other])/math.Pow10(int(*l.decimals[other]))/whole, 1+*g.Price, 1e-9, what)
	}
}
