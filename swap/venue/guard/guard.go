// Package guard keeps the panic of one venue from ending the process, or the answers of others.
//
// In: venues. Out: the same venues, of which no call panics. Guarantees: a panic becomes an error
// that wraps venue.ErrStopped. It stops the venue: the venue's pools give no quote until a pause is
// over. The panic is counted, and logged with its stack. Other venues are not affected. A quote
// costs no extra allocation.
//
// Accounts of a stopped venue are still opened and decoded, so that its state is there when the
// pause is over.
package guard

import (
	"fmt"
	"log/slog"
	"math/bits"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/swap/venue"
)

// A panic stops its venue for firstPause. Each further panic doubles the pause, up to maxPause.
// After calm without a panic, the next pause is firstPause again.
const (
	firstPause = time.Minute
	maxPause   = time.Hour
	calm       = 2 * maxPause
)

// Places of a panic, as the metric names them.
const (
	placeLookup       = "lookup"
	placeOpen         = "open"
	placeDecode       = "decode"
	placeQuote        = "quote"
	placeInstructions = "instructions"
	placeTrade        = "trade"
)

// Deps are the collaborators; all may be nil. Now is the wall clock; default time.Now.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Guard wraps venues so that none panics. It is safe for concurrent use.
type Guard struct {
	deps   Deps
	venues []*guarded
	panics *prometheus.CounterVec
}

// New wraps venues and registers the metrics.
func New(list venue.List, deps Deps) (*Guard, error) {
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	g := &Guard{deps: deps, panics: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "mintlake_swap_venue_panics_total", Help: "Calls of a venue's code that panicked, by what was called.",
	}, []string{"venue", "call"})}
	for _, v := range list {
		counters.Preset(g.panics, []string{v.Name()}, []string{placeLookup, placeOpen, placeDecode, placeQuote, placeInstructions, placeTrade})
		g.venues = append(g.venues, &guarded{Venue: v, guard: g, name: v.Name()})
	}
	if deps.Registerer == nil {
		return g, nil
	}
	if err := deps.Registerer.Register(g.panics); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	return g, nil
}

// Gate decides which swaps of a venue may be quoted.
type Gate interface {
	// Allows returns nil for swaps that may be quoted, else an error that wraps a venue.Refusal. It
	// does not allocate.
	Allows(features venue.Features) error
}

// Venues returns the guarded venues in the order of New. gate returns the gate of a venue by name.
// It may be nil, or return nil: then all swaps may be quoted.
func (g *Guard) Venues(gate func(name string) Gate) venue.List {
	list := make(venue.List, len(g.venues))
	for i, v := range g.venues {
		gated := &gated{guarded: v}
		if gate != nil {
			gated.gate = gate(v.name)
		}
		list[i] = gated
	}
	return list
}

// Stopped returns why a venue is stopped; nil if it is not.
func (g *Guard) Stopped(name string) *Stop {
	i := slices.IndexFunc(g.venues, func(v *guarded) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return g.venues[i].stopped()
}

// Stop is why a venue gives no quotes. It is an error that wraps venue.ErrStopped.
type Stop struct {
	// Message is for clients. It has nothing of the panic, which is in the log.
	Message string
	// Until is when the venue is tried again.
	Until time.Time
}

// Error implements error.
func (s *Stop) Error() string { return venue.ErrStopped.Error() + ": " + s.Message }

// Unwrap makes the Stop a venue.Refusal.
func (s *Stop) Unwrap() error { return venue.ErrStopped }

// guarded is a venue whose panics are caught.
type guarded struct {
	venue.Venue
	guard *Guard
	name  string
	// stop is the last panic's; nil once its pause is over.
	stop atomic.Pointer[Stop]

	mu    sync.Mutex
	count uint      // panics since the last calm
	last  time.Time // time of the last panic
	total uint      // all panics, for sampling the log
}

// stopped returns why the venue is stopped; nil if it is not, or if the pause is over.
func (v *guarded) stopped() *Stop {
	stop := v.stop.Load()
	if stop == nil || v.guard.deps.Now().Before(stop.Until) {
		return stop
	}
	v.stop.CompareAndSwap(stop, nil)
	return nil
}

// caught turns a panic into an error. It must be called by defer directly, as recover works only
// then.
func (v *guarded) caught(place string, err *error) {
	if reason := recover(); reason != nil {
		*err = v.fail(place, reason)
	}
}

// fail stops the venue and returns the error of its panic.
func (v *guarded) fail(place string, reason any) error {
	v.guard.panics.WithLabelValues(v.name, place).Inc()
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.guard.deps.Now()
	if now.Sub(v.last) > calm {
		v.count = 0
	}
	// A panic during a pause is of a call that began before it, and does not count.
	if stop := v.stop.Load(); stop == nil || !now.Before(stop.Until) {
		v.count++
	}
	v.last = now
	pause := maxPause
	if v.count < 7 { // from the 7th on firstPause<<(count-1) is above maxPause
		pause = min(firstPause<<(v.count-1), maxPause)
	}
	stop := &Stop{Message: "its code failed (" + place + "): it is tried again later", Until: now.Add(pause)}
	v.stop.Store(stop)
	if v.total++; bits.OnesCount(v.total) == 1 { // the 1st, 2nd, 4th, 8th and so on
		v.guard.deps.Logger.Error("a venue panicked and is out", "venue", v.name, "call", place, "pause", pause, "failures", v.total,
			"err", fmt.Sprintf("panic: %v: %s", reason, debug.Stack()))
	}
	return stop
}
