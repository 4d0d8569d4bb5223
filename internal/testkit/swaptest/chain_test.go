package swaptest_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
)

// TestDataSlicesBeyondTheEnd: what lies beyond the end of the data is left out.
func TestDataSlicesBeyondTheEnd(t *testing.T) {
	c, key := swaptest.New(), swaptest.Named("account")
	c.Set(key, swaptest.TokenProgram, []byte{1, 2, 3})
	for _, part := range []struct {
		offset, length uint64
		want           []byte
	}{{0, 2, []byte{1, 2}}, {1, math.MaxUint64, []byte{2, 3}}, {3, 1, []byte{}}, {math.MaxUint64, math.MaxUint64, []byte{}}} {
		_, accounts, err := c.GetMultipleAccounts(t.Context(), []swaptest.Key{key},
			solana.AccountOptions{DataSlice: &solana.DataSlice{Offset: part.offset, Length: part.length}})
		require.NoError(t, err)
		require.Equal(t, part.want, accounts[0].Data)
	}
}

// TestTokenBalancesAreOfTokenAccounts: a mint with extensions is longer than a token account, and
// is none.
func TestTokenBalancesAreOfTokenAccounts(t *testing.T) {
	c := swaptest.New()
	mint := swaptest.Named("mint")
	c.Mint(mint, swaptest.Token2022Program, 6, swaptest.TransferFee(100, 1000)...)
	pool := c.CPMM(swaptest.Pool{Name: "pool", Mints: [2]swaptest.Key{mint, swaptest.WrappedSOL}, Amounts: [2]uint64{1000, 1000}})
	var ran struct {
		Meta struct {
			PreTokenBalances []struct {
				Mint string `json:"mint"`
			} `json:"preTokenBalances"`
		} `json:"meta"`
	}
	require.NoError(t, json.Unmarshal(c.Run(swaptest.Ran{Pool: pool, In: 10, Out: 9}), &ran))
	var mints []string
	for _, b := range ran.Meta.PreTokenBalances {
		mints = append(mints, b.Mint)
	}
	require.ElementsMatch(t, []string{mint.String(), swaptest.WrappedSOL.String()}, mints, "one of each vault")
}
