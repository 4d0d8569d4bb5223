// Package metertest records what is reported to a meter, for tests of long work.
package metertest

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Work is one piece of work that was begun.
type Work struct {
	What, Unit  string
	Total, Done int64
	Ended       bool
}

// Recorder records all work that is reported to its Meter.
type Recorder struct {
	mu    sync.Mutex
	works []*Work
}

// Meter is a meter.Meter that records a piece of work.
func (r *Recorder) Meter(what, unit string, total int64) (count func(n int64), end func()) {
	work := &Work{What: what, Unit: unit, Total: total}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.works = append(r.works, work)
	return func(n int64) { r.mu.Lock(); work.Done += n; r.mu.Unlock() },
		func() { r.mu.Lock(); work.Ended = true; r.mu.Unlock() }
}

// Works returns all pieces of work.
func (r *Recorder) Works() (works []Work) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, work := range r.works {
		works = append(works, *work)
	}
	return works
}

// Work returns the first piece of work with this name.
func (r *Recorder) Work(t testing.TB, what string) Work {
	t.Helper()
	works := r.Works()
	i := slices.IndexFunc(works, func(w Work) bool { return w.What == what })
	require.GreaterOrEqual(t, i, 0, "%s was not told", what)
	return works[i]
}

// RequireWhole requires that the work of this name has a total, reaches it, and ends. It returns
// the total.
func (r *Recorder) RequireWhole(t testing.TB, what string) int64 {
	t.Helper()
	work := r.Work(t, what)
	require.Positive(t, work.Total, what)
	require.Equal(t, work.Total, work.Done, "%s: what was told and what there was", what)
	require.True(t, work.Ended, what)
	return work.Total
}
