package volume

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// slow is a store without legs whose every look for dirty minutes takes a while.
type slow struct {
	Store
	takes time.Duration
	looks int
}

func (s *slow) Dirty(context.Context) ([]Minute, error) {
	time.Sleep(s.takes)
	s.looks++
	return nil, nil
}

func (s *slow) WithoutVenues(context.Context, time.Time, int) ([]time.Time, error) { return nil, nil }

// TestAValuationRests: a valuation begins each interval, and takes half of the time at most.
func TestAValuationRests(t *testing.T) {
	for takes, want := range map[time.Duration]int{0: 60, 400 * time.Millisecond: 60, 3 * time.Second: 10} {
		synctest.Test(t, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Interval = time.Second
			store := &slow{takes: takes}
			room, err := New(cfg, Deps{Store: store, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute-time.Millisecond)
			defer cancel()
			require.NoError(t, room.Run(ctx))
			require.Equal(t, want, store.looks, "a valuation takes %s", takes)
		})
	}
}
