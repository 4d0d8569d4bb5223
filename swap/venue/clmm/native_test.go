package clmm

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/arith"
)

// TestTheSourceOnManyPools compares with the program's source of July 2026, which has limit orders,
// dynamic fees and fees on one token, below the level of token transfers.
func TestTheSourceOnManyPools(t *testing.T) {
	var f executed
	load(t, "native_clmm_head_pools_2026-07.json.gz", &f)
	equal, refused, lists := 0, 0, 0
	for i := range f.Cases {
		c := &f.Cases[i]
		require.Equal(t, "swap_internal", c.IX)
		p := f.pool(t, c.State, "", i%2 == 1)
		side := 1
		if c.Args.ZeroForOne {
			side = 0
		}
		r, after, err := p.swapTo(side, c.Args.Amount, !c.Args.BaseIn, number(t, c.Args.Limit), uint64(f.clock(c.State).UnixTime))
		roles := c.Args.Arrays
		if c.Args.Extension {
			roles = append(slices.Clone(roles), "bitmap_extension")
		}
		named := err != nil || c.accepted(t, p, &r, roles, "")
		switch {
		case c.Error == nil:
			require.NoError(t, err, "case %d", c.ID)
			require.True(t, named, "case %d: its arrays suffice", c.ID)
			require.Equal(t, [2]uint64{c.Amount0, c.Amount1}, byToken(&r), "case %d", c.ID)
			c.requireAfter(t, after)
			c.requireAccounts(t, &f, after)
			equal++
		case err != nil:
			require.NotEmpty(t, venue.RefusalOf(err), "case %d: %v", c.ID, err)
			refused++
		default:
			require.False(t, named, "case %d: %s", c.ID, c.Error.Name)
			lists++
		}
	}
	t.Logf("%d swaps equal, %d refusals equal, %d refusals of a list of arrays that our instruction would not have", equal, refused, lists)
	require.Equal(t, len(f.Cases), equal+refused+lists)
}

// byToken returns what a swap moves of token 0 and of token 1.
func byToken(r *result) [2]uint64 {
	if r.side == 0 {
		return [2]uint64{r.in, r.out}
	}
	return [2]uint64{r.out, r.in}
}

// requireAccounts compares the accounts after a case, as far as the file has them: the dynamic fee,
// and what is left of limit orders.
func (c *executedCase) requireAccounts(t testing.TB, f *executed, after *Pool) {
	t.Helper()
	if data := f.Accounts[c.After.Pool]; data != "" {
		want, err := decodeState(decode64(t, data), false)
		require.NoError(t, err)
		require.Equal(t, want.dynamic, after.state.dynamic, "case %d", c.ID)
	}
	for _, hash := range c.After.TickArrays {
		data := f.Accounts[hash]
		if data == "" {
			continue
		}
		want, err := decodeArray(decode64(t, data), after.state.spacing, false)
		require.NoError(t, err)
		i := slices.IndexFunc(after.arrays, func(a held) bool { return a.number == want.number })
		require.Equal(t, want.ticks, after.arrays[i].ticks, "case %d", c.ID)
	}
}

// nativeCase is an order to one pool, with its accounts.
type nativeCase struct {
	Pool       string   `json:"pool_b64"`
	Arrays     []string `json:"tick_arrays_b64"`
	Rate       uint32   `json:"trade_fee_rate,string"`
	Amount     uint64   `json:"amount,string"`
	Limit      string   `json:"sqrt_price_limit_x64"`
	ZeroForOne bool     `json:"zero_for_one"`
	BaseIn     bool     `json:"is_base_input"`
	Time       uint64   `json:"block_timestamp,string"`
	Amount0    uint64   `json:"amount_0,string"`
	Amount1    uint64   `json:"amount_1,string"`
	Price      string   `json:"sqrt_price_x64_after"`
	Liquidity  string   `json:"liquidity_after"`
	Tick       int32    `json:"tick_after"`
	Error      string   `json:"error"`
}

// TestTheSourceOnOnePool is TestTheSourceOnManyPools on a pool of the main network with much
// written into it.
func TestTheSourceOnOnePool(t *testing.T) {
	var f struct{ Cases []nativeCase }
	load(t, "native_clmm_head_2026-07.json.gz", &f)
	equal, refused := 0, 0
	for i, c := range f.Cases {
		p := poolOf(t, decode64(t, c.Pool), c.Arrays, c.Rate)
		side := 1
		if c.ZeroForOne {
			side = 0
		}
		r, after, err := p.swapTo(side, c.Amount, !c.BaseIn, number(t, c.Limit), c.Time)
		if c.Error != "" {
			require.NotEmpty(t, venue.RefusalOf(err), "case %d: %s", i, c.Error)
			refused++
			continue
		}
		require.NoError(t, err, "case %d", i)
		require.Equal(t, [2]uint64{c.Amount0, c.Amount1}, byToken(&r), "case %d", i)
		require.Equal(t, number(t, c.Price), after.state.price, "case %d", i)
		require.Equal(t, number(t, c.Liquidity), after.state.liquidity, "case %d", i)
		require.Equal(t, c.Tick, after.state.tick, "case %d", i)
		equal++
	}
	t.Logf("%d swaps equal, %d refusals equal", equal, refused)
	require.Equal(t, len(f.Cases), equal+refused)
}

