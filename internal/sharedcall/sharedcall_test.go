package sharedcall_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/sharedcall"
)

// TestCallsAreShared: those who come while a call runs get its result. It goes on when the one that
// began it leaves, and the next one after its end begins anew.
func TestCallsAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g sharedcall.Group[int]
		var calls atomic.Int64
		call := func(ctx context.Context) (int, error) {
			n := calls.Add(1)
			time.Sleep(time.Minute)
			return int(n), ctx.Err()
		}
		impatient, leave := context.WithCancel(t.Context())
		first := g.Begin(impatient, "a", time.Hour, call)
		leave()
		_, err := first.Wait(impatient)
		require.ErrorIs(t, err, context.Canceled)
		for range 3 {
			go func() {
				if value, err := g.Do(t.Context(), "a", time.Hour, call); err != nil || value != 1 {
					t.Errorf("%d, %v", value, err)
				}
			}()
		}
		synctest.Wait()
		other, err := g.Do(t.Context(), "b", time.Hour, call)
		require.NoError(t, err)
		require.Equal(t, 2, other, "another key is another call")
		synctest.Wait()
		again, err := g.Do(t.Context(), "a", time.Hour, call)
		require.NoError(t, err)
		require.Equal(t, 3, again)
	})
}

// TestACallEndsAfterItsTime, and its error and value come through.
func TestACallEndsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g sharedcall.Group[string]
		value, err := g.Do(t.Context(), "", time.Minute, func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "half", errors.Join(ctx.Err(), errors.New("late"))
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "late")
		require.Equal(t, "half", value)
	})
}
