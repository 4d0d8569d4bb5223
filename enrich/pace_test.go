package enrich

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/pace"
)

// TestWhatAFetchTellsOfTheHost: each class is an answer, a failure, a refusal or no request.
func TestWhatAFetchTellsOfTheHost(t *testing.T) {
	const patience = 2 * time.Minute
	failedFor := func(class fetch.Class, after, down time.Duration) error {
		return &fetch.Error{Class: class, RetryAfter: after, DownFor: down}
	}
	status := func(code int, after time.Duration) error {
		return &fetch.Error{Class: fetch.ClassHTTPStatus, Status: code, RetryAfter: after}
	}
	for _, c := range []struct {
		err  error
		want pace.Outcome
	}{
		{nil, pace.Outcome{}},
		{status(404, 0), pace.Outcome{}},
		{status(429, 0), pace.Outcome{Refused: true}},
		{status(429, time.Minute), pace.Outcome{Refused: true, Pause: time.Minute}},
		{status(503, time.Second), pace.Outcome{Refused: true, Pause: time.Second}},
		{status(503, 0), pace.Outcome{Failed: true}},
		{failed(fetch.ClassTimeout, 0), pace.Outcome{Failed: true}},
		{failed(fetch.ClassNotJSON, 0), pace.Outcome{}},
		{failed(fetch.ClassBadURL, 0), pace.Outcome{Unasked: true}},
		{failed(fetch.ClassCanceled, 0), pace.Outcome{Unasked: true}},
		{failedFor(fetch.ClassHostPaused, time.Hour, 0), pace.Outcome{Unasked: true, Pause: patience}},
		{failedFor(fetch.ClassHostDown, time.Second, time.Second), pace.Outcome{Unasked: true, Pause: time.Second}},
		{failedFor(fetch.ClassHostDown, time.Minute, time.Hour), pace.Outcome{Unasked: true}},
	} {
		require.Equal(t, c.want, outcomeOf(c.err, patience), c.err)
	}
}

// TestABudgetOfBytes: a second's worth is free, and what is more is paid for by time.
func TestABudgetOfBytes(t *testing.T) {
	b, now := byteBudget{perSecond: 1000}, time.Unix(1e9, 0)
	require.Zero(t, b.spend(now, 1000))
	require.Equal(t, 2*time.Second, b.spend(now, 2000))
	now = now.Add(3 * time.Second)
	require.Zero(t, b.spend(now, 1000))
}
