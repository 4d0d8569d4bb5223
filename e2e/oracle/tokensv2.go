package oracle

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tokenV2 is what the tests read of a token of /tokens/v2. A member that is not known is left out.
type tokenV2 struct {
	ID          string   `json:"id"`
	Price       *float64 `json:"usdPrice"`
	Cap         *float64 `json:"mcap"`
	Liquidity   *float64 `json:"liquidity"`
	Dev         *string  `json:"dev"`
	Launchpad   *string  `json:"launchpad"`
	GraduatedAt *string  `json:"graduatedAt"`
	Score       float64  `json:"organicScore"`
	Label       string   `json:"organicScoreLabel"`
	Diluted     *float64 `json:"fdv"`
	Stats5m     *statsV2 `json:"stats5m"`
	Stats1h     *statsV2 `json:"stats1h"`
	Stats6h     *statsV2 `json:"stats6h"`
	Stats       *statsV2 `json:"stats24h"`
}

// statsV2 are the statistics of one window.
type statsV2 struct {
	Change  *float64 `json:"priceChange"`
	Bought  *float64 `json:"buyVolume"`
	Sold    *float64 `json:"sellVolume"`
	Buys    uint64   `json:"numBuys"`
	Sells   uint64   `json:"numSells"`
	Traders int      `json:"numTraders"`
}

// requireV2 compares the figures and the categories of /tokens/v2: those of docs/api-reference.md,
// "Shapes that people have code for".
func (o *Oracle) requireV2(t testing.TB, ask Node, want map[string]*row, tokens map[string]token, when string) {
	t.Helper()
	mints := make([]string, 0, len(tokens))
	for mint := range tokens {
		mints = append(mints, mint)
	}
	slices.Sort(mints)
	for some := range slices.Chunk(mints, 99) {
		var list []tokenV2
		// With the last comma, a single mint is no text to search.
		ask.read(t, "/tokens/v2/search?query="+strings.Join(some, ",")+",", &list)
		require.Len(t, list, len(some), when)
		for i, item := range list {
			require.Equal(t, some[i], item.ID, when)
			o.requireTokenV2(t, want[item.ID], &item, when+": /tokens/v2: "+item.ID)
		}
	}
	for _, interval := range []string{"5m", "1h", "6h", "24h"} {
		for category, name := range map[string]string{"toptraded": "volume_" + interval + "_usd", "toptrending": "trending", "toporganicscore": "organic_volume_usd"} {
			var list []tokenV2
			ask.read(t, "/tokens/v2/"+category+"/"+interval+"?limit=100", &list)
			listed := make([]string, 0, len(list))
			for _, item := range list {
				listed = append(listed, item.ID)
				r := want[item.ID]
				require.NotNil(t, r, "%s: %s of %s was traded", when, item.ID, category)
				figure := r.figures()[name]
				require.NotNil(t, figure, "%s: %s of %s has a figure", when, item.ID, category)
				require.Positive(t, *figure, "%s: %s of %s was traded", when, item.ID, category)
			}
			traded := 0
			for _, r := range want {
				if f := r.figures()[name]; f != nil && *f > 0 {
					traded++
				}
			}
			requireOrder(t, want, listed, name, when+": "+category)
			require.Len(t, listed, min(100, traded), "%s: %s of %s", when, category, interval)
		}
	}
}

func (o *Oracle) requireTokenV2(t testing.TB, r *row, item *tokenV2, what string) {
	t.Helper()
	l := o.launches[item.ID]
	if l == nil {
		l = new(launched)
	}
	graduated := ""
	if l.graduated != nil {
		graduated = l.graduated.Format("2006-01-02T15:04:05.000Z")
	}
	require.Equal(t, []string{l.launchpad, l.creator, graduated}, []string{text(item.Launchpad), text(item.Dev), text(item.GraduatedAt)}, "launch of %s", what)
	if r == nil {
		require.Nil(t, item.Price, what)
		require.Nil(t, item.Stats, what)
		require.Zero(t, item.Score, what)
		return
	}
	figures := r.figures()
	r.same(t, "price_usd", figures["price_usd"], item.Price, what)
	r.same(t, "market_cap_usd", figures["market_cap_usd"], item.Cap, what)
	r.same(t, "liquidity_usd", figures["liquidity_usd"], item.Liquidity, what)
	for name, stats := range map[string]*statsV2{"5m": item.Stats5m, "1h": item.Stats1h, "6h": item.Stats6h, "24h": item.Stats} {
		require.NotNil(t, stats, what)
		w := r.windows[name]
		require.Equal(t, []int{int(w.buys), int(w.trades - w.buys), len(w.traders)}, []int{int(stats.Buys), int(stats.Sells), stats.Traders}, "%s of %s", name, what)
		r.same(t, "price_change_24h", w.change, stats.Change, what)
		r.same(t, "bought_24h_usd", w.boughtFigure, stats.Bought, what)
		r.same(t, "sold_24h_usd", w.soldFigure, stats.Sold, what)
	}

	score := 0.0
	if r.organic != nil && r.day != nil && *r.day > 0 {
		score = min(100, 100**r.organic / *r.day)
	}
	slack := 1e-9
	if score > 0 {
		slack = 100 * (r.slack("volume_24h_usd", *r.organic) + r.slack("volume_24h_usd", *r.day)) / *r.day
	}
	require.InDelta(t, score, item.Score, slack, "organicScore of %s", what)
	label := "low"
	switch {
	case score >= 70:
		label = "high"
	case score >= 30:
		label = "medium"
	}
	if math.Abs(score-70) > slack && math.Abs(score-30) > slack {
		require.Equal(t, label, item.Label, "organicScoreLabel of %s", what)
	}
}
