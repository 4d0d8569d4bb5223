package replica_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// steps is a tailer that hands over one record a step.
type steps struct {
	*apitest.Tail
	step chan struct{}
}

// FetchBatch implements kafka.TailReader.
func (s steps) FetchBatch(ctx context.Context, _ int, wait time.Duration) ([]kafka.Record, error) {
	select {
	case <-s.step:
		return s.Tail.FetchBatch(ctx, 1, wait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestAnEarlierRunsReportIsNotShown: the ledger ends with this run's announcement; what stands
// before it is not shown meanwhile.
func TestAnEarlierRunsReportIsNotShown(t *testing.T) {
	log := apitest.NewLog()
	log.Source(&eventspb.SourceStatus{Kind: "file", Done: true, Slot: 99})
	log.Source(&eventspb.SourceStatus{Kind: "demo"})
	step := make(chan struct{})
	n := start(t, t.Context(), log, nil, func(_ *replica.Config, deps *replica.Deps) {
		deps.OpenTail = func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return steps{log.Tail(topics, start), step}, nil
		}
	})
	defer n.stop()
	n.awaitReady(t)
	require.Nil(t, n.View().Source)
	step <- struct{}{}
	require.Eventually(t, func() bool { return applied(n) == 1 }, hang, time.Millisecond)
	require.Nil(t, n.View().Source, "an earlier run's")
	step <- struct{}{}
	require.Eventually(t, func() bool { return n.View().Source != nil }, hang, time.Millisecond)
	require.Equal(t, "demo", n.View().Source.GetKind())
}

func applied(n *node) (sum int64) {
	for tp, offset := range n.Applied() {
		if tp.Topic == schemas.TopicSlots {
			sum += offset
		}
	}
	return sum
}

// TestAnExpiredLedgerHidesNothing: records that nobody will ever read are not waited for.
func TestAnExpiredLedgerHidesNothing(t *testing.T) {
	log := apitest.NewLog()
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		tp, offset := log.Append(kafka.Record{Topic: schemas.TopicSlots, Key: []byte(key)})
		log.SetStart(tp, offset+1)
	}
	n := start(t, t.Context(), log, nil)
	defer n.stop()
	n.awaitReady(t)
	log.Source(&eventspb.SourceStatus{Kind: "demo"})
	require.Eventually(t, func() bool { return n.View().Source != nil }, hang, time.Millisecond)
}
