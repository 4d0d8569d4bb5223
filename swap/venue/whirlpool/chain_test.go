package whirlpool

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/swap/venue"
)

// TestWhatIsNotChained: a pool with itself, an exact-out order, a pool of another venue.
func TestWhatIsNotChained(t *testing.T) {
	f, state := example(t, "arrays three")
	p := executedPool(t, f, state, "", same)
	o := venue.Order{In: p.state.mints[0], Amount: 100_000, Clock: f.Clock(state)}
	first, err := p.QuoteFirst(o)
	require.NoError(t, err)
	require.Zero(t, first.Accounts, "its instruction has more data than others")
	for name, next := range map[string]venue.Pool{"itself": p, "another venue's": struct{ venue.Pool }{p}} {
		_, err = p.QuoteNext(first, next)
		require.ErrorIs(t, err, venue.ErrUnverified, name)
		_, err = p.ChainInstructions(first, first, next, 1, venue.UserAccounts{})
		require.ErrorIs(t, err, venue.ErrUnverified, name)
	}
	o.ExactOut = true
	_, err = p.QuoteFirst(o)
	require.ErrorIs(t, err, venue.ErrUnverified)
}
