package swap

import (
	"encoding/binary"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/clmm"
	"github.com/mintlake/mintlake/testworld/layout"
)

// concentrated puts a CLMM pool at price 1 on a chain, with the same liquidity over the arrays from
// -aside to aside, each of which begins with an initialized tick.
func concentrated(t *testing.T, c *swaptest.Chain, program venue.Key, aside int32) (address venue.Key, mints [2]venue.Key) {
	t.Helper()
	const liquidity, spacing = 1_000_000_000, 10
	address = swaptest.Named("concentrated")
	mints[0], mints[1] = venue.Ordered(coin, swaptest.WrappedSOL)
	pool := layout.CLMMPool{
		Config: swaptest.Named("clmm config"), Mints: mints, Vaults: [2]venue.Key{swaptest.Named("clmm vault 0"), swaptest.Named("clmm vault 1")},
		Observation: swaptest.Named("clmm observation"), Spacing: spacing, Price: layout.U128{0, 1}, Liquidity: layout.U128{liquidity},
	}
	for n := -aside; n <= aside; n++ {
		start := n * layout.CLMMArrayTicks * spacing
		pool.Bitmap[(n+512)/64] |= 1 << uint((n+512)%64)
		key, err := venue.Derive(program, []byte("tick_array"), address[:], binary.BigEndian.AppendUint32(nil, uint32(start)))
		require.NoError(t, err)
		first := layout.CLMMTick{Index: start, Gross: layout.U128{liquidity}}
		switch n {
		case -aside:
			first.Net = layout.U128{liquidity}
		case aside:
			first.Net = layout.U128{^uint64(liquidity) + 1, ^uint64(0)}
		}
		c.Set(key, program, layout.CLMMArray(address, start, spacing, []layout.CLMMTick{first}))
	}
	c.Set(pool.Config, program, layout.CLMMConfig(2500, spacing))
	c.Set(address, program, pool.Bytes())
	return address, mints
}

// TestConcentratedPoolsAreQuoted: as far as the tick arrays reach that are read.
func TestConcentratedPoolsAreQuoted(t *testing.T) {
	c := chain()
	address, mints := concentrated(t, c, clmm.Raydium.Program(), 20)
	f := start(t, Config{Hubs: []venue.Key{}}, c)
	few := f.quoteOK(t, query(mints[0], mints[1], "1000000"))
	require.Equal(t, clmm.Raydium.Name(), few.Route[0].Venue)
	require.Equal(t, address.String(), few.Route[0].Pool)
	require.Equal(t, "996505", few.AmountOut, "997,500 without the fee, by 1,000,000,000 to 1,000,997,500")
	f.refused(t, http.MethodGet, query(mints[0], mints[1], "1000000000"), "", http.StatusNotFound, "farther from the price")
	_, body := f.do(t, http.MethodGet, query(mints[0], mints[1], "1000000000"), "")
	require.Contains(t, string(body), string(venue.ErrBeyond))
}

// TestForksAreNotQuotedUnproved: only swaps on the chain can prove them.
func TestForksAreNotQuotedUnproved(t *testing.T) {
	c := chain()
	_, mints := concentrated(t, c, clmm.Byreal.Program(), 2)
	f := start(t, Config{Hubs: []venue.Key{}}, c)
	f.refused(t, http.MethodGet, query(mints[0], mints[1], "1000000"), "", http.StatusNotFound, "no run of its program proves it")
}
