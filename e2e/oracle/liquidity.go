package oracle

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// liquidity is a change of liquidity. The sides are in the order of the mints' texts; of one side,
// the other mint is empty.
type liquidity struct {
	place
	at       time.Time
	pool     string
	mint     [2]string
	amount   [2]uint64
	reserve  *[2]uint64
	added    bool
	lpMint   string
	lpAmount *uint64
	// signature, provider and instruction are as listed.
	signature, provider, instruction string
}

func (l *liquidity) pooled() pooled { return pooled{l.pool, l.mint[0], l.mint[1]} }

// held is what a pool held after a leg or a change.
type held struct {
	place
	at      time.Time
	mint    [2]string
	reserve *[2]uint64
}

// liquidity keeps a change, and that it shows its pool.
func (o *Oracle) liquidity(m *eventspb.LiquidityChange) {
	c := &liquidity{
		place: placeOf(m.GetPosition()), at: time.Unix(m.GetBlockTime(), 0).UTC(), pool: base58.Encode(m.GetPool()), added: m.GetAdded(),
		mint: [2]string{base58.Encode(m.GetMintA()), base58.Encode(m.GetMintB())}, amount: [2]uint64{m.GetAmountA(), m.GetAmountB()},
		lpMint: base58.Encode(m.GetLpMint()), lpAmount: m.LpAmount, signature: base58.Encode(m.GetSignature()), provider: base58.Encode(m.GetProvider()), instruction: m.GetInstruction(),
	}
	if m.ReserveA != nil && m.ReserveB != nil {
		c.reserve = &[2]uint64{m.GetReserveA(), m.GetReserveB()}
	}
	if c.mint[1] != "" && c.mint[0] > c.mint[1] {
		c.mint[0], c.mint[1] = c.mint[1], c.mint[0]
		c.amount[0], c.amount[1] = c.amount[1], c.amount[0]
		if c.reserve != nil {
			c.reserve[0], c.reserve[1] = c.reserve[1], c.reserve[0]
		}
	}
	o.changes = append(o.changes, c)
	if c.mint[1] != "" {
		o.creations[c.pooled()] = append(o.creations[c.pooled()], creation{c.place, c.at, false})
	}
}

// listed is what the tests read of GET /pools/{pool}/liquidity.
type listed struct {
	ID          string  `json:"id"`
	Time        int64   `json:"time"`
	Slot        uint64  `json:"slot"`
	Signature   string  `json:"signature"`
	Kind        string  `json:"kind"`
	MintA       string  `json:"mint_a"`
	MintB       *string `json:"mint_b"`
	AmountA     string  `json:"amount_a"`
	AmountB     string  `json:"amount_b"`
	Provider    string  `json:"provider"`
	LPAmount    *string `json:"lp_amount"`
	Instruction string  `json:"instruction"`
}

// fewPools is of how many pools requireLiquidity reads the changes, and of how many mints the
// hours.
const fewPools = 6

// requireLiquidity walks through the changes of the pools that have most, and compares what pools
// and mints held by hour. It returns how many changes it read.
func (o *Oracle) requireLiquidity(t testing.TB, ask Node, tokens map[string]token, until time.Time, when string) (read int) {
	t.Helper()
	byPool := map[string][]*liquidity{}
	for _, c := range o.changes {
		byPool[c.pool] = append(byPool[c.pool], c)
	}
	var pools []string
	for pool, list := range byPool {
		slices.SortFunc(list, func(x, y *liquidity) int { return slices.Compare(y.place[:], x.place[:]) })
		pools = append(pools, pool)
	}
	slices.SortFunc(pools, func(x, y string) int { return cmp.Or(len(byPool[y])-len(byPool[x]), strings.Compare(x, y)) })
	for _, pool := range pools[:min(len(pools), fewPools)] {
		requireChanges(t, ask, pool, byPool[pool], when)
		o.requireReserves(t, ask, pool, when)
		read += len(byPool[pool])
	}
	mints := 0
	for _, pool := range pools {
		for _, mint := range byPool[pool][0].mint {
			if _, known := tokens[mint]; known && mint != sol && mints < fewPools {
				o.requireHours(t, ask, mint, until, when)
				mints++
			}
		}
	}
	return read
}

// requireChanges reads all pages of a pool.
func requireChanges(t testing.TB, ask Node, pool string, want []*liquidity, when string) {
	t.Helper()
	limit := max(1, min(200, len(want)/3+1))
	what := fmt.Sprintf("%s: liquidity of %s", when, pool)
	var got []listed
	var lpMint string
	for next := ""; ; {
		var p struct {
			LPMint  *string  `json:"lp_mint"`
			Changes []listed `json:"changes"`
			Next    *string  `json:"next"`
		}
		ask.read(t, fmt.Sprintf("/pools/%s/liquidity?limit=%d%s", pool, limit, next), &p)
		got, lpMint = append(got, p.Changes...), text(p.LPMint)
		if p.Next == nil {
			break
		}
		next = "&before=" + *p.Next
	}
	require.Len(t, got, len(want), what)
	named := ""
	for i, g := range got {
		w, kind := want[i], "removed"
		if w.added {
			kind = "added"
		}
		named = max(named, w.lpMint)
		shares := ""
		if w.lpAmount != nil {
			shares = strconv.FormatUint(*w.lpAmount, 10)
		}
		require.Equal(t, []any{w.at.UnixMilli(), w.place[0], w.signature, kind, w.mint[0], w.mint[1], strconv.FormatUint(w.amount[0], 10), strconv.FormatUint(w.amount[1], 10), w.provider, shares, w.instruction},
			[]any{g.Time, g.Slot, g.Signature, g.Kind, g.MintA, text(g.MintB), g.AmountA, g.AmountB, g.Provider, text(g.LPAmount), g.Instruction}, what)
	}
	require.GreaterOrEqual(t, lpMint, named, what)
}

