package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/pause"
)

const (
	// lookEvery is the time between two rounds of checks. A probe gets the last results, so it
	// costs nothing. It learns of a failure within five seconds, the sum of lookEvery and
	// lookTimeout.
	lookEvery = 2 * time.Second
	// lookTimeout bounds one check.
	lookTimeout = 3 * time.Second
)

// check is something that the rooms of this process need.
type check struct {
	name string
	// vital is true if this process is not ready while the check fails. Other checks are only
	// shown: a room can work without them for a while.
	vital bool
	probe func(ctx context.Context) error
	err   error // of the last probe
}

// readiness reports whether the rooms of this process can do their work: at GET /readyz on the
// metrics address, and as mintlake_check_up. The API, the gateway and the swap API have a /readyz
// of their own on the addresses that they serve, for load balancers.
type readiness struct {
	up *prometheus.GaugeVec

	mu     sync.Mutex
	state  string // why not ready, whatever the checks say; empty once all rooms run
	checks []*check
}

func newReadiness(registerer prometheus.Registerer) *readiness {
	r := &readiness{state: "starting", up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mintlake_check_up", Help: "1 if what this process needs answered when it was last looked at, else 0, by check.",
	}, []string{"check"})}
	registerer.MustRegister(r.up)
	return r
}

// add adds a check. If two rooms need the same thing, there is one check, with the probe of the
// first room. The check is vital if it is vital for one of them.
func (r *readiness) add(name string, vital bool, probe func(ctx context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.checks {
		if c.name == name {
			c.vital = c.vital || vital
			return
		}
	}
	r.up.WithLabelValues(name).Set(0)
	r.checks = append(r.checks, &check{name: name, vital: vital, probe: probe, err: errNotLooked})
}

var errNotLooked = fmt.Errorf("not looked at yet")

// setState sets why the process is not ready; empty if only the checks decide.
func (r *readiness) setState(state string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
}

// Run makes the checks every lookEvery until ctx ends.
func (r *readiness) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		r.look(ctx)
		_ = pause.For(ctx, lookEvery) // the loop ends with ctx
	}
	return nil
}

// look makes all checks at the same time.
func (r *readiness) look(ctx context.Context) {
	r.mu.Lock()
	checks := append([]*check(nil), r.checks...)
	r.mu.Unlock()
	var looking sync.WaitGroup
	for _, c := range checks {
		looking.Go(func() {
			within, cancel := context.WithTimeout(ctx, lookTimeout)
			defer cancel()
			err := c.probe(within)
			if ctx.Err() != nil {
				return // the process is stopping, and so may be what the check is about
			}
			r.mu.Lock()
			c.err = err
			r.mu.Unlock()
			up := 1.0
			if err != nil {
				up = 0
			}
			r.up.WithLabelValues(c.name).Set(up)
		})
	}
	looking.Wait()
}

// ServeHTTP answers 200 or 503, with a line for each check.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	r.mu.Lock()
	ready, lines := r.state == "", []string{}
	if !ready {
		lines = append(lines, r.state)
	}
	for _, c := range r.checks {
		switch {
		case c.err == nil:
			lines = append(lines, c.name+": ok")
		case c.vital:
			ready = false
			lines = append(lines, c.name+": "+oneLine(c.err))
		default:
			lines = append(lines, c.name+": fails, and is not needed to be ready: "+oneLine(c.err))
		}
	}
	r.mu.Unlock()
	verdict, status := "ready", http.StatusOK
	if !ready {
		verdict, status = "not ready", http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintln(w, verdict+"\n"+strings.Join(lines, "\n"))
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
