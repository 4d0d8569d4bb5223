package chain

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/testworld/layout"
)

// The formula gives what the real program gave, on every vector of exact input that it accepted.
func TestQuoteEqualsRealProgram(t *testing.T) {
	raw, err := os.ReadFile(testkit.Shared(t, "data/swap-vectors/raydium-cpmm/litesvm_raydium_cpmm_2024.json"))
	require.NoError(t, err)
	var file struct {
		Cases []map[string]any `json:"cases"`
	}
	require.NoError(t, json.Unmarshal(raw, &file))
	checked := 0
	for _, c := range file.Cases {
		if c["mode"] != "base_input" || c["error"] != nil {
			continue
		}
		num := func(k string) uint64 {
			n, err := strconv.ParseUint(c[k].(string), 10, 64)
			require.NoError(t, err, k)
			return n
		}
		in, out := "0", "1"
		if !c["zero_for_one"].(bool) {
			in, out = "1", "0"
		}
		reserve := func(side string) uint64 {
			return num("vault_"+side) - num("protocol_fees_"+side) - num("fund_fees_"+side)
		}
		got, fee := QuoteBaseInput(num("amount"), reserve(in), reserve(out), num("trade_fee_rate"))
		require.Equal(t, num("user_out"), got)
		require.Equal(t, num("protocol_fees_"+in+"_after"), num("protocol_fees_"+in)+mulDiv(fee, num("protocol_fee_rate"), cpmmRateDenominator))
		require.Equal(t, num("fund_fees_"+in+"_after"), num("fund_fees_"+in)+mulDiv(fee, num("fund_fee_rate"), cpmmRateDenominator))
		checked++
	}
	require.Greater(t, checked, 50)
}

// A pool never pays out more than it has, its fees are never negative and its product never falls.
func TestPoolsStayConsistent(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	product := map[Key]float64{}
	for range 150 {
		g.Next(nil)
		for _, p := range g.pools {
			r := g.reserves(p)
			switch p.dex.(type) {
			case dammDex: // computed from its liquidity, which never changes
				continue
			case clmmDex, whirlDex, dlmmDex: // their liquidity is another at each price
				continue
			}
			k := float64(r[0]) * float64(r[1])
			require.GreaterOrEqual(t, k, product[p.key]*(1-1e-12), "pool %s", p.key)
			product[p.key] = k
			require.Positive(t, r[0])
			require.Positive(t, r[1])
		}
	}
	require.Greater(t, len(g.pools), 60, "pools are created on the way")
}

// Every mint's supply is the sum of its accounts and of the fees withheld, but for wrapped SOL.
func TestSupplyIsTheSumOfAccounts(t *testing.T) {
	g, err := New(testConfig())
	require.NoError(t, err)
	for range 100 {
		g.Next(nil)
	}
	sum := map[Key]uint64{}
	for _, a := range g.st.accounts {
		if IsTokenAccount(a) {
			sum[layout.MintOf(a.Data)] += layout.Amount(a.Data)
			if w := withheld(a.Data); w != nil {
				sum[layout.MintOf(a.Data)] += binary.LittleEndian.Uint64(w)
			}
		}
	}
	mints := 0
	for k, a := range g.st.accounts {
		supply, _, ok := MintSupply(a)
		if !ok || k == NativeMint || g.isGenesisLP(k) {
			continue
		}
		mints++
		if c := feeConfig(a.Data); c != nil {
			sum[k] += binary.LittleEndian.Uint64(c[layout.FeeWithheldAt:])
		}
		require.Equal(t, supply, sum[k], "mint %s", k)
	}
	require.Greater(t, mints, 500)
}

// isGenesisLP tells the LP mints whose holders lie outside the chain.
func (g *Generator) isGenesisLP(k Key) bool {
	for _, p := range g.pools {
		if p.lp == k && p.table != nil {
			return true
		}
	}
	return false
}