// poolOf makes a pool of accounts, with plain mints.
func poolOf(t testing.TB, data []byte, arrays []string, rate uint32) *Pool {
	t.Helper()
	p := &Pool{program: Raydium.program, config: &config{rate: rate}}
	var err error
	p.state, err = decodeState(data, false)
	require.NoError(t, err)
	for side, key := range p.state.mints {
		p.mints[side] = &mint.Mint{Address: key, Program: mint.Token}
	}
	byNumber := map[int32]*array{}
	for _, text := range arrays {
		a, err := decodeArray(decode64(t, text), p.state.spacing, false)
		require.NoError(t, err)
		byNumber[a.number] = a
	}
	require.NoError(t, p.hold(func(number int32) (held, error) { return held{array: byNumber[number]}, nil }))
	return p
}

// mainnet is a pool of the main network before a swap, and the swap.
type mainnet struct {
	Pool   string `json:"pool_b64"`
	Arrays []struct {
		Data string `json:"data_b64"`
	} `json:"tick_arrays"`
	Swap struct {
		Time       int64  `json:"block_time"`
		Amount     uint64 `json:"amount"`
		Limit      string `json:"sqrt_price_limit_x64"`
		BaseIn     bool   `json:"is_base_input"`
		ZeroForOne bool   `json:"zero_for_one"`
		In         uint64 `json:"observed_amount_in"`
		Out        uint64 `json:"observed_amount_out"`
	} `json:"swap"`
}

// mainnetRate is the fee of the pool, as clmm_pool_metadata.json has it.
const mainnetRate = 400

func (m *mainnet) pool(t testing.TB) *Pool {
	arrays := make([]string, len(m.Arrays))
	for i := range m.Arrays {
		arrays[i] = m.Arrays[i].Data
	}
	return poolOf(t, decode64(t, m.Pool), arrays, mainnetRate)
}

func (m *mainnet) side() int {
	if m.Swap.ZeroForOne {
		return 0
	}
	return 1
}

// limitOf returns the price at which a swap of a side ends for a limit as instructions have it.
func limitOf(t testing.TB, text string, side int) arith.U128 {
	if n := number(t, text); !n.IsZero() {
		return n
	}
	return ends[side]
}

// TestMainnetSwaps compares with swaps on the main network.
func TestMainnetSwaps(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testkit.Shared(t, vectors), "swap_*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, name := range files {
		raw, err := os.ReadFile(name)
		require.NoError(t, err)
		var m mainnet
		require.NoError(t, json.Unmarshal(raw, &m))
		r, _, err := m.pool(t).swapTo(m.side(), m.Swap.Amount, !m.Swap.BaseIn, limitOf(t, m.Swap.Limit, m.side()), uint64(m.Swap.Time))
		require.NoError(t, err, name)
		require.Equal(t, [2]uint64{m.Swap.In, m.Swap.Out}, [2]uint64{r.in, r.out}, name)
	}
}

// TestOrdersToMainnetPools compares orders of all sizes, which the program executed on the pools of
// TestMainnetSwaps.
func TestOrdersToMainnetPools(t *testing.T) {
	var f struct {
		Cases []struct {
			Fixture    string `json:"fixture"`
			ZeroForOne bool   `json:"zero_for_one"`
			BaseIn     bool   `json:"is_base_input"`
			Amount     uint64 `json:"amount,string"`
			Limit      string `json:"sqrt_price_limit_x64"`
			Run        struct {
				In    uint64          `json:"user_in,string"`
				Out   uint64          `json:"user_out,string"`
				Price string          `json:"sqrt_price_x64_after"`
				Tick  int32           `json:"tick_after"`
				Error json.RawMessage `json:"error"`
			} `json:"litesvm"`
		}
	}
	load(t, "litesvm_raydium_clmm_acn.json", &f)
	equal, refused := 0, 0
	for i, c := range f.Cases {
		var m mainnet
		load(t, c.Fixture, &m)
		m.Swap.ZeroForOne = c.ZeroForOne
		p := m.pool(t)
		r, after, err := p.swapTo(m.side(), c.Amount, !c.BaseIn, limitOf(t, c.Limit, m.side()), uint64(m.Swap.Time))
		if len(c.Run.Error) > 0 {
			require.True(t, err != nil || r.in == 0 || r.out == 0, "case %d: %s", i, c.Run.Error)
			refused++
			continue
		}
		require.NoError(t, err, "case %d", i)
		require.Equal(t, [2]uint64{c.Run.In, c.Run.Out}, [2]uint64{r.in, r.out}, "case %d", i)
		require.Equal(t, number(t, c.Run.Price), after.state.price, "case %d", i)
		require.Equal(t, c.Run.Tick, after.state.tick, "case %d", i)
		equal++
	}
	t.Logf("%d swaps equal, %d refusals equal", equal, refused)
	require.Equal(t, len(f.Cases), equal+refused)
}

// TestCompactFormsAreEqual holds arrays in their compact form against the whole ones.
func TestCompactFormsAreEqual(t *testing.T) {
	var f executed
	load(t, "native_clmm_head_pools_2026-07.json.gz", &f)
	sizes, count := 0, 0
	for _, text := range f.Accounts {
		data := decode64(t, text)
		compact := Raydium.Shrink(data)
		require.True(t, bytes.Equal(compact, Raydium.Shrink(compact)), "a compact form stays as it is")
		if !has(data, arrayDiscriminator, arraySize) {
			require.Equal(t, data, compact)
			continue
		}
		for _, spacing := range []int32{1, 2, 5, 10, 60, 120} {
			whole, err := decodeArray(data, spacing, false)
			small, same := decodeArray(compact, spacing, false)
			require.Equal(t, err, same)
			require.Equal(t, whole, small)
		}
		sizes, count = sizes+len(compact), count+1
	}
	require.NotZero(t, count)
	require.Less(t, sizes/count, 1500, "bytes of an array")
}
