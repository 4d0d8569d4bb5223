package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
	require.Nil(t, p.LagRecords, "an old figure is not today's: 0 there would say that everything is visible")
}
