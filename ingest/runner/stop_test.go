package runner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// TestStopWaitsForBlocksUnderWay and no longer than the grace period.
func TestStopWaitsForBlocksUnderWay(t *testing.T) {
	for name, c := range map[string]struct {
		brokerTakes time.Duration
		slots       int
	}{
		"within grace": {time.Second, 1},
		"beyond grace": {time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(context.Background())
				l := &slowLog{log: &log{}, takes: c.brokerTakes, begun: stop}
				b := newBlock(1, 0, transactionOf(func(b *builder) { b.mintTo(mintKey(1)) }))
				s := blocks("geyser", b)
				s.do = append(s.do, func(ctx context.Context, _ source.Sink) error { <-ctx.Done(); return nil })
				r, err := runner.New(runner.Config{Sources: sourcesOf(s)}, runner.Deps{Producer: l})
				require.NoError(t, err)
				begin := time.Now()
				require.NoError(t, r.Run(ctx))
				require.Less(t, time.Since(begin), 10*time.Second)
				require.Len(t, l.slots(t), c.slots)
			})
		})
	}
}

// slowLog takes its time with token events.
type slowLog struct {
	*log
	takes time.Duration
	begun func()
}

func (l *slowLog) Produce(ctx context.Context, records ...kafka.Record) error {
	if records[0].Topic == schemas.TopicTokenEvents {
		l.begun()
		select {
		case <-time.After(l.takes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.log.Produce(ctx, records...)
}

func TestStatusEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		s := &steps{kind: "geyser", do: []step{func(context.Context, source.Sink) error { time.Sleep(5500 * time.Millisecond); return nil }}}
		require.NoError(t, newRunner(t, l, s).Run(context.Background()))
		statuses := l.statuses(t)
		require.Len(t, statuses, 1+5+1, "at the start, each second, at the end")
		require.True(t, statuses[6].GetDone())
		require.False(t, statuses[5].GetDone())
	})
}

func TestInFlightIsBounded(t *testing.T) {
	l := &slowLog{log: &log{}, takes: 50 * time.Millisecond, begun: func() {}}
	var handed atomic.Int64
	s := &steps{kind: "geyser"}
	for slot := range uint64(20) {
		s.do = append(s.do, func(ctx context.Context, sink source.Sink) error {
			require.LessOrEqual(t, handed.Load()-int64(len(l.slots(t))), int64(3))
			_, err := sink.Block(ctx, newBlock(slot+1, slot, transactionOf(func(b *builder) { b.mintTo(mintKey(1)) })))
			handed.Add(1)
			return err
		})
	}
	r, err := runner.New(runner.Config{Sources: sourcesOf(s)}.WithMaxInFlight(3), runner.Deps{Producer: l})
	require.NoError(t, err)
	require.NoError(t, r.Run(context.Background()))
	require.Len(t, l.slots(t), 20)
}
