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
	return concentratedOf(t, c, "concentrated", program, aside, coin, swaptest.WrappedSOL)
}

// concentratedOf is concentrated for a pool with a name and two mints.
func concentratedOf(t *testing.T, c *swaptest.Chain, name string, program venue.Key, aside int32, a, b venue.Key) (address venue.Key, mints [2]venue.Key) {
	t.Helper()
	const liquidity, spacing = 1_000_000_000, 10
	address = swaptest.Named(name)
	mints[0], mints[1] = venue.Ordered(a, b)
	pool := layout.CLMMPool{
		Config: swaptest.Named("clmm config"), Mints: mints, Vaults: [2]venue.Key{swaptest.Named(name + " vault 0"), swaptest.Named(name + " vault 1")},
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

// TestTwoCLMMPoolsAreOneInstruction: a route over two of them has no amount in the middle. What is
// in the middle passes through the user's account, which is opened, and closed again for SOL.
func TestTwoCLMMPoolsAreOneInstruction(t *testing.T) {
	for name, middle := range map[string]venue.Key{"another token": swaptest.Named("middle"), "SOL": swaptest.WrappedSOL} {
		t.Run(name, func(t *testing.T) {
			c := chain()
			target := swaptest.Named("target")
			for _, m := range []venue.Key{middle, target} {
				if m != swaptest.WrappedSOL {
					c.Mint(m, swaptest.TokenProgram, 6)
				}
			}
			one, _ := concentratedOf(t, c, "first", clmm.Raydium.Program(), 2, coin, middle)
			two, _ := concentratedOf(t, c, "second", clmm.Raydium.Program(), 2, middle, target)
			f := start(t, Config{Hubs: []venue.Key{middle}}, c)
			r := f.quoteOK(t, query(coin, target, "1000000", fieldUser, wallet.String()))
			require.Len(t, r.Route, 2)
			require.Equal(t, []string{one.String(), two.String()}, []string{r.Route[0].Pool, r.Route[1].Pool})
			require.Equal(t, r.Route[0].AmountOut, r.Route[1].AmountIn)
			require.True(t, r.Routes[0].OneInstruction)
			require.Empty(t, r.Residual)
			between, err := venue.AssociatedAccount(venue.Key(wallet), middle, swaptest.TokenProgram)
			require.NoError(t, err)
			bought, err := venue.AssociatedAccount(venue.Key(wallet), target, swaptest.TokenProgram)
			require.NoError(t, err)
			_, steps := stepsOf(t, r.Txn)
			swap := named(t, steps, "CAMMC 69").accounts
			require.Equal(t, between, swap[8], "swap_router_base_in pays the first swap into it")
			require.Contains(t, swap, bought)
			opened := 0
			for _, s := range steps {
				if s.name == "AToke 1" && s.accounts[1] == between {
					opened++
				}
			}
			require.Equal(t, 1, opened)
			accounts := uint64(2)
			if middle == swaptest.WrappedSOL {
				accounts = 1
				require.Equal(t, between, named(t, steps, "Token 9").accounts[0], "closed again")
			}
			require.Equal(t, accounts*venue.DefaultRent.Of(tokenAccountSize), r.Rent)

			theirs := swaptest.Named("theirs")
			c.Set(theirs, swaptest.TokenProgram, holding(target, second(1), holdingInit))
			r = f.quoteOK(t, query(coin, target, "1000000", fieldUser, wallet.String(), fieldDestination, theirs.String()))
			_, steps = stepsOf(t, r.Txn)
			swap = named(t, steps, "CAMMC 69").accounts
			require.Equal(t, between, swap[8])
			require.Contains(t, swap, theirs)
			require.NotContains(t, swap, bought)
		})
	}
}
