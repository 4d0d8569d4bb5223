package fetch

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	hostUnderTest = "good.test:80"
	goodURL       = "http://good.test/logo.png"
)

// down is a host that was just taken for down.
func down(t *testing.T) (*health, *clock) {
	t.Helper()
	clock := &clock{at: time.Unix(1e9, 0)}
	h := newHealth(clock.now)
	for range failuresUntilDown {
		require.Nil(t, h.refuse(hostUnderTest, goodURL))
		h.report(hostUnderTest, goodURL, &Error{Class: ClassTimeout})
	}
	require.Equal(t, ClassHostDown, h.refuse(hostUnderTest, goodURL).Class)
	return h, clock
}

// TestFailuresOfOneOutageCountOnce: requests that were under way when the host was taken for down
// fail a moment later, and make nothing longer.
func TestFailuresOfOneOutageCountOnce(t *testing.T) {
	h, clock := down(t)
	for range 20 {
		h.report(hostUnderTest, goodURL, &Error{Class: ClassConnection})
	}
	require.Equal(t, firstDown, h.refuse(hostUnderTest, goodURL).RetryAfter)
	clock.add(firstDown)
	require.Nil(t, h.refuse(hostUnderTest, goodURL))
}

// TestOneRequestTriesAHostThatWasDown: the others wait for what it finds, and its failure is one.
func TestOneRequestTriesAHostThatWasDown(t *testing.T) {
	h, clock := down(t)
	for _, wait := range []time.Duration{firstDown, 2 * firstDown, 4 * firstDown} {
		clock.add(wait)
		require.Nil(t, h.refuse(hostUnderTest, goodURL), "the trial")
		for range 20 {
			require.Equal(t, ClassHostDown, h.refuse(hostUnderTest, goodURL).Class)
		}
		h.report(hostUnderTest, goodURL, &Error{Class: ClassConnection})
		require.Equal(t, 2*wait, h.refuse(hostUnderTest, goodURL).RetryAfter)
	}
	clock.add(8 * firstDown)
	require.Nil(t, h.refuse(hostUnderTest, goodURL), "the trial")
	h.report(hostUnderTest, goodURL, nil)
	for range 20 {
		require.Nil(t, h.refuse(hostUnderTest, goodURL), "it is up")
	}
}

// TestATrialThatNeverReportsIsFollowedByAnother: its caller may have gone away.
func TestATrialThatNeverReportsIsFollowedByAnother(t *testing.T) {
	h, clock := down(t)
	clock.add(firstDown)
	require.Nil(t, h.refuse(hostUnderTest, goodURL))
	require.NotNil(t, h.refuse(hostUnderTest, goodURL))
	clock.add(trialTime)
	require.Nil(t, h.refuse(hostUnderTest, goodURL))
}

// TestAHostThatAsksForTimeIsUp: the answer ends an outage, and the time that it asks for holds.
func TestAHostThatAsksForTimeIsUp(t *testing.T) {
	h, clock := down(t)
	clock.add(firstDown)
	require.Nil(t, h.refuse(hostUnderTest, goodURL))
	h.report(hostUnderTest, goodURL, &Error{Class: ClassHTTPStatus, Status: 429, RetryAfter: 2 * time.Second})
	refused := h.refuse(hostUnderTest, goodURL)
	require.Equal(t, ClassHostPaused, refused.Class)
	require.Equal(t, 2*time.Second, refused.RetryAfter)
	clock.add(2 * time.Second)
	for range 20 {
		require.Nil(t, h.refuse(hostUnderTest, goodURL))
	}
}

// TestAHostThatOnlyAsksForTime: it is known since when. Any other answer ends that, also one to a
// request that began before the pause.
func TestAHostThatOnlyAsksForTime(t *testing.T) {
	clock := &clock{at: time.Unix(1e9, 0)}
	h := newHealth(clock.now)
	pause := func() {
		h.report(hostUnderTest, goodURL, &Error{Class: ClassHTTPStatus, Status: 429, RetryAfter: 10 * time.Second})
	}
	downFor := func() time.Duration { return h.refuse(hostUnderTest, goodURL).DownFor }
	pause()
	clock.add(4 * time.Second)
	require.Equal(t, 4*time.Second, downFor())
	clock.add(6 * time.Second)
	require.Nil(t, h.refuse(hostUnderTest, goodURL))
	pause()
	require.Equal(t, 10*time.Second, downFor(), "it has answered nothing else")
	h.report(hostUnderTest, goodURL, nil)
	clock.add(time.Second)
	require.Equal(t, time.Second, downFor())
	clock.add(9 * time.Second)
	h.report(hostUnderTest, goodURL, nil)
	pause()
	require.Zero(t, downFor())
}

// TestBadURLsDoNotTestifyAgainstTheirHost: URLs that failed where others were answered are left at
// the end of a long queue. They fail in a row, and the host is up.
func TestBadURLsDoNotTestifyAgainstTheirHost(t *testing.T) {
	clock := &clock{at: time.Unix(1e9, 0)}
	h := newHealth(clock.now)
	bad := func(i int) string { return fmt.Sprintf("http://good.test/hangs/%d", i) }
	for i := range 100 {
		h.report(hostUnderTest, bad(i), &Error{Class: ClassConnection})
		h.report(hostUnderTest, goodURL, nil)
	}
	for i := range 100 {
		require.Nil(t, h.refuse(hostUnderTest, bad(i)))
		h.report(hostUnderTest, bad(i), &Error{Class: ClassConnection})
	}
	require.Nil(t, h.refuse(hostUnderTest, goodURL))

	for i := range failuresUntilDown {
		h.report(hostUnderTest, bad(1000+i), &Error{Class: ClassConnection})
	}
	require.Equal(t, ClassHostDown, h.refuse(hostUnderTest, goodURL).Class, "URLs of which nothing is known do testify")
	clock.add(firstDown)
	require.Equal(t, ClassHostDown, h.refuse(hostUnderTest, bad(1)).Class, "the trial is another's")
	require.Nil(t, h.refuse(hostUnderTest, goodURL))
	h.report(hostUnderTest, goodURL, &Error{Class: ClassTimeout})
	clock.add(2*firstDown + othersFirst)
	require.Nil(t, h.refuse(hostUnderTest, bad(1)), "nobody else came")
	h.report(hostUnderTest, bad(1), nil)
	require.Nil(t, h.refuse(hostUnderTest, goodURL), "it is up")
}

// TestADeadHostIsDownByOneURL: many tokens share one URL, and nothing of the host is ever answered.
func TestADeadHostIsDownByOneURL(t *testing.T) {
	h, _ := down(t)
	require.Equal(t, ClassHostDown, h.refuse(hostUnderTest, "http://good.test/other.png").Class)
}
