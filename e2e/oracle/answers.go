package oracle

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// token is what the tests read of a token of GET /tokens?market=true.
type token struct {
	Mint        string   `json:"mint"`
	Decimals    int      `json:"decimals"`
	Supply      *string  `json:"supply"`
	Daily       *float64 `json:"daily_volume_usd"`
	FirstSeenAt *int64   `json:"first_seen_at"`
	LastSeenAt  *int64   `json:"last_seen_at"`
	Launchpad   *string  `json:"launchpad"`
	Creator     *string  `json:"creator"`
	GraduatedAt *int64   `json:"graduated_at"`
	Market      *struct {
		Price       *float64 `json:"price_usd"`
		PriceAt     *int64   `json:"price_at"`
		Change      *float64 `json:"price_change_24h"`
		Change5m    *float64 `json:"price_change_5m"`
		Change1h    *float64 `json:"price_change_1h"`
		Change6h    *float64 `json:"price_change_6h"`
		Since       *int64   `json:"price_since_24h"`
		Cap         *float64 `json:"market_cap_usd"`
		Withheld    *string  `json:"market_cap_withheld"`
		Diluted     *float64 `json:"fdv_usd"`
		Held        *float64 `json:"held_usd"`
		Liquidity   *float64 `json:"liquidity_usd"`
		LiquidityAt *int64   `json:"liquidity_at"`
		FiveMinutes *float64 `json:"volume_5m_usd"`
		Hour        *float64 `json:"volume_1h_usd"`
		SixHours    *float64 `json:"volume_6h_usd"`
		Day         *float64 `json:"volume_24h_usd"`
		Organic     *float64 `json:"organic_volume_usd"`
		Trades      uint64   `json:"trades_24h"`
		Traders     uint64   `json:"traders_24h"`
		Pools       uint64   `json:"pools"`
		FirstPoolAt *int64   `json:"first_pool_at"`
		AsOf        int64    `json:"as_of"`
	} `json:"market"`
	Windows map[string]windowAnswer `json:"windows"`
}

// page is an answer of GET /tokens.
type page struct {
	Items []token `json:"items"`
	Total int     `json:"total"`
	Next  *string `json:"next_cursor"`
}

// Node asks an API node. It fails the test if the answer is no success.
type Node func(path string) []byte

func (ask Node) read(t testing.TB, path string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(ask(path), into), path)
}

// all are the node's tokens by mint.
func (ask Node) all(t testing.TB) map[string]token {
	t.Helper()
	found := map[string]token{}
	for cursor := ""; ; {
		var p page
		ask.read(t, "/tokens?market=true&windows=true&limit=200&cursor="+cursor, &p)
		for _, item := range p.Items {
			found[item.Mint] = item
		}
		if p.Next == nil {
			require.Len(t, found, p.Total)
			return found
		}
		cursor = *p.Next
	}
}

// Require compares a node's answers with what it computes: each token's market and launchpad, the
// orders and filters by these, and both in the shape of /tokens/v2. Tokens that the registry does
// not list have no row. It returns how many tokens have each figure.
func (o *Oracle) Require(t testing.TB, ask Node, when string) (told map[string]int) {
	t.Helper()
	want, until := o.market()
	tokens := ask.all(t)
	told = map[string]int{}
	for mint, item := range tokens {
		what := fmt.Sprintf("%s: %s", when, mint)
		o.requireLaunch(t, &item, what)
		r := want[mint]
		if r == nil {
			require.Nil(t, item.Market, what)
			require.Nil(t, item.Daily, what)
			continue
		}
		require.NotNil(t, item.Market, what)
		require.Equal(t, until.UnixMilli(), item.Market.AsOf, what)
		if raw, read := o.supplies[mint]; read {
			require.Equal(t, strconv.FormatUint(raw, 10), text(item.Supply), "supply of %s", what)
		}
		r.whole = wholeSupply(t, &item)
		r.require(t, &item, what)
		for name, figure := range r.figures() {
			if figure != nil {
				told[name]++
			}
		}
		for name, figure := range map[string]bool{"first_pool_at": r.firstPool != nil, "price_at": r.priceAt != nil, "launchpad": item.Launchpad != nil, "graduated_at": item.GraduatedAt != nil} {
			if figure {
				told[name]++
			}
		}
	}
	for mint := range want { // those that the registry does not list
		if _, listed := tokens[mint]; !listed {
			delete(want, mint)
		}
	}
	o.requireLaunchpads(t, ask, tokens)
	requireOrders(t, ask, want, when)
	o.requireV2(t, ask, want, tokens, when)
	o.requireTrades(t, ask, tokens, until, when)
	told["changes of liquidity"] = o.requireLiquidity(t, ask, tokens, until, when)
	told["rows"] = len(want)
	return told
}

