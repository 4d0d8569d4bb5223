package steady

import (
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// jumped returns t as time.Now would give it after the wall clock was set: another wall time beside
// the same monotonic reading.
func jumped(t time.Time, by time.Duration) time.Time {
	// The first field of time.Time: a flag, 33 bits of seconds, 30 of nanoseconds.
	wall := (*uint64)(unsafe.Pointer(&t))
	*wall += uint64(int64(by/time.Second) << 30)
	return t
}

func TestAJumpOfTheWallClockChangesNothing(t *testing.T) {
	now := time.Now()
	for _, by := range []time.Duration{5 * time.Hour, -5 * time.Hour, 24 * time.Hour, -time.Second} {
		other := jumped(now, by)
		require.Equal(t, by, time.Duration(other.UnixNano()-now.UnixNano()), "the wall clock jumped")
		require.Zero(t, Nano(other)-Nano(now), by)
	}
	require.Positive(t, Since(Now()-1))
	made := time.Unix(1_000, 5)
	require.Equal(t, made.UnixNano(), Nano(made))
}
