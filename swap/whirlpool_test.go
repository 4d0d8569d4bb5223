package swap

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/whirlpool"
	"github.com/mintlake/mintlake/testworld/layout"
)

// orca puts a Whirlpool at price 1 on a chain. Its liquidity lies from tick -width to width, in two
// tick arrays, a fixed and a dynamic one. No other arrays exist.
func orca(t *testing.T, c *swaptest.Chain, name string, a, b venue.Key) (address venue.Key, mints [2]venue.Key) {
	t.Helper()
	const liquidity, spacing, place = 1_000_000_000, 8, 10
	address = swaptest.Named(name)
	mints[0], mints[1] = venue.Ordered(a, b)
	pool := layout.Whirlpool{
		Mints: mints, Vaults: [2]venue.Key{swaptest.Named(name + " vault a"), swaptest.Named(name + " vault b")}, Spacing: spacing, Rate: 2500,
		Price: layout.U128{0, 1}, Liquidity: layout.U128{liquidity},
	}
	c.Set(address, whirlpool.Program, pool.Bytes())
	array := func(start int32, data []byte) {
		key, err := venue.Derive(whirlpool.Program, []byte("tick_array"), address[:], []byte(strconv.Itoa(int(start))))
		require.NoError(t, err)
		c.Set(key, whirlpool.Program, data)
	}
	const below = -layout.WhirlpoolArrayTicks * spacing
	low := layout.WhirlpoolTick{Place: layout.WhirlpoolArrayTicks - place, Net: layout.U128{liquidity}, Gross: layout.U128{liquidity}}
	high := layout.WhirlpoolTick{Place: place, Net: layout.U128{^uint64(liquidity) + 1, ^uint64(0)}, Gross: layout.U128{liquidity}}
	array(below, layout.WhirlpoolFixedArray(address, below, []layout.WhirlpoolTick{low}))
	array(0, layout.WhirlpoolDynamicArray(address, 0, []layout.WhirlpoolTick{high}))
	return address, mints
}

// TestWhirlpoolsAreQuoted: in both directions, as far as the three tick arrays reach that a swap
// reads.
func TestWhirlpoolsAreQuoted(t *testing.T) {
	c := chain()
	address, mints := orca(t, c, "orca", coin, swaptest.WrappedSOL)
	f := start(t, Config{Hubs: []venue.Key{}}, c)
	for _, in := range []int{0, 1} {
		few := f.quoteOK(t, query(mints[in], mints[1-in], "1000000"))
		require.Equal(t, whirlpool.Name, few.Route[0].Venue)
		require.Equal(t, address.String(), few.Route[0].Pool)
		require.Equal(t, "996505", few.AmountOut, "997,500 without the fee, by 1,000,000,000 to 1,000,997,500")
		_, body := f.do(t, http.MethodGet, query(mints[in], mints[1-in], "1000000000"), "")
		require.Contains(t, string(body), string(venue.ErrBeyond))
	}
	r := f.quoteOK(t, query(mints[0], mints[1], "1000000", fieldUser, wallet.String()))
	_, steps := instructions(t, r.Txn)
	require.Contains(t, steps, "whirL 43", "swap_v2")
}

// TestTwoWhirlpoolsAreOneInstruction: a route over two of them has no amount in the middle.
func TestTwoWhirlpoolsAreOneInstruction(t *testing.T) {
	c := chain()
	middle := swaptest.Named("middle")
	c.Mint(middle, swaptest.TokenProgram, 6)
	first, _ := orca(t, c, "first", coin, middle)
	second, _ := orca(t, c, "second", middle, swaptest.WrappedSOL)
	f := start(t, Config{Hubs: []venue.Key{middle}}, c)
	r := f.quoteOK(t, query(coin, swaptest.WrappedSOL, "1000000", fieldUser, wallet.String()))
	require.Len(t, r.Route, 2)
	require.Equal(t, []string{first.String(), second.String()}, []string{r.Route[0].Pool, r.Route[1].Pool})
	require.Equal(t, r.Route[0].AmountOut, r.Route[1].AmountIn)
	require.Empty(t, r.Residual)
	_, steps := instructions(t, r.Txn)
	require.Contains(t, steps, "whirL 186", "two_hop_swap_v2")
}
