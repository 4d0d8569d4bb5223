// Package pause waits, and spaces what happens evenly.
//
// In: a context and a time. Out: nothing, or the context's error. Guarantees: whoever waits goes on at once when its context ends.
package pause

import (
	"context"
	"sync"
	"time"
)

// For returns after d, or with ctx's error when that ends first. A d that is not positive is over at once.
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

// Pacer spaces calls evenly: it saves nothing up for a burst. The zero value lets all pass; any number of goroutines may use it.
type Pacer struct {
	every time.Duration

	mu   sync.Mutex
	next time.Time
}

// NewPacer lets perSecond calls pass a second; zero or less lets all pass.
func NewPacer(perSecond float64) *Pacer {
	p := &Pacer{}
	if perSecond > 0 {
		p.every = time.Duration(float64(time.Second) / perSecond)
	}
	return p
}

// Wait returns when it is the caller's turn, or with ctx's error when that ends first.
func (p *Pacer) Wait(ctx context.Context) error {
	if p.every <= 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	at := p.next
	if at.Before(now) {
		at = now
	}
	p.next = at.Add(p.every)
	p.mu.Unlock()
	return For(ctx, at.Sub(now))
}
