package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// row is a row of an answer by column.
type row map[string]any

func (r row) number(t testing.TB, column string) float64 {
	t.Helper()
	value, ok := r[column].(float64)
	require.True(t, ok, "%s is no number: %v", column, r)
	return value
}

func (r row) text(t testing.TB, column string) string {
	t.Helper()
	value, ok := r[column].(string)
	require.True(t, ok, "%s is no text: %v", column, r)
	return value
}

func total(t testing.TB, rows []row, column string) (all float64) {
	t.Helper()
	for _, r := range rows {
		all += r.number(t, column)
	}
	return all
}

// find returns the only row whose column has the value.
func find(t testing.TB, rows []row, column, value string) row {
	t.Helper()
	at := slices.IndexFunc(rows, func(r row) bool { return r[column] == value })
	require.GreaterOrEqual(t, at, 0, "no row with %s = %s: %v", column, value, rows)
	return rows[at]
}

// rows asks for a query's rows.
func (i *instance) rows(sql string) []row {
	i.t.Helper()
	var all []row
	for _, line := range i.query(strings.TrimSuffix(strings.TrimSpace(sql), ";") + "\nFORMAT JSONEachRow") {
		var r row
		require.NoError(i.t, json.Unmarshal([]byte(line), &r), line)
		all = append(all, r)
	}
	return all
}

// number asks for one number.
func (i *instance) number(sql string) float64 {
	i.t.Helper()
	rows := i.rows("SELECT toFloat64(" + sql + ") AS n")
	require.Len(i.t, rows, 1)
	return rows[0].number(i.t, "n")
}

// analyticsQueries are the queries of docs/analytics.md by the line that asks for them, up to its
// first colon or question mark.
func analyticsQueries(t testing.TB) map[string]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(testkit.Root(t), "docs/analytics.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)\n([^\n]+)\n\n```sql\n(.*?)```").FindAllSubmatch(page, -1)
	require.Equal(t, strings.Count(string(page), "```sql"), len(blocks), "a query without a line that asks for it")
	queries := make(map[string]string)
	for _, block := range blocks {
		for n, query := range strings.Split(string(block[2]), ";\n") {
			name, _, _ := strings.Cut(string(block[1]), "?")
			name, _, _ = strings.Cut(name, ":")
			if n > 0 {
				name = fmt.Sprintf("%s (%d)", name, n+1)
			}
			require.NotContains(t, queries, name)
			queries[name] = query
		}
	}
	return queries
}

// demoPrice is what the demo chain's first pool says that SOL costs: 30,000,000 USDC for 200,000
// SOL (testworld/chain/genesis.go). Trades move it by some percent.
const demoPrice = 150.0

// TestAnalyticsQueriesAnswer holds every query of docs/analytics.md to what is known of the demo
// from elsewhere: the API, other tables, the demo's own prices. A query without a check here fails.
func TestAnalyticsQueriesAnswer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	live := launch(t, dir, append(kafkaFlags(t), "--source", "demo:?past=0&tps=100&tokens=300&seed=3")...)
	begin := time.Now()
	queries := analyticsQueries(t)
	// The pools that were created last are asked for with LIMIT 20; a change takes prices of two
	// minutes.
	for live.number("(SELECT count() FROM mintlake.swaps)") < 1500 || len(live.rows(queries["Which pools were created last"])) < 20 ||
		len(live.rows(queries["Which tokens rose most in the last hour, and how many bought them"])) < 10 {
		require.Less(t, time.Since(begin), hang, live.log())
		time.Sleep(time.Second)
	}
	require.Zero(t, live.stop())

	// Nothing happens any more, so that figures that were asked for one after the other agree. The
	// test is one client.
	up := launch(t, dir, append(kafkaFlags(t), "--source", "none", "--rate-limits-enabled=false")...)
	up.awaitDone()
	up.awaitValued()
	up.query("SYSTEM RELOAD DICTIONARY mintlake.token_names")

	checks := analyticsChecks(up)
	require.GreaterOrEqual(t, len(checks), 20)
	for name := range checks {
		require.Contains(t, queries, name, "the page has no such query")
	}
	for name, query := range queries {
		t.Run(name, func(t *testing.T) {
			check := checks[name]
			require.NotNil(t, check, "no check for this query")
			rows := up.rows(query)
			for _, r := range rows {
				for column := range r {
					require.NotContains(t, column, ".", "a column's name has no dot")
					require.NotContains(t, column, "(", "a column has a name")
				}
			}
			check(t, rows)
			if t.Failed() {
				t.Log(query, rows)
			}
		})
	}
}

