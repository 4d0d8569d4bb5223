package preflight

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mintlake/mintlake/ingest/source"
)

// checkRates calls each server at the rate at which Mintlake will call it.
func (r *run) checkRates(ctx context.Context, f *Forecast) {
	for _, endpoint := range r.cfg.Upstreams {
		r.checkRate(ctx, endpoint, "upstream", f.rate(len(r.cfg.Upstreams)))
	}
	if r.cfg.Source.Kind == source.KindRPC {
		r.checkRate(ctx, r.cfg.Source.Endpoint, "source", f.rate(1))
	}
}

// checkRate makes perSecond calls a second for the time burst, and counts the calls that the server
// refuses because of its rate limit. under is the first part of the check's name.
func (r *run) checkRate(ctx context.Context, endpoint, under string, perSecond int) {
	a, err := r.upstream(endpoint)
	if err != nil || r.failed(a.host) {
		return // an earlier check has reported it
	}
	a.under = under
	var mu sync.Mutex
	var calls sync.WaitGroup
	var took []time.Duration
	answered, refused, broken := 0, 0, 0
	begin := time.Now()
	tick := time.NewTicker(time.Second / time.Duration(perSecond))
	defer tick.Stop()
	for range perSecond * int(burst/time.Second) {
		calls.Go(func() {
			var slot uint64
			asked := time.Now()
			err := a.rpc.Call(ctx, "getSlot", nil, &slot)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				answered, took = answered+1, append(took, time.Since(asked))
			case limited(err):
				refused++
			default:
				broken++
			}
		})
		<-tick.C
	}
	calls.Wait()
	bears := float64(answered) / time.Since(begin).Seconds()
	c := Check{Name: under + ".rate", Endpoint: a.host, State: OK, Found: fmt.Sprintf("%d calls a second for %s are answered", perSecond, burst), Millis: median(took)}
	if refused+broken > 0 {
		c.State, c.Means = Less, "calls wait as long as it asks for, and what they read is late"
		c.Found = fmt.Sprintf("of %d calls at %d a second %d are refused as too many and %d fail: it bears some %.1f a second", answered+refused+broken, perSecond, refused, broken, bears)
	}
	r.add(c)
}

// failed reports whether a check of an endpoint failed.
func (r *run) failed(endpoint string) bool {
	for _, c := range r.checks {
		if c.Endpoint == endpoint && c.State == Fails {
			return true
		}
	}
	return false
}
