package tables

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

	lags = []int64{refillFrom - 1}
	var quiet metertest.Recorder
	refill(t.Context(), look, time.Millisecond, quiet.Meter)
	require.Empty(t, quiet.Works(), "what is done within seconds is not told")
}
