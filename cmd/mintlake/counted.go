package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/internal/terminal"
)

// progressMeter returns a meter that shows the progress of long work, with rate and time left.
func progressMeter(ctx context.Context) meter.Meter {
	return func(what, unit string, total int64) (count func(n int64), end func()) {
		var done atomic.Int64
		began := time.Now()
		ctx, cancel := context.WithCancel(ctx)
		var printed sync.WaitGroup
		printed.Go(func() {
			tellProgress(ctx, func(now time.Time) string { return countedLine(what, unit, done.Load(), total, now.Sub(began)) })
		})
		return func(n int64) { done.Add(n) }, func() {
			cancel()
			printed.Wait()
		}
	}
}

// roomMeter is like progressMeter, for rooms that serve. It returns nil if the log is in JSON:
// programs read that, and progress lines on the same standard error would disturb them.
func roomMeter(ctx context.Context, cfg *Config) meter.Meter {
	if cfg.Log.Format == "json" {
		return nil
	}
	return progressMeter(ctx)
}

// countedLine formats one line of progress of work that has lasted for took.
func countedLine(what, unit string, done, total int64, took time.Duration) string {
	amount, named := terminal.Count[int64], " "+unit
	if unit == meter.Bytes {
		amount, named = terminal.Bytes, ""
	}
	perSecond := float64(done) / max(took.Seconds(), 0.001)
	line := what + ": " + amount(done)
	if total > 0 {
		line += " of " + amount(total)
	}
	line += fmt.Sprintf("%s, %s/s", named, amount(int64(perSecond)))
	if total > done && done > 0 {
		left := time.Duration(float64(total-done) / perSecond * float64(time.Second))
		line += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return line
}
