package status

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
)

// TestTheLogTellsAChangeOfTheLagOnce: 74 short times without an answer are no line, a long one is
// one, and one when it is over.
func TestTheLogTellsAChangeOfTheLagOnce(t *testing.T) {
	now, lines := time.Unix(0, 0), 0
	var k knownLag
	see := func(known bool, after time.Duration) {
		now = now.Add(after)
		if k.changed(now, known) {
			lines++
		}
	}
	for range 74 {
		see(false, time.Second)
		see(true, time.Second)
	}
	require.Zero(t, lines)
	for range 300 {
		see(false, time.Second)
	}
	require.Equal(t, 1, lines)
	see(true, time.Second)
	see(true, time.Second)
	require.Equal(t, 2, lines)
}

func TestTheLastKnownLagHasItsAge(t *testing.T) {
	var k knownLag
	p := Pipeline{}
	k.see(time.Unix(100, 0), &p)
	require.Nil(t, p.LastKnownLag)
	lag := int64(7)
	p = Pipeline{LagRecords: &lag}
	k.see(time.Unix(101, 0), &p)
	require.EqualValues(t, 7, *p.LastKnownLag)
	require.Zero(t, *p.LastKnownAgeMS)
	p = Pipeline{}
	k.see(time.Unix(103, 0), &p)
	require.EqualValues(t, 7, *p.LastKnownLag)
	require.EqualValues(t, 2000, *p.LastKnownAgeMS)
	require.EqualValues(t, 7, *p.LagRecords)

	lag = 0
	k.see(time.Unix(104, 0), &Pipeline{LagRecords: &lag})
	p = Pipeline{}
	k.see(time.Unix(105, 0), &p)
	require.EqualValues(t, 1, *p.LagRecords, "an old figure is not today's: 0 there would say that everything is visible")
	require.Zero(t, *p.LastKnownLag)
	require.EqualValues(t, 1000, *p.LastKnownAgeMS)
}

// slowOffsets answer after a time, as a broker does that is busy with produces.
type slowOffsets struct {
	*apitest.Log
	each time.Duration
}

func (s *slowOffsets) wait(ctx context.Context) error { return pause.For(ctx, s.each) }

func (s *slowOffsets) StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	return s.after(ctx, func() (map[kafka.TopicPartition]int64, error) { return s.Log.StartOffsets(ctx, topics) })
}

func (s *slowOffsets) EndOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	return s.after(ctx, func() (map[kafka.TopicPartition]int64, error) { return s.Log.EndOffsets(ctx, topics) })
}

func (s *slowOffsets) CommittedOffsets(ctx context.Context, group string, topics []string) (map[kafka.TopicPartition]int64, error) {
	return s.after(ctx, func() (map[kafka.TopicPartition]int64, error) { return s.Log.CommittedOffsets(ctx, group, topics) })
}

func (s *slowOffsets) after(ctx context.Context, answer func() (map[kafka.TopicPartition]int64, error)) (map[kafka.TopicPartition]int64, error) {
	if err := s.wait(ctx); err != nil {
		return nil, err
	}
	return answer()
}

// TestTheLagOfABusyBrokerIsKnown: a broker that takes seconds for each answer was cut off after one
// second, each time anew, and the lag was null for minutes.
func TestTheLagOfABusyBrokerIsKnown(t *testing.T) {
	for _, each := range []time.Duration{300 * time.Millisecond, 2 * time.Second, 6 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			log, c := filled()
			s, err := New(c, &slowOffsets{log, each}, nil, nil)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Run(ctx) }()
			time.Sleep(3*each + 2*time.Second)
			for range 100 {
				// Get would wait for a mutex, and the bubble's clock stand still.
				document, _ := s.peek()
				p := document.Pipeline
				require.NotNil(t, p.LagRecords, "each answer takes %s", each)
				require.EqualValues(t, 7, *p.LagRecords)
				require.LessOrEqual(t, *p.LastKnownAgeMS, (3*each + 2*time.Second).Milliseconds(), "it is measured again and again")
				time.Sleep(time.Second)
			}
			cancel()
			require.NoError(t, <-done)
		})
	}
}

// TestALagThatWasKnownStaysANumber: beside an age that grows, and never 0.
func TestALagThatWasKnownStaysANumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes at once while kafka is away
		log, c := filled()
		log.CommitAll(schemas.GroupEnrich, schemas.TopicEnrichmentRequests)
		log.CommitAll(schemas.GroupProjector, projectorTopics...)
		s := collector(t, c, log)
		defer s.endMeasurement()
		var passed atomic.Int64 // the measurement in the background reads it too
		began := time.Now()
		s.now = func() time.Time { return began.Add(time.Duration(passed.Load())) }
		require.Zero(t, *s.Get(t.Context()).Pipeline.LagRecords)
		log.SetDown(true)
		for range 10 {
			passed.Add(int64(time.Minute))
			p := s.Get(t.Context()).Pipeline
			require.EqualValues(t, 1, *p.LagRecords)
			require.NotNil(t, p.Error)
		}
		require.EqualValues(t, 10*time.Minute.Milliseconds(), *s.Get(t.Context()).Pipeline.LastKnownAgeMS)
	})
}
