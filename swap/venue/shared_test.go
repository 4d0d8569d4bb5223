package venue_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/swap/venue"
)

type length struct{ bytes int }

// TestConfigsAreDecodedOnce by all pools of a state, whatever hostile pools name the same account
// for.
func TestConfigsAreDecodedOnce(t *testing.T) {
	key, program := swaptest.Named("config"), swaptest.Named("program")
	state := venue.NewAccounts(map[venue.Key]*solana.Account{key: {Owner: program, Data: []byte{1, 2, 3}}})
	calls := 0
	config := func() (*length, error) {
		return venue.Config(state, key, program, func(data []byte) (*length, error) {
			calls++
			return &length{len(data)}, nil
		})
	}
	first, err := config()
	require.NoError(t, err)
	require.Equal(t, &length{3}, first)
	_, err = venue.Mint(state, key)
	require.Error(t, err, "it is no mint")
	_, err = venue.Config(state, key, swaptest.Named("another program"), func([]byte) (*length, error) { return first, nil })
	require.ErrorIs(t, err, venue.ErrMalformed)
	again, err := config()
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, 1, calls)
}
