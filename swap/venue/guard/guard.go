// Package guard keeps the panic of one venue from ending the process, or the answers of others.
//
// In: venues. Out: the same venues, whose every call may fail and none panics.
// Guarantees: a call that panics is an error that wraps venue.ErrStopped; from then on the venue's
// pools give no quote until the pause is over. The panic is counted, and logged with its stack.
// Other venues are not touched. A quote costs no allocation more.
//
// A venue that is out is opened and decoded still, so that its state is there when it comes back.
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

// The pause after a panic. Each further one doubles it; a venue that was well for calm begins anew.
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
	placeAfter        = "after"
	placeInstructions = "instructions"
	placeTrade        = "trade"
)

// Deps are the collaborators; all may be nil. Now is the wall clock; default time.Now.
type Deps struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Guard is venues that cannot panic. Safe for concurrent use.
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
		counters.Preset(g.panics, []string{v.Name()}, []string{placeLookup, placeOpen, placeDecode, placeQuote, placeAfter, placeInstructions, placeTrade})
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

// Gate says which swaps of a venue may be quoted.
type Gate interface {
	// Allows returns an error that wraps a venue.Refusal for swaps that may not. It does not
	// allocate.
	Allows(features venue.Features) error
}

// Venues are the guarded ones, in the order of those that were given. gate returns the gate of each
// by name; it may be nil, and may return nil, for no gate.
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

// Stopped says why a venue is out; nil if it is not.
func (g *Guard) Stopped(name string) *Stop {
	i := slices.IndexFunc(g.venues, func(v *guarded) bool { return v.name == name })
	if i < 0 {
		return nil
	}
	return g.venues[i].stopped()
}

// Stop is why a venue gives no quotes. It is an error that wraps venue.ErrStopped.
type Stop struct {
	// Message for clients. It tells nothing of the panic, which is in the log.
	Message string
	// Until is when the venue is tried again.
	Until time.Time
}

// Error implements error.
func (s *Stop) Error() string { return venue.ErrStopped.Error() + ": " + s.Message }

// Unwrap makes it a refusal.
func (s *Stop) Unwrap() error { return venue.ErrStopped }

// guarded is one venue.
type guarded struct {
	venue.Venue
	guard *Guard
	name  string
	out   atomic.Pointer[Stop]

	mu    sync.Mutex
	count uint      // of panics since it was well
	last  time.Time // of them
	told  uint      // panics that the log may tell
}

// stopped is why the venue is out.
func (v *guarded) stopped() *Stop {
	stop := v.out.Load()
	if stop == nil || v.guard.deps.Now().Before(stop.Until) {
		return stop
	}
	v.out.CompareAndSwap(stop, nil)
	return nil
}

// caught turns a panic into an error. It must be deferred itself.
func (v *guarded) caught(place string, err *error) {
	if reason := recover(); reason != nil {
		*err = v.fail(place, reason)
	}
}

// fail takes the venue out.
func (v *guarded) fail(place string, reason any) error {
	v.guard.panics.WithLabelValues(v.name, place).Inc()
	v.mu.Lock()
	defer v.mu.Unlock()
	now := v.guard.deps.Now()
	if now.Sub(v.last) > calm {
		v.count = 0
	}
	if stop := v.out.Load(); stop == nil || !now.Before(stop.Until) { // not one of many at a time
		v.count++
	}
	v.last = now
	pause := maxPause
	if v.count < 7 {
		pause = min(firstPause<<(v.count-1), maxPause)
	}
	stop := &Stop{Message: "its code failed (" + place + "): it is tried again later", Until: now.Add(pause)}
	v.out.Store(stop)
	if v.told++; bits.OnesCount(v.told) == 1 { // sampled
		v.guard.deps.Logger.Error("a venue panicked and is out", "venue", v.name, "call", place, "pause", pause, "failures", v.told,
			"err", fmt.Sprintf("panic: %v: %s", reason, debug.Stack()))
	}
	return stop
}
