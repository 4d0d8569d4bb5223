package pause_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/pause"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		require.NoError(t, pause.For(t.Context(), time.Hour))
		require.Equal(t, time.Hour, time.Since(begin))
		require.NoError(t, pause.For(t.Context(), -time.Hour))
		require.Equal(t, time.Hour, time.Since(begin))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, pause.For(ctx, time.Hour), context.DeadlineExceeded)
		require.Equal(t, time.Hour+time.Minute, time.Since(begin))
	})
}

func TestTurnsAreEvenlySpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin, p := time.Now(), pause.Evenly(4)
		for i := range 8 {
			require.NoError(t, pause.Await(t.Context(), p))
			require.Equal(t, time.Duration(i)*250*time.Millisecond, time.Since(begin))
		}
		time.Sleep(time.Hour)
		begin = time.Now()
		for i := range 3 {
			require.NoError(t, pause.Await(t.Context(), p))
			require.Equal(t, time.Duration(i)*250*time.Millisecond, time.Since(begin), "nothing was saved up")
		}
		for range 1000 {
			require.NoError(t, pause.Await(t.Context(), pause.Evenly(0)))
		}
	})
}
