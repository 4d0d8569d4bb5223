package recheck

import (
	"crypto/sha256"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestJitterStaysInItsBounds(t *testing.T) {
	low, high := time.Hour, time.Duration(0)
	for i := range 2000 {
		d := Jitter(time.Hour, sha256.Sum256([]byte{byte(i), byte(i >> 8)}), uint64(i), -0.2, 0.2)
		low, high = min(low, d), max(high, d)
	}
	require.GreaterOrEqual(t, low, 48*time.Minute)
	require.LessOrEqual(t, high, 72*time.Minute)
	require.Less(t, low, 50*time.Minute, "it is spread over all of it")
	require.Greater(t, high, 70*time.Minute)
}

func TestDelaysDouble(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for failures, want := range map[uint32]time.Duration{
		0: time.Minute, 1: time.Minute, 2: 2 * time.Minute, 5: 16 * time.Minute, 8: 128 * time.Minute, 40: week, math.MaxUint32: week,
	} {
		require.Equal(t, want, Delay(time.Minute, week, failures), failures)
	}
	require.Equal(t, time.Minute, Delay(time.Hour, time.Minute, 1))
}
