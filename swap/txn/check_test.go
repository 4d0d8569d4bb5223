package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/solana/txwire"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestWhatNodesRefuseIsNotBuilt: no invalid transaction passes, those included that readers of
// blocks accept because only the runtime's limits refuse them.
func TestWhatNodesRefuseIsNotBuilt(t *testing.T) {
	require.Equal(t, txwire.V0.MaxBytes(), MaxBytes)
	for name, want := range map[string]int{"valid": 73, "invalid": 53} {
		type vector struct {
			Name    string
			Base64  []byte
			Runtime *string
		}
		list, above := testkit.SharedLines[vector](t, "data/chain-2026/transactions/"+name+".jsonl"), 0
		for _, v := range list {
			_, err := check(v.Base64)
			if name == "valid" {
				require.NoError(t, err, v.Name)
				continue
			}
			require.Error(t, err, v.Name)
			if v.Runtime != nil {
				require.ErrorIs(t, err, txwire.ErrLimit, v.Name)
				above++
			}
		}
		require.Len(t, list, want)
		if name == "invalid" {
			require.Equal(t, 14, above)
		}
	}
}

// TestWhoPaysIsNotCalled: a transaction whose payer is one of its programs has no valid form.
func TestWhoPaysIsNotCalled(t *testing.T) {
	coin, sol := Side{Mint: venue.Key{7}, Program: mint.Token2022}, Side{Mint: mint.WrappedSOL, Program: mint.Token}
	_, err := Build(Request{User: venue.Key{9}, In: coin, Out: sol, Swaps: []Swap{{
		In: coin, Out: sol, Spend: 5, Native: true, Units: 1000, Instructions: func(venue.UserAccounts) ([]venue.Instruction, error) {
			return []venue.Instruction{{Program: venue.Key{9}, Data: []byte{99}}}, nil
		},
	}}})
	require.ErrorIs(t, err, txwire.ErrMalformed)
}
