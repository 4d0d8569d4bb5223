package whirlpool

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/holiman/uint256"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

const vectors = "data/swap-vectors/whirlpool/"

// wide is a number of 128 bits in decimal digits.
type wide arith.U128

func (w *wide) UnmarshalText(text []byte) error {
	n, err := uint256.FromDecimal(string(text))
	if err == nil {
		*w = wide(arith.Narrow(n))
	}
	return err
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	raw, err := os.ReadFile(testkit.Shared(t, vectors+name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into))
}

// plainPool is a pool of plain tokens at the price of a tick.
func plainPool(spacing, tick int32, rate uint32, liquidity arith.U128) *Pool {
	p := &Pool{program: Program, address: swaptest.Named("pool"), state: state{
		spacing: spacing, rate: rate, liquidity: liquidity, price: priceAt(tick), tick: tick,
		mints: [2]venue.Key{swaptest.Named("a"), swaptest.Named("b")},
	}}
	for side, key := range p.state.mints {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
	}
	p.first = p.state.number(tick) - arraysPerSwap + 1
	return p
}

// unitCase is one of the program's own unit tests: a pool without initialized ticks, and a price
// limit at the end of three arrays.
type unitCase struct {
	ID          int    `json:"testId"`
	Spacing     int32  `json:"tickSpacing"`
	Rate        uint32 `json:"feeRate"`
	Liquidity   wide   `json:"liquidity"`
	Tick        int32  `json:"currTickIndex"`
	Amount      uint64 `json:"tradeAmount,string"`
	ExactIn     bool   `json:"amountIsInput"`
	AToB        bool   `json:"aToB"`
	Expectation struct {
		Exception string `json:"exception"`
		A         uint64 `json:"amountA,string"`
		B         uint64 `json:"amountB,string"`
		Liquidity wide   `json:"nextLiquidity"`
		Tick      int32  `json:"nextTickIndex"`
		Price     wide   `json:"nextSqrtPrice"`
	} `json:"expectation"`
}

func TestTheProgramsUnitCases(t *testing.T) {
	for _, name := range []string{"swap_test_cases.json", "swap_test_cases_splash_pool.json"} {
		var cases []unitCase
		readVectors(t, name, &cases)
		require.NotEmpty(t, cases)
		judged := 0
		for i := range cases {
			judgeUnitCase(t, &cases[i])
			judged++
		}
		require.Equal(t, len(cases), judged)
	}
}

func judgeUnitCase(t *testing.T, c *unitCase) {
	t.Helper()
	p := plainPool(c.Spacing, c.Tick, c.Rate, arith.U128(c.Liquidity))
	width := ticksPerArray * c.Spacing
	end := p.state.number(c.Tick)*width - 2*width
	if !c.AToB {
		end += 5*width - 1
	}
	limit := priceAt(min(max(end, minTick), maxTick))
	want := c.Expectation
	if c.Amount == 0 {
		_, err := p.Quote(venue.Order{In: p.state.mints[0], ExactOut: !c.ExactIn})
		require.ErrorIs(t, err, venue.ErrTooSmall)
		require.Equal(t, "ZeroTradableAmount", want.Exception)
		return
	}
	w, in, out, err := both(t, p, c.Amount, !c.ExactIn, c.AToB, limit, 1643027024)
	if want.Exception != "" {
		require.NotEmpty(t, venue.RefusalOf(err), "case %d: %+v", c.ID, c)
		return
	}
	require.NoError(t, err, "case %d: %+v", c.ID, c)
	amounts := [2]uint64{in, out}
	if !c.AToB {
		amounts = [2]uint64{out, in}
	}
	require.Equal(t, [2]uint64{want.A, want.B}, amounts, "case %d: %+v", c.ID, c)
	require.Equal(t, arith.U128(want.Price), w.price, "case %d", c.ID)
	require.Equal(t, arith.U128(want.Liquidity), w.liquidity, "case %d", c.ID)
	require.Equal(t, want.Tick, w.tick, "case %d: %+v", c.ID, c)
}

// both computes a swap by the ladder and step by step, and requires that they agree. It returns the
// ladder's amounts. An order that reaches a limit is filled in part.
func both(t require.TestingT, p *Pool, amount uint64, exactOut, aToB bool, limit arith.U128, now uint64) (w walked, in, out uint64, err error) {
	r := regimeKeep
	if p.oracle != nil {
		r, _ = p.oracle.regimeAt(now)
	}
	l := p.climb(aToB, r, limit)
	got, err := l.swap(amount, exactOut)
	if errors.Is(err, errEnd) {
		got, err = result{price: p.state.price}, nil
		if n := len(l.steps); n > 0 {
			got = result{in: l.steps[n-1].in, out: l.steps[n-1].out, price: l.steps[n-1].to}
		}
	}
	w, wanted := p.walk(amount, exactOut, aToB, limit, now)
	if errors.Is(err, errSteps) {
		return w, 0, 0, err
	}
	require.Equal(t, venue.RefusalOf(wanted), venue.RefusalOf(err), "%v or %v: %+v, %d, %v", wanted, err, p.state, amount, exactOut)
	if err == nil {
		require.Equal(t, [2]uint64{w.in, w.out}, [2]uint64{got.in, got.out}, "the ladder and the steps")
		require.Equal(t, w.price, got.price, "the ladder and the steps")
	}
	return w, got.in, got.out, err
}

