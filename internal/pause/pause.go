// Package pause waits, and spaces calls evenly.
//
// In: a context and a time. Out: nothing, or the context's error. Guarantees: a wait ends at once
// when its context ends.
package pause

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// For waits for d. It returns ctx's error if ctx ends first, and at once if d is not positive.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Evenly returns a limiter that lets perSecond calls pass per second, evenly spaced, without
// bursts. If perSecond is zero or less, all calls pass.
func Evenly(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), 1)
}

// Await waits for the caller's turn. It returns ctx's error if ctx ends first. The limiter's own
// Wait would fail at once, with another error, if the turn comes after ctx's deadline.
func Await(ctx context.Context, limiter *rate.Limiter) error {
	return For(ctx, limiter.Reserve().Delay())
}
