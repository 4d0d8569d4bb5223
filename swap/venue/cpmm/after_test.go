package cpmm

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestExactOutOfATaxedToken: the program takes and sends what the Token-2022 fees are added to.
func TestExactOutOfATaxedToken(t *testing.T) {
	c := swaptest.New()
	a, b := swaptest.Named("a"), swaptest.Named("b")
	c.Mint(a, swaptest.Token2022Program, 6, swaptest.TransferFee(100, 1<<40)...)
	c.Mint(b, swaptest.Token2022Program, 6, swaptest.TransferFee(200, 1<<40)...)
	keys := c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{a, b}, Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	p, err := pool(t, c, keys)
	require.NoError(t, err)
	o := order(a, 980_000)
	o.ExactOut = true
	q, err := p.Quote(o)
	require.NoError(t, err)
	require.EqualValues(t, 980_000, q.AmountOut, "what arrives")
	var fees []venue.FeeKind
	for _, f := range q.Fees.List() {
		fees = append(fees, f.Kind)
	}
	require.Equal(t, []venue.FeeKind{venue.FeeTransfer, venue.FeeTransfer, venue.FeePool}, fees)
	in, err := p.Quote(order(a, q.AmountIn))
	require.NoError(t, err)
	require.Equal(t, q.AmountOut, in.AmountOut)
	less, err := p.Quote(order(a, q.AmountIn-2))
	require.NoError(t, err)
	require.Less(t, less.AmountOut, q.AmountOut)

	after, err := p.After(q)
	require.NoError(t, err)
	side, _ := venue.Side(p.Mints(), a)
	require.Equal(t, uint64(1<<40)-1_000_000, after.(*Pool).vaults[1-side], "the fee comes out of what is sent")
	again, err := after.Quote(o)
	require.NoError(t, err)
	require.Greater(t, again.AmountIn, q.AmountIn)

	list, err := p.Instructions(q, q.AmountIn+7, venue.UserAccounts{})
	require.NoError(t, err)
	require.Equal(t, swapBaseOutput[:], list[0].Data[:8])
	require.Equal(t, q.AmountIn+7, binary.LittleEndian.Uint64(list[0].Data[8:]))
	require.EqualValues(t, 980_000, binary.LittleEndian.Uint64(list[0].Data[16:]))
}

func BenchmarkQuote(b *testing.B) {
	c, keys := newPool(b, swaptest.Pool{Amounts: [2]uint64{1 << 40, 1 << 40}, TradeRate: 2500})
	p, err := pool(b, c, keys)
	require.NoError(b, err)
	o := order(keys.Mints[0], 1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		_, _ = p.Quote(o)
	}
}
