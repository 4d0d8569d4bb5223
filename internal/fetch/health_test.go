package fetch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const hostUnderTest = "good.test:80"

// down is a host that was just taken for down.
func down(t *testing.T) (*health, *clock) {
	t.Helper()
	clock := &clock{at: time.Unix(1e9, 0)}
	h := newHealth(clock.now)
	for range failuresUntilDown {
		require.Nil(t, h.refuse(hostUnderTest))
		h.report(hostUnderTest, &Error{Class: ClassTimeout})
	}
	require.Equal(t, ClassHostDown, h.refuse(hostUnderTest).Class)
	return h, clock
}

// TestFailuresOfOneOutageCountOnce: requests that were under way when the host was taken for down fail a moment later, and make nothing longer.
func TestFailuresOfOneOutageCountOnce(t *testing.T) {
	h, clock := down(t)
	for range 20 {
		h.report(hostUnderTest, &Error{Class: ClassConnection})
	}
	require.Equal(t, firstDown, h.refuse(hostUnderTest).RetryAfter)
	clock.add(firstDown)
	require.Nil(t, h.refuse(hostUnderTest))
}

// TestOneRequestTriesAHostThatWasDown: the others wait for what it finds, and its failure is one.
func TestOneRequestTriesAHostThatWasDown(t *testing.T) {
	h, clock := down(t)
	for _, wait := range []time.Duration{firstDown, 2 * firstDown, 4 * firstDown} {
		clock.add(wait)
		require.Nil(t, h.refuse(hostUnderTest), "the trial")
		for range 20 {
			require.Equal(t, ClassHostDown, h.refuse(hostUnderTest).Class)
		}
		h.report(hostUnderTest, &Error{Class: ClassConnection})
		require.Equal(t, 2*wait, h.refuse(hostUnderTest).RetryAfter)
	}
	clock.add(8 * firstDown)
	require.Nil(t, h.refuse(hostUnderTest), "the trial")
	h.report(hostUnderTest, nil)
	for range 20 {
		require.Nil(t, h.refuse(hostUnderTest), "it is up")
	}
}

// TestATrialThatNeverReportsIsFollowedByAnother: its caller may have gone away.
func TestATrialThatNeverReportsIsFollowedByAnother(t *testing.T) {
	h, clock := down(t)
	clock.add(firstDown)
	require.Nil(t, h.refuse(hostUnderTest))
	require.NotNil(t, h.refuse(hostUnderTest))
	clock.add(trialTime)
	require.Nil(t, h.refuse(hostUnderTest))
}

// TestAHostThatAsksForTimeIsUp: the answer ends an outage, and the time that it asks for holds.
func TestAHostThatAsksForTimeIsUp(t *testing.T) {
	h, clock := down(t)
	clock.add(firstDown)
	require.Nil(t, h.refuse(hostUnderTest))
	h.report(hostUnderTest, &Error{Class: ClassHTTPStatus, Status: 429, RetryAfter: 2 * time.Second})
	refused := h.refuse(hostUnderTest)
	require.Equal(t, ClassHostPaused, refused.Class)
	require.Equal(t, 2*time.Second, refused.RetryAfter)
	clock.add(2 * time.Second)
	for range 20 {
		require.Nil(t, h.refuse(hostUnderTest))
	}
}