func analyticsChecks(up *instance) map[string]func(t *testing.T, rows []row) {
	day := "block_time > (SELECT max(until) FROM mintlake.daily_volumes) - INTERVAL 1 DAY"
	allUSD := up.number("(SELECT sum(usd_value) FROM mintlake.swaps WHERE " + day + ")")
	allLegs := up.number("(SELECT count() FROM mintlake.swaps WHERE " + day + ")")
	// The pages' "today" begins at midnight, which may have been in the run.
	today := "block_time >= toStartOfDay((SELECT max(until) FROM mintlake.daily_volumes))"
	legsToday := up.number("(SELECT count() FROM mintlake.swaps WHERE " + today + ")")
	near := func(t *testing.T, want, got, within float64) {
		t.Helper()
		require.InEpsilon(t, want, got, within)
	}
	return map[string]func(t *testing.T, rows []row){
		"Which tokens traded most in the last 24 hours": func(t *testing.T, rows []row) {
			require.Len(t, rows, 20)
			sol, usdc := find(t, rows, "mint", mintSOL), find(t, rows, "mint", mintUSDC)
			require.Equal(t, []string{"SOL", "USDC"}, []string{sol.text(t, "symbol"), usdc.text(t, "symbol")})
			near(t, demoPrice, sol.number(t, "price_usd"), 0.15)
			near(t, 1, usdc.number(t, "price_usd"), 0.01)
			for _, r := range rows[:5] {
				up.requireAPIVolume(t, r.text(t, "mint"), r.number(t, "volume_usd"))
			}
		},
		"Which tokens rose most in the last hour, and how many bought them": func(t *testing.T, rows []row) {
			require.Greater(t, len(rows), 3)
			for _, r := range rows {
				up.requireAPIHour(t, r)
			}
		},
		"Which venues": func(t *testing.T, rows []row) {
			near(t, allUSD, total(t, rows, "usd"), 1e-6)
			require.InDelta(t, allLegs, total(t, rows, "legs"), 0)
			near(t, 2*allUSD, up.number("(SELECT sum(volume_usd) FROM mintlake.daily_volumes)"), 1e-6)
		},
		"What did SOL cost, hour by hour": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			for _, r := range rows {
				near(t, demoPrice, r.number(t, "close"), 0.15)
				require.GreaterOrEqual(t, r.number(t, "high"), r.number(t, "low"))
			}
			up.requireAPIVolume(t, mintSOL, total(t, rows, "volume_usd"))
		},
		"What are the most traded tokens worth right now, and by which pool": func(t *testing.T, rows []row) {
			require.Len(t, rows, 20)
			sol, usdc := find(t, rows, "mint", mintSOL), find(t, rows, "mint", mintUSDC)
			near(t, demoPrice, sol.number(t, "price_usd"), 0.15)
			near(t, 1, usdc.number(t, "price_usd"), 0.01)
			require.Empty(t, usdc.text(t, "pool"))
			pools := 0
			for _, r := range rows {
				if r["price_usd"] == nil || r["pool"] == "" {
					continue
				}
				pools++
				require.InDelta(t, 1, up.number(fmt.Sprintf("(SELECT count() FROM mintlake.pools WHERE pool = '%s' AND '%s' IN (mint_a, mint_b))", r["pool"], r["mint"])), 0)
			}
			require.GreaterOrEqual(t, pools, 10, "most of them have a price and the pool that it is from")
		},
		"Whose volume looks washed": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.GreaterOrEqual(t, r.number(t, "washed"), 0.0)
				require.LessOrEqual(t, r.number(t, "washed"), 1.0)
				require.Greater(t, r.number(t, "usd"), 10_000.0)
			}
		},
		"Who traded a token today, and what did each gain or lose of it": func(t *testing.T, rows []row) {
			traders := up.number("(SELECT uniqExact(trader) FROM mintlake.swaps WHERE '" + mintSOL + "' IN (mint_in, mint_out) AND " + today + ")")
			require.Len(t, rows, min(20, int(traders)))
			for _, r := range rows {
				near(t, r.number(t, "usd"), (r.number(t, "bought")+r.number(t, "sold"))*demoPrice, 0.15)
				require.InDelta(t, r.number(t, "bought")-r.number(t, "sold"), r.number(t, "net"), 1e-6)
			}
		},
		"Which share of the volume came through aggregators": func(t *testing.T, rows []row) {
			near(t, 1, total(t, rows, "share"), 0.001)
			require.Greater(t, find(t, rows, "through", "direct").number(t, "usd"), 0.0)
		},
		"Through how many pools does a trade go": func(t *testing.T, rows []row) {
			legs := 0.0
			for _, r := range rows {
				legs += r.number(t, "pools") * r.number(t, "trades")
			}
			near(t, legsToday, legs, 0.05)
		},
		"Which pools were created last": func(t *testing.T, rows []row) {
			require.Len(t, rows, 20)
			require.True(t, slices.IsSortedFunc(rows, func(a, b row) int { return strings.Compare(b.text(t, "created_at"), a.text(t, "created_at")) }))
			for _, r := range rows {
				require.NotEmpty(t, r.text(t, "symbol_a")+r.text(t, "symbol_b"))
				require.NotEmpty(t, r.text(t, "creator"))
			}
		},
		"Which pools hold most of a mint": func(t *testing.T, rows []row) {
			require.Len(t, rows, 20)
			require.Equal(t, "USDC", rows[0].text(t, "against"))
			near(t, 200_000, rows[0].number(t, "reserve"), 0.15) // what the demo's first pool holds
		},
		"What did the pools of a mint hold, hour by hour": func(t *testing.T, rows []row) {
			require.Greater(t, len(rows), 3)
			near(t, 200_000, rows[0].number(t, "held"), 0.15) // what the demo's first pool holds
			for _, r := range rows {
				require.InDelta(t, 1, up.number(fmt.Sprintf("(SELECT count() FROM mintlake.pools WHERE pool = '%s' AND '%s' IN (mint_a, mint_b))", r.text(t, "pool"), mintSOL)), 0)
			}
		},
		"How much liquidity did a mint have, hour by hour": func(t *testing.T, rows []row) {
			code, body := up.get("/tokens/" + mintSOL + "/liquidity/history")
			require.Equal(t, http.StatusOK, code, string(body))
			require.Len(t, rows, strings.Count(string(body), `"pools":`))
			last := rows[len(rows)-1]
			require.Greater(t, last.number(t, "liquidity_usd"), 2*0.85*200_000*demoPrice, "the demo's first pool has this alone")
			require.Greater(t, last.number(t, "pools"), 1.0)
		},
		"What did its pools hold in raw amounts": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			most := 0.0
			for _, r := range rows {
				most = max(most, r.number(t, map[bool]string{true: "reserve_a", false: "reserve_b"}[r["mint_a"] == mintSOL]))
			}
			near(t, 200_000e9, most, 0.15) // what the demo's first pool holds
		},
		"Which pools were filled and emptied most often in the last 24 hours": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			for _, r := range rows[:min(3, len(rows))] {
				code, body := up.get("/pools/" + r.text(t, "pool") + "/liquidity?limit=200")
				require.Equal(t, http.StatusOK, code, string(body))
				require.InDelta(t, strings.Count(string(body), `"kind":"added"`), r.number(t, "times_added"), 0)
				require.InDelta(t, strings.Count(string(body), `"kind":"removed"`), r.number(t, "times_removed"), 0)
			}
		},
		"How do two venues price the same pair, minute by minute": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			for _, r := range rows {
				near(t, demoPrice, r.number(t, "price"), 0.15)
			}
		},
		"Which legs could not be valued": func(t *testing.T, rows []row) {
			unvalued := up.number("(SELECT count() FROM mintlake.swaps WHERE usd_value IS NULL AND block_time IS NOT NULL AND " + day + ")")
			if len(rows) < 20 {
				require.InDelta(t, unvalued, total(t, rows, "legs"), 0)
			}
			for _, r := range rows {
				require.False(t, slices.Contains([]any{"SOL", "USDC"}, r["symbol_a"]) && slices.Contains([]any{"SOL", "USDC"}, r["symbol_b"]), "SOL and USDC have prices: %v", r)
			}
		},
		"Of how many legs do two sources agree": func(t *testing.T, rows []row) {
			near(t, legsToday, total(t, rows, "legs"), 0.05)
			for _, r := range rows {
				require.Greater(t, r.number(t, "two_agree"), 0.99)
			}
		},
		"How many tokens were created per hour, and by which program": func(t *testing.T, rows []row) {
			require.InDelta(t, up.number("(SELECT uniqExact(mint) FROM mintlake.token_events WHERE kind = 'initialize_mint')"), total(t, rows, "mints"), 0)
			require.NotEmpty(t, rows)
		},
		"Who can still mint or freeze one of the hundred most traded tokens": func(t *testing.T, rows []row) {
			usdc := find(t, rows, "mint", mintUSDC)
			require.Equal(t, "USDC", usdc.text(t, "symbol"))
			code, body := up.get("/tokens/" + mintUSDC)
			require.Equal(t, http.StatusOK, code)
			require.Contains(t, string(body), usdc.text(t, "mint_authority"))
		},
		"How did a mint's supply change, event by event": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			for _, r := range rows {
				change := r.number(t, "change")
				require.Equal(t, r["kind"] == "burn", change < 0, "%v", r)
				require.Less(t, math.Abs(change), 1e7, "whole USDC: %v", r)
			}
		},
		"Which symbols are shared by most tokens": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			for _, r := range rows {
				require.GreaterOrEqual(t, r.number(t, "tokens"), 2.0)
			}
		},
		"What did the registry know of a mint at a slot, and from where": func(t *testing.T, rows []row) {
			require.Equal(t, "6", find(t, rows, "register_name", "decimals").text(t, "value"))
			require.NotEmpty(t, find(t, rows, "register_name", "mint_authority").text(t, "value"))
			first, last := find(t, rows, "register_name", "first_seen"), find(t, rows, "register_name", "last_seen")
			require.LessOrEqual(t, first.text(t, "value"), last.text(t, "value"))
			require.LessOrEqual(t, first.number(t, "stated_at_slot"), last.number(t, "stated_at_slot"))
		},
		"Is anything missing": func(t *testing.T, rows []row) {
			require.Len(t, rows, 1)
			require.InDelta(t, 0, rows[0].number(t, "missing"), 0)
			require.Empty(t, up.status().Coverage.Gaps)
			require.Greater(t, rows[0].number(t, "ingested"), 20.0)
		},
		"Where the holes are": func(t *testing.T, rows []row) { require.Empty(t, rows) },
		"How many days of trading did each token have this month": func(t *testing.T, rows []row) {
			require.Len(t, rows, 20)
			// two when midnight came in between
			require.Contains(t, []float64{1, 2}, find(t, rows, "mint", mintSOL).number(t, "days"))
			require.Greater(t, find(t, rows, "mint", mintSOL).number(t, "trader_days"), 10.0)
		},
		"Which legs had a transaction": func(t *testing.T, rows []row) {
			require.NotEmpty(t, rows)
			require.InDelta(t, up.number("(SELECT max(slot) FROM mintlake.swaps)"), rows[0].number(t, "slot"), 0)
		},
		"Every view and every column has a comment": func(t *testing.T, rows []row) {
			for _, r := range rows {
				require.NotEmpty(t, r.text(t, "comment"), "a view has a comment: %v", r)
			}
			require.GreaterOrEqual(t, len(rows), 20)
		},
		"Every view and every column has a comment (2)": func(t *testing.T, rows []row) {
			require.GreaterOrEqual(t, len(rows), 20)
		},
	}
}

