package market

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheTipIsTheHighestSlotOfLate(t *testing.T) {
	var reported tip
	now := time.Unix(1_700_000_000, 0)
	require.EqualValues(t, 100, reported.observe(100, now))
	require.EqualValues(t, 100, reported.observe(90, now.Add(tipWindow-1)), "a server that is behind changes nothing")
	require.EqualValues(t, 100, reported.observe(91, now.Add(tipWindow)), "a window long at least")
	require.EqualValues(t, 92, reported.observe(92, now.Add(2*tipWindow)), "a lie is over in the end")
	require.EqualValues(t, 5, reported.observe(5, now.Add(10*tipWindow)), "as is a chain that began anew")
}
