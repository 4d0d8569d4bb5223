package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/internal/terminal"
)

// counted tells how far a run over total things is, with rate and time left; 0 for a total that
// nobody knows. stop ends the telling and waits until nothing more is printed.
func counted(ctx context.Context, what, things string, total int64) (count func(n int), stop func()) {
	var done atomic.Int64
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	var printed sync.WaitGroup
	printed.Go(func() {
		tellProgress(ctx, func(now time.Time) string { return countedLine(what, things, done.Load(), total, now.Sub(began)) })
	})
	return func(n int) { done.Add(int64(n)) }, func() {
		cancel()
		printed.Wait()
	}
}

// countedLine is one line about a run that has taken took.
func countedLine(what, things string, done, total int64, took time.Duration) string {
	perSecond := float64(done) / max(took.Seconds(), 0.001)
	line := what + ": " + terminal.Count(done)
	if total > 0 {
		line += " of " + terminal.Count(total)
	}
	line += fmt.Sprintf(" %s, %s/s", things, terminal.Count(int64(perSecond)))
	if total > done && done > 0 {
		left := time.Duration(float64(total-done) / perSecond * float64(time.Second))
		line += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return line
}
