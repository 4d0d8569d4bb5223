package replica

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// TestTurns: the fold gives way while its records are young; late, or over history, it does not.
func TestTurns(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	r := &Replica{deps: Deps{Now: func() time.Time { return now }}}
	record := func(age time.Duration) kafka.Record {
		return kafka.Record{Headers: []kafka.Header{{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, now.Add(-age).UnixMilli(), 10)}}}
	}
	require.Zero(t, r.turnFor(nil))
	require.Zero(t, r.turnFor([]kafka.Record{{}}), "nothing says how old it is")
	require.Equal(t, foldTurn, r.turnFor([]kafka.Record{{}, record(lateAfter - time.Millisecond)}))
	require.Zero(t, r.turnFor([]kafka.Record{record(lateAfter), record(0)}), "the first is the oldest")
}

// TestBatchesGatherLonger where many records come, and only then: a token that comes alone is not
// held up.
func TestBatchesGatherLonger(t *testing.T) {
	r := &Replica{cfg: Config{batchWait: 20 * time.Millisecond}}
	require.Equal(t, 20*time.Millisecond, r.nextWait(1, 10*time.Second))
	require.Equal(t, 20*time.Millisecond, r.nextWait(busyRate/10, 100*time.Millisecond))
	require.Equal(t, 60*time.Millisecond, r.nextWait(busyRate/10+1, 100*time.Millisecond))
	require.Equal(t, 20*time.Millisecond, r.nextWait(0, 0))
}
