package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/metertest"
)

// The tables come nearer to a log that grows, while Kafka is away for a moment.
func TestARefillIsTold(t *testing.T) {
	lags := []int64{50_000, 60_000, -1, 30_000, 31_000, 10_001, 9_999}
	look := func(context.Context) (int64, error) {
		lag := lags[0]
		lags = lags[1:]
		if lag < 0 {
			return 0, errors.New("no Kafka answers")
		}
		return lag, nil
	}
	var recorder metertest.Recorder
	refill(t.Context(), look, time.Millisecond, recorder.Meter)
	require.Empty(t, lags, "it is told until the tables are full")
	work := recorder.Work(t, "fill the tables")
	require.Equal(t, metertest.Work{What: "fill the tables", Unit: "records", Total: 50_000, Done: 50_000 - 9_999, Ended: true}, work)
	require.Equal(t, "fill the tables: 20,000 of 50,000 records, 5,000/s, 6s left", countedLine("fill the tables", "records", 20_000, 50_000, 4*time.Second))

	lags = []int64{refillFrom - 1}
	var quiet metertest.Recorder
	refill(t.Context(), look, time.Millisecond, quiet.Meter)
	require.Empty(t, quiet.Works(), "what is done within seconds is not told")
}
