package shares

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestWhoeverWantsTooManyPlacesWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(func(client string) int { return len(client) })
		require.NoError(t, p.Take(t.Context(), "ab"))
		require.NoError(t, p.Take(t.Context(), "ab"))
		require.NoError(t, p.Take(t.Context(), "c"), "places are each client's own")
		came := make(chan error, 1)
		go func() { came <- p.Take(t.Context(), "ab") }()
		synctest.Wait()
		require.Empty(t, came)
		p.Give("ab")
		require.NoError(t, <-came)

		late, cancel := context.WithCancel(t.Context())
		cancel()
		require.ErrorIs(t, p.Take(late, "c"), context.Canceled)
		require.Equal(t, 2, p.Clients())
		p.Give("ab")
		p.Give("ab")
		p.Give("c")
		require.Zero(t, p.Clients(), "who has none is forgotten")
	})
}