// requireAPIHour waits until the API has a row's figures of the last hour, as it follows the
// valuation within ten seconds.
func (i *instance) requireAPIHour(t *testing.T, r row) {
	t.Helper()
	figures := map[string]string{
		"change_pct": "price_change", "volume": "volume_usd", "bought": "bought_usd", "sold": "sold_usd", "trades": "trades", "buys": "buys", "sells": "sells",
		"traders": "traders", "buyers": "buyers", "sellers": "sellers", "high": "high_usd", "low": "low_usd",
	}
	differs := func() string {
		code, body := i.get("/tokens/" + r.text(t, "mint") + "?fields=price_usd,windows")
		require.Equal(t, http.StatusOK, code, string(body))
		var token struct {
			Price   *float64                  `json:"price_usd"`
			Windows map[string]map[string]any `json:"windows"`
		}
		require.NoError(t, json.Unmarshal(body, &token), string(body))
		if token.Price == nil || math.Abs(*token.Price/r.number(t, "price_usd")-1) > 1e-12 {
			return "price_usd"
		}
		for column, figure := range figures {
			if said, is := token.Windows["1h"][figure].(float64); !is || math.Abs(said-r.number(t, column)) > 1e-4 {
				return column
			}
		}
		return ""
	}
	for deadline := time.Now().Add(hang); ; time.Sleep(200 * time.Millisecond) {
		column := differs()
		if column == "" {
			return
		}
		require.True(t, time.Now().Before(deadline), "the API has another %s than %v", column, r)
	}
}

// requireAPIVolume waits until daily_volume_usd of GET /tokens/MINT is want: it follows the
// valuation within ten seconds.
func (i *instance) requireAPIVolume(t *testing.T, mint string, want float64) {
	t.Helper()
	var token struct {
		Volume *float64 `json:"daily_volume_usd"`
	}
	for deadline := time.Now().Add(hang); token.Volume == nil || math.Abs(*token.Volume/want-1) > 1e-6; time.Sleep(200 * time.Millisecond) {
		code, body := i.get("/tokens/" + mint)
		require.Equal(t, http.StatusOK, code, string(body))
		require.NoError(t, json.Unmarshal(body, &token), string(body))
		require.True(t, time.Now().Before(deadline), "the API says %s, the query %f", body, want)
	}
}
