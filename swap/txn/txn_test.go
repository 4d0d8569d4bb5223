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

// TestEachAccountIsDerivedOnce for all calls of a transaction, whose bytes do not depend on it.
func TestEachAccountIsDerivedOnce(t *testing.T) {
	coin, sol := Side{Mint: venue.Key{7}, Program: mint.Token2022, AccountSize: 170}, Side{Mint: mint.WrappedSOL, Program: mint.Token}
	r := Request{User: venue.Key{1}, In: coin, Out: sol, Fee: &Fee{Treasury: venue.Key{2}, Amount: 3}, Swaps: []Swap{{
		In: coin, Out: sol, Spend: 5, Units: 1000, Instructions: func(user venue.UserAccounts) ([]venue.Instruction, error) {
			return []venue.Instruction{{Program: venue.Key{9}, Data: []byte{99}, Accounts: []venue.Meta{{Key: user.Source}, {Key: user.Destination}}}}, nil
		},
	}}}
	plain, err := Build(r)
	require.NoError(t, err)
	r.Accounts = Accounts{}
	_, _, err = Opens(r)
	require.NoError(t, err)
	kept, err := Build(r)
	require.NoError(t, err)
	require.Equal(t, plain.Bytes, kept.Bytes)
	require.Len(t, r.Accounts, 3, "the user's two, and the treasury's")
	want, err := venue.AssociatedAccount(r.User, coin.Mint, coin.Program)
	require.NoError(t, err)
	require.Equal(t, want, r.Accounts[accountKey{r.User, coin.Mint, coin.Program}])
	r.Accounts[accountKey{r.User, coin.Mint, coin.Program}] = venue.Key{5}
	found, err := r.Accounts.Of(r.User, coin)
	require.NoError(t, err)
	require.Equal(t, venue.Key{5}, found, "it is not derived again")
}