// hourly returns what pools held after the last leg or change of each hour that states it.
func (o *Oracle) hourly(of func(key pooled) bool) map[time.Time]map[pooled]*held {
	hours := map[time.Time]map[pooled]*held{}
	note := func(key pooled, h *held) {
		if h.reserve == nil || key.b == "" || !of(key) {
			return
		}
		hour := h.at.Truncate(time.Hour)
		if hours[hour] == nil {
			hours[hour] = map[pooled]*held{}
		}
		if last := hours[hour][key]; last == nil || last.before(h.place) {
			hours[hour][key] = h
		}
	}
	for _, l := range o.legs {
		note(l.pooled(), &held{l.place, l.at, l.mint, l.reserve})
	}
	for _, c := range o.changes {
		note(c.pooled(), &held{c.place, c.at, c.mint, c.reserve})
	}
	return hours
}

// requireReserves compares the hours of a pool.
func (o *Oracle) requireReserves(t testing.TB, ask Node, pool, when string) {
	t.Helper()
	var p struct {
		Points []struct {
			Time     int64  `json:"time"`
			MintA    string `json:"mint_a"`
			MintB    string `json:"mint_b"`
			ReserveA string `json:"reserve_a"`
			ReserveB string `json:"reserve_b"`
		} `json:"points"`
	}
	ask.read(t, "/pools/"+pool+"/liquidity/history?limit=1000", &p)
	var got, want []string
	for _, point := range p.Points {
		got = append(got, fmt.Sprint(point.Time, point.MintA, point.MintB, " ", point.ReserveA, " ", point.ReserveB))
	}
	for hour, pools := range o.hourly(func(key pooled) bool { return key.pool == pool }) {
		for key, h := range pools {
			first, second := 0, 1
			if h.mint[0] != key.a {
				first, second = 1, 0
			}
			want = append(want, fmt.Sprint(hour.Unix(), key.a, key.b, " ", h.reserve[first], " ", h.reserve[second]))
		}
	}
	slices.Sort(want)
	require.True(t, slices.IsSortedFunc(got, func(x, y string) int { return strings.Compare(x[:10], y[:10]) }), "%s: %s oldest first", when, pool)
	slices.Sort(got)
	require.Equal(t, want, got, "%s: what %s held", when, pool)
}

// requireHours compares the dollars of a mint's pools by hour: each statement holds for its hour
// and the 23 after it.
func (o *Oracle) requireHours(t testing.TB, ask Node, mint string, until time.Time, when string) {
	t.Helper()
	const most = 60
	var p struct {
		Points []struct {
			Time  int64    `json:"time"`
			USD   *float64 `json:"liquidity_usd"`
			Pools int      `json:"pools"`
		} `json:"points"`
	}
	ask.read(t, fmt.Sprintf("/tokens/%s/liquidity/history?limit=%d", mint, most), &p)
	hours := o.hourly(func(key pooled) bool { return (key.a == mint || key.b == mint) && (Anchor(key.a) || Anchor(key.b)) })
	next := 0
	for hour := until.Truncate(time.Hour).Add(-(most - 1) * time.Hour); !hour.After(until); hour = hour.Add(time.Hour) {
		latest, names := map[pooled]*held{}, map[string]bool{}
		for back := 23; back >= 0; back-- {
			for key, h := range hours[hour.Add(-time.Duration(back)*time.Hour)] {
				latest[key], names[key.pool] = h, true
			}
		}
		if len(latest) == 0 {
			continue
		}
		require.Less(t, next, len(p.Points), "%s: hours of %s", when, mint)
		point := p.Points[next]
		next++
		require.Equal(t, []int64{hour.Unix(), int64(len(names))}, []int64{point.Time, int64(point.Pools)}, "%s: hours of %s", when, mint)
		var dollars, lamports float64
		for _, h := range latest {
			for side, name := range h.mint {
				switch {
				case stables[name]:
					dollars += float64(h.reserve[side]) / 1e6
				case name == sol:
					lamports += float64(h.reserve[side])
				}
			}
		}
		if lamports > 0 {
			price := o.priceOfSOL(hour)
			require.Equal(t, price == nil, point.USD == nil, "%s: %s at %s", when, mint, hour)
			if price == nil {
				continue
			}
			dollars += lamports * *price
		}
		require.NotNil(t, point.USD, "%s: %s", when, mint)
		require.InDelta(t, dollars, *point.USD, 1e-6+1e-9*dollars, "%s: %s at %s", when, mint, hour)
	}
	require.Len(t, p.Points, next, "%s: hours of %s", when, mint)
}

// priceOfSOL is the latest price of a lamport in an hour or the 23 before it; nil if there is none.
func (o *Oracle) priceOfSOL(hour time.Time) (price *float64) {
	for _, p := range o.priced {
		if value, known := p.raw[sol]; known && !p.start.Before(hour.Add(-23*time.Hour)) && p.start.Before(hour.Add(time.Hour)) {
			price = &value
		}
	}
	return price
}
