package cpmm

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/internal/testkit/venuetest"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// After implements venuetest.Pool.
func (p *Pool) After(quote venue.Quote) (venue.Pool, error) {
	side, curve, r, err := p.swap(quote.Order)
	if err != nil {
		return nil, err
	}
	next := *p
	next.vaults[side] += r.AmountIn
	next.vaults[1-side] -= r.AmountOut
	next.state.afterSwap(p.config, r, side, curve.CreatorOnInput)
	return &next, nil
}

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

	after, err := p.(*Pool).After(q)
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

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := &Pool{state: PoolState{
			Mints: [2]venue.Key{swaptest.Named("a"), swaptest.Named("b")}, CreatorFeeOn: byte(rapid.IntRange(0, 2).Draw(t, "creator on")),
			EnableCreatorFee: rapid.Bool().Draw(t, "creator fee"),
		}, config: Config{
			TradeRate: rapid.Uint64Range(0, 100_000).Draw(t, "trade"), ProtocolRate: rapid.Uint64Range(0, 500_000).Draw(t, "protocol"),
			FundRate: rapid.Uint64Range(0, 500_000).Draw(t, "fund"), CreatorRate: rapid.Uint64Range(0, 100_000).Draw(t, "creator"),
		}}
		for side := range 2 {
			p.mints[side] = &mint.Mint{Address: p.state.Mints[side]}
			p.vaults[side] = venuetest.Amount(t, "vault")
		}
		venuetest.Properties(t, venuetest.Case{Pool: p, Held: p.vaults})
	})
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
