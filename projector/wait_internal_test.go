package projector

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestBatchesGatherWhereTheyTakeLong: an idle machine shows rows soon, a busy one spends a third of
// its time on them at most.
func TestBatchesGatherWhereTheyTakeLong(t *testing.T) {
	config := Config{}.withDefaults()
	for took, want := range map[time.Duration]time.Duration{
		0: 100 * time.Millisecond, 50 * time.Millisecond: 100 * time.Millisecond, 300 * time.Millisecond: 600 * time.Millisecond, time.Minute: time.Second,
	} {
		require.Equal(t, want, config.waitAfter(took), took)
	}
	config.batchWait = 2 * time.Second
	require.Equal(t, 2*time.Second, config.waitAfter(0), "what is configured is the least")
}
