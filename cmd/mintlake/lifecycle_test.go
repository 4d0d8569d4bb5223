package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestAFailedComponentEndsAllSoon: the others wait for what has failed, each as long as its own
// grace period lets it. One after the other they took 20 s.
func TestAFailedComponentEndsAllSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLifecycle(slog.New(slog.DiscardHandler), 10*time.Second)
		sync := errors.New("fsync failed")
		l.start("kafka", func(context.Context) error { time.Sleep(time.Second); return sync })
		for range 6 {
			l.start("room", func(ctx context.Context) error { <-ctx.Done(); time.Sleep(4 * time.Second); return nil })
		}
		require.ErrorIs(t, l.wait(t.Context()), sync)
		began := time.Now()
		require.ErrorIs(t, l.stop(), sync)
		require.Less(t, time.Since(began), 4*time.Second, "with the clients, 5 s")
		synctest.Wait()
		time.Sleep(5 * time.Second)
	})
}

// TestAStopWithoutAFailureIsInOrder: each component stops when those that started after it have
// stopped, however long they take.
func TestAStopWithoutAFailureIsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLifecycle(slog.New(slog.DiscardHandler), 10*time.Second)
		var stopped []string
		for _, name := range []string{"kafka", "projector", "ingest"} {
			l.start(name, func(ctx context.Context) error {
				<-ctx.Done()
				time.Sleep(4 * time.Second)
				stopped = append(stopped, name)
				return nil
			})
		}
		require.NoError(t, l.stop())
		require.Equal(t, []string{"ingest", "projector", "kafka"}, stopped)
	})
}

// TestClientsThatCannotCloseDoNotHoldABrokenStop: a producer waits for a broker that has failed.
func TestClientsThatCannotCloseDoNotHoldABrokenStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(defaults(), slog.New(slog.DiscardHandler))
		s.closers = append(s.closers, func() { time.Sleep(20 * time.Second) })
		s.lifecycle.start("kafka", func(context.Context) error { return errors.New("fsync failed") })
		require.Error(t, s.lifecycle.wait(t.Context()))
		began := time.Now()
		require.Error(t, s.stop())
		require.Less(t, time.Since(began), 5*time.Second)
		time.Sleep(20 * time.Second)
	})
}