// wholeSupply is the row's supply in whole tokens; nil: unknown.
func wholeSupply(t testing.TB, item *token) *float64 {
	t.Helper()
	if item.Supply == nil {
		return nil
	}
	raw, err := strconv.ParseFloat(*item.Supply, 64)
	require.NoError(t, err)
	whole := raw / math.Pow10(item.Decimals)
	return &whole
}

func (o *Oracle) requireLaunch(t testing.TB, item *token, what string) {
	t.Helper()
	l := o.launches[item.Mint]
	if l == nil {
		l = new(launched)
	}
	require.Equal(t, []string{l.launchpad, l.creator, shown(l.graduated)}, []string{text(item.Launchpad), text(item.Creator), shownMillis(item.GraduatedAt)}, "launch of %s", what)
}

// requireLaunchpads compares the filter launchpad with the launches of the tokens.
func (o *Oracle) requireLaunchpads(t testing.TB, ask Node, tokens map[string]token) {
	t.Helper()
	for _, name := range []string{"pump", "raydium_launchlab", "meteora_dbc"} {
		launched := 0
		for mint, l := range o.launches {
			if _, listed := tokens[mint]; listed && l.launchpad == name {
				launched++
			}
		}
		var p page
		ask.read(t, "/tokens?limit=1&launchpad="+name, &p)
		require.Equal(t, launched, p.Total, name)
	}
}

// Figures are the names of the figures that Require counts.
func Figures() []string {
	return append(slices.Collect(maps.Keys(new(row).figures())), "price_at", "launchpad", "graduated_at", "changes of liquidity")
}

// figures are those that tokens can be sorted by, by the name of the order. Nil: unknown.
func (r *row) figures() map[string]*float64 {
	f := map[string]*float64{
		"price_usd": r.price, "market_cap_usd": nil, "held_usd": r.heldUSD, "liquidity_usd": r.liquidity, "organic_volume_usd": nil, "trending": nil, "first_pool_at": nil,
		"pools": new(float64(r.pools)),
	}
	f["market_cap_usd"], _ = r.cap(r.mint, 0)
	counts := r.floor(r.mint, 0) == ""
	if counts {
		f["organic_volume_usd"] = r.organic
	}
	if counts && r.organic != nil && r.hour != nil && r.day != nil && *r.day > 0 {
		f["trending"] = new(math.Sqrt(*r.organic*float64(len(r.traders))) * 24 * *r.hour / *r.day)
	}
	for name := range windowLengths() {
		w := r.windows[name]
		if w == nil {
			w = new(window)
		}
		w.figures(f, name, counts)
	}
	if r.firstPool != nil {
		f["first_pool_at"] = new(float64(r.firstPool.UnixMilli()))
	}
	return f
}

// slack is by how much a figure may differ: sums of floats in another order differ in their last
// digits, and a leg by the millionth that it is rounded to.
func (r *row) slack(name string, figure float64) float64 {
	relative := 1e-9 * math.Abs(figure)
	switch {
	case name == "pools" || name == "first_pool_at" || !strings.HasSuffix(name, "_usd") && !strings.HasPrefix(name, "price_") && name != "trending":
		return 0
	case name == "price_usd" || name == "market_cap_usd" || name == "held_usd":
		return relative
	case strings.HasPrefix(name, "price_"):
		return 1e-9 * (math.Abs(figure) + 100)
	case strings.HasPrefix(name, "high_") || strings.HasPrefix(name, "low_"):
		return 3e-4 * math.Abs(figure) // a leg of a cent has its value to a millionth of a dollar
	case name == "trending":
		return 1e-6 * math.Abs(figure)
	default:
		return relative + 3e-6*float64(r.trades)
	}
}