// run is a swap_v2 that the program executed or refused, with the pool as a list of ticks.
type run struct {
	Spacing   int32      `json:"tick_spacing"`
	Rate      uint32     `json:"fee_rate"`
	Liquidity wide       `json:"liquidity"`
	Price     wide       `json:"sqrt_price"`
	Tick      int32      `json:"tick_current_index"`
	Ticks     [][2]any   `json:"ticks"`
	Fee       *runOracle `json:"adaptive_fee"`
	Time      uint64     `json:"timestamp,string"`
	AToB      bool       `json:"a_to_b"`
	ExactIn   bool       `json:"exact_in"`
	Amount    uint64     `json:"amount,string"`
	In        uint64     `json:"user_in,string"`
	Out       uint64     `json:"user_out,string"`
	PriceEnd  wide       `json:"sqrt_price_after"`
	TickEnd   int32      `json:"tick_after"`
	Left      wide       `json:"liquidity_after"`
	FeeEnd    *runOracle `json:"adaptive_after"`
	Error     string     `json:"error"`
	Units     uint32     `json:"cu,string"`
}

type runOracle struct {
	Filter      uint16 `json:"filter_period"`
	Decay       uint16 `json:"decay_period"`
	Reduction   uint16 `json:"reduction_factor"`
	Control     uint32 `json:"adaptive_fee_control_factor"`
	Most        uint32 `json:"max_volatility_accumulator"`
	Group       uint16 `json:"tick_group_size"`
	Major       uint16 `json:"major_swap_threshold_ticks"`
	Updated     uint64 `json:"last_reference_update_timestamp,string"`
	MajorAt     uint64 `json:"last_major_swap_timestamp,string"`
	Volatility  uint32 `json:"volatility_reference"`
	Reference   int32  `json:"tick_group_index_reference"`
	Accumulator uint32 `json:"volatility_accumulator"`
}

func (v *run) pool(t *testing.T) *Pool {
	t.Helper()
	p := plainPool(v.Spacing, v.Tick, v.Rate, arith.U128(v.Liquidity))
	p.state.price = arith.U128(v.Price)
	for i := range p.arrays {
		number := p.first + int32(i)
		p.arrays[i] = held{number: number, array: &array{pool: p.address, start: number * ticksPerArray * v.Spacing}}
	}
	for _, pair := range v.Ticks {
		index := int32(pair[0].(float64))
		number := p.state.number(index)
		if i := number - p.first; i >= 0 && int(i) < len(p.arrays) {
			a := p.arrays[i].array
			a.ticks = append(a.ticks, tick{signed(t, pair[1].(string)), uint8((index - a.start) / v.Spacing)})
		}
	}
	if f := v.Fee; f != nil {
		p.oracle = &oracle{
			pool: p.address, filter: f.Filter, decay: f.Decay, reduction: f.Reduction, control: f.Control, most: f.Most, group: f.Group, major: f.Major,
			updated: f.Updated, majorAt: f.MajorAt, volatility: f.Volatility, reference: f.Reference, accumulator: f.Accumulator,
		}
	}
	return p
}

func signed(t *testing.T, digits string) arith.U128 {
	t.Helper()
	negative := digits[0] == '-'
	if negative {
		digits = digits[1:]
	}
	n, err := uint256.FromDecimal(digits)
	require.NoError(t, err)
	if negative {
		return arith.Narrow(n).Negative()
	}
	return arith.Narrow(n)
}

// TestProgramRuns compares with what the program did.
func TestProgramRuns(t *testing.T) {
	var file struct{ Cases []run }
	readVectors(t, "litesvm_whirlpool_immutable.json", &file)
	counts := map[string]int{}
	for i := range file.Cases {
		counts[judgeRun(t, strconv.Itoa(i), &file.Cases[i])]++
	}
	t.Log(counts)
	judged := 0
	for _, n := range counts {
		judged += n
	}
	require.Equal(t, len(file.Cases), judged)
}

func judgeRun(t *testing.T, name string, v *run) string {
	t.Helper()
	p := v.pool(t)
	limit := maxPrice
	if v.AToB {
		limit = minPrice
	}
	w, in, out, err := both(t, p, v.Amount, !v.ExactIn, v.AToB, limit, v.Time)
	if v.Error != "" {
		// The program may run out of compute units, which a quote tells instead.
		if err == nil {
			require.Contains(t, v.Error, "exceeded CUs", "case %s", name)
			return "out of units"
		}
		require.NotEmpty(t, venue.RefusalOf(err), "case %s: %s", name, v.Error)
		return "refused"
	}
	if errors.Is(err, errSteps) {
		return "has more steps than we quote"
	}
	require.NoError(t, err, "case %s", name)
	require.Equal(t, [2]uint64{v.In, v.Out}, [2]uint64{in, out}, "case %s", name)
	require.Equal(t, arith.U128(v.PriceEnd), w.price, "case %s", name)
	require.Equal(t, v.TickEnd, w.tick, "case %s", name)
	require.Equal(t, arith.U128(v.Left), w.liquidity, "case %s", name)
	q, err := p.Quote(venue.Order{In: p.state.mints[map[bool]int{true: 0, false: 1}[v.AToB]], Amount: v.Amount, ExactOut: !v.ExactIn, Clock: venue.Clock{UnixTime: int64(v.Time)}})
	if v.Out > 0 {
		require.NoError(t, err, "case %s", name)
		require.GreaterOrEqual(t, q.ComputeUnits, v.Units, "case %s", name)
	}
	if v.FeeEnd != nil {
		o := w.oracle
		got := *v.FeeEnd
		got.Updated, got.MajorAt, got.Volatility, got.Reference, got.Accumulator = o.updated, o.majorAt, o.volatility, o.reference, o.accumulator
		require.Equal(t, *v.FeeEnd, got, "case %s", name)
	}
	return "equal"
}
