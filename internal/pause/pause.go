// Package pause waits, and spaces what happens evenly.
//
// In: a context and a time. Out: nothing, or the context's error. Guarantees: whoever waits goes on
// at once when its context ends.
package pause

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// For returns after d, or with ctx's error when that ends first. A d that is not positive is over
// at once.
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

// Evenly returns a limiter that lets perSecond calls pass a second, evenly spaced: it saves nothing
// up for a burst. Zero or less lets all pass.
func Evenly(perSecond float64) *rate.Limiter {
	if perSecond <= 0 {
		return rate.NewLimiter(rate.Inf, 1)
	}
	return rate.NewLimiter(rate.Limit(perSecond), 1)
}

// Await returns when it is the caller's turn, or with ctx's error when that ends first.
// The limiter's own Wait fails at once, with another error, where the turn comes after ctx's
// deadline.
func Await(ctx context.Context, limiter *rate.Limiter) error {
	return For(ctx, limiter.Reserve().Delay())
}