// require compares each figure of a row.
func (r *row) require(t testing.TB, item *token, what string) {
	t.Helper()
	m, figures := item.Market, r.figures()
	for name, got := range map[string]*float64{
		"price_usd": m.Price, "market_cap_usd": m.Cap, "held_usd": m.Held, "liquidity_usd": m.Liquidity, "volume_5m_usd": m.FiveMinutes,
		"volume_1h_usd": m.Hour, "volume_6h_usd": m.SixHours, "volume_24h_usd": m.Day,
	} {
		r.same(t, name, figures[name], got, what)
	}
	r.same(t, "organic_volume_usd", r.organic, m.Organic, what)
	for name, got := range map[string]*float64{"5m": m.Change5m, "1h": m.Change1h, "6h": m.Change6h, "24h": m.Change} {
		r.same(t, "price_change_"+name, r.windows[name].change, got, what)
	}
	_, why := r.cap(r.mint, 0)
	require.Equal(t, []string{why, shown(r.windows["24h"].since)}, []string{text(m.Withheld), shownMillis(m.Since)}, what)
	var diluted *float64
	if r.price != nil && r.whole != nil {
		diluted = new(*r.price * *r.whole)
	}
	r.same(t, "market_cap_usd", diluted, m.Diluted, what+", fdv_usd")
	r.requireWindows(t, item.Windows, what)
	r.same(t, "volume_24h_usd", figures["volume_24h_usd"], item.Daily, what+", daily_volume_usd")
	require.Equal(t, []uint64{r.trades, uint64(len(r.traders)), r.pools}, []uint64{m.Trades, m.Traders, m.Pools}, "trades, traders and pools of %s", what)
	require.Equal(t, []string{shown(r.priceAt), shown(r.firstPool), shown(r.liquidAt)},
		[]string{shownMillis(m.PriceAt), shownMillis(m.FirstPoolAt), shownMillis(m.LiquidityAt)}, "times of %s", what)
	if item.FirstSeenAt != nil {
		require.NotNil(t, item.LastSeenAt, what)
		require.GreaterOrEqual(t, *item.LastSeenAt, r.last.UnixMilli(), "a trade is a sight of %s", what)
	}
}

func (r *row) same(t testing.TB, name string, want, got *float64, what string) {
	t.Helper()
	require.Equal(t, want == nil, got == nil, "%s of %s is known to one only", name, what)
	if want != nil {
		require.InDelta(t, *want, *got, r.slack(name, *want), "%s of %s", name, what)
	}
}

// requireOrders compares each order by a figure, and the filter by liquidity.
func requireOrders(t testing.TB, ask Node, want map[string]*row, when string) {
	t.Helper()
	for name := range new(row).figures() {
		var p page
		ask.read(t, "/tokens?limit=200&fields=mint&sort="+name, &p)
		listed := make([]string, 0, len(p.Items))
		for _, item := range p.Items {
			listed = append(listed, item.Mint)
		}
		known := requireOrder(t, want, listed, name, when)
		require.Equal(t, min(200, known), len(listed[:min(len(listed), known)]), "%s: tokens by %s", when, name)
	}
	var amounts []float64
	for _, r := range want {
		if r.liquidity != nil {
			amounts = append(amounts, *r.liquidity)
		}
	}
	if len(amounts) == 0 {
		return
	}
	slices.Sort(amounts)
	least, count := amounts[len(amounts)/2]*(1-1e-6), 0
	for _, amount := range amounts {
		if amount >= least {
			count++
		}
	}
	var p page
	ask.read(t, "/tokens?limit=1&min_liquidity="+strconv.FormatFloat(least, 'f', -1, 64), &p)
	require.Equal(t, count, p.Total, "%s: min_liquidity=%f", when, least)
}

// requireOrder compares a list with the order by a figure, descending and unknown last. Figures
// within the slack of each other may stand either way. It returns how many figures are known.
func requireOrder(t testing.TB, want map[string]*row, listed []string, name, when string) (known int) {
	t.Helper()
	figure := func(mint string) (value, slack float64) {
		r := want[mint]
		if r == nil {
			return math.Inf(-1), 0
		}
		f := r.figures()[name]
		if f == nil || name == "trending" && *f == 0 {
			return math.Inf(-1), 0
		}
		return *f, r.slack(name, *f)
	}
	last, before, place := math.Inf(1), "", map[string]bool{}
	for _, mint := range listed {
		value, slack := figure(mint)
		require.LessOrEqual(t, value, last+slack, "%s: %s by %s", when, mint, name)
		if slack == 0 && value == last {
			require.Less(t, before, mint, "%s: a tie by %s", when, name)
		}
		last, before, place[mint] = value+slack, mint, true
	}
	for mint := range want {
		value, slack := figure(mint)
		if math.IsInf(value, -1) {
			continue
		}
		known++
		if !place[mint] {
			require.LessOrEqual(t, value, last+slack, "%s: %s is missing by %s", when, mint, name)
		}
	}
	return known
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func shown(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.DateTime)
}

func shownMillis(ms *int64) string {
	if ms == nil {
		return "never"
	}
	at := time.UnixMilli(*ms)
	return shown(&at)
}
