package txn

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestNativeSwapsWrapNothing: a venue that moves lamports gets no account for wrapped SOL.
func TestNativeSwapsWrapNothing(t *testing.T) {
	coin := Side{Mint: venue.Key{7}, Program: mint.Token2022}
	sol := Side{Mint: mint.WrappedSOL, Program: mint.Token}
	for _, e := range []struct {
		in, out Side
		steps   []byte // first bytes of the instructions
		unwraps bool
	}{
		{sol, coin, []byte{2, 3, 1, 99}, false},
		{coin, sol, []byte{2, 3, 99}, true},
	} {
		built, err := Build(Request{
			User: venue.Key{1}, In: e.in, Out: e.out,
			Swaps: []Swap{{In: e.in, Out: e.out, Spend: 5, Native: true, Units: 1000, Instructions: func(venue.UserAccounts) ([]venue.Instruction, error) {
				return []venue.Instruction{{Program: venue.Key{9}, Data: []byte{99}}}, nil
			}}},
		})
		require.NoError(t, err)
		tx, err := solana.TransactionFromBytes(built.Bytes)
		require.NoError(t, err)
		var steps []byte
		for _, i := range tx.Message.Instructions {
			steps = append(steps, i.Data[0])
		}
		require.Equal(t, e.steps, steps)
		require.Equal(t, e.unwraps, built.Unwraps)
	}
}
