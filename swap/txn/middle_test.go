package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestATokenInTheMiddleHasAnAccount: it is opened once, the instruction gets it, and that of
// wrapped SOL is closed again, also where somebody else gets what is bought.
func TestATokenInTheMiddleHasAnAccount(t *testing.T) {
	user, theirs := venue.Key{1}, venue.Key{2}
	in, out := Side{Mint: venue.Key{3}, Program: mint.Token, AccountSize: 165}, Side{Mint: venue.Key{4}, Program: mint.Token, AccountSize: 165}
	for name, middle := range map[string]Side{
		"another token": {Mint: venue.Key{5}, Program: mint.Token, AccountSize: 165},
		"SOL":           {Mint: mint.WrappedSOL, Program: mint.Token, AccountSize: 165},
	} {
		for _, destination := range []*venue.Key{nil, &theirs} {
			var got venue.UserAccounts
			r := Request{User: user, In: in, Out: out, Destination: destination, Swaps: []Swap{{
				In: in, Out: out, Middle: &middle, Spend: 1, Units: 1,
				Instructions: func(u venue.UserAccounts) ([]venue.Instruction, error) {
					got = u
					return []venue.Instruction{{Program: venue.Key{6}, Accounts: []venue.Meta{{Key: u.Middle, Writable: true}}}}, nil
				},
			}}}
			built, err := Build(r)
			require.NoError(t, err)
			account, err := venue.AssociatedAccount(user, middle.Mint, middle.Program)
			require.NoError(t, err)
			require.Equal(t, account, got.Middle, name)
			created, closed := 0, 0
			for _, step := range built.Steps {
				switch {
				case step.Program == venue.AssociatedProgram && step.Accounts[1].Key == account:
					created++
				case step.Program == mint.Token && step.Data[0] == 9 && step.Accounts[0].Key == account:
					closed++
				}
			}
			opens, _, err := Opens(r)
			require.NoError(t, err)
			native := middle.Mint == mint.WrappedSOL
			require.Equal(t, 1, created, name)
			require.Equal(t, map[bool]int{true: 1}[native], closed, name)
			require.Equal(t, native, built.Temporary)
			listed := false
			for _, o := range opens {
				listed = listed || o.Account == account
			}
			require.Equal(t, !native, listed, "its rent is the user's to pay, unless it comes back")
		}
	}
}
