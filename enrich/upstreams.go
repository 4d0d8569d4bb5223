package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
)

const (
	// leftOut is how long an upstream that was found lying is not asked.
	leftOut = 5 * time.Minute
	// firstRest is how long an upstream rests after a failure: it is asked only after all others.
	// The rest doubles with each further failure in a row, up to longestRest.
	firstRest, longestRest = 500 * time.Millisecond, 30 * time.Second
)

// Upstream is one server that accounts are read from.
type Upstream struct {
	// Name is the server's host. It is a metric label, and facts carry it as Enrichment.upstream.
	Name string
	// RPC must make only one attempt at each call, so that the next upstream is asked soon. If
	// there is no other upstream, it may repeat failed calls.
	RPC RPC
}

// UpstreamsDeps are the collaborators of Upstreams; all but Upstreams may be nil.
type UpstreamsDeps struct {
	Upstreams  []Upstream
	Bounds     *bounds.Bounds
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Clock is time.Now by default.
	Clock func() time.Time
}

// Upstreams reads accounts from several servers in turn, and remembers which server said what. A
// server that fails rests, one that is far behind is passed over, and one that was found lying is
// left out for a while, unless no other is left. Safe for concurrent use.
type Upstreams struct {
	bounds  *bounds.Bounds
	logger  *slog.Logger
	now     func() time.Time
	metrics *upstreamMetrics
	// unchecked are the reads that no other upstream has confirmed yet; nil if there is only one
	// upstream.
	unchecked *unchecked

	mu   sync.Mutex
	all  []*upstream
	next int // the index in all of the upstream whose turn it is
}

type upstream struct {
	Upstream
	failures   int       // in a row
	restsUntil time.Time // because it failed
	outUntil   time.Time // because it was found lying
}

// reading is the answer to one call of getMultipleAccounts. accounts has the accounts in the order
// of the keys, nil for one that does not exist. length is how many bytes of each account were asked
// for.
type reading struct {
	upstream string
	slot     uint64
	accounts []*solana.Account
	length   uint64
}

// NewUpstreams makes the upstreams and registers their metrics. At least one is required.
func NewUpstreams(deps UpstreamsDeps) (*Upstreams, error) {
	if len(deps.Upstreams) == 0 {
		return nil, errors.New("enrich: at least one upstream is required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Clock == nil {
		deps.Clock = time.Now
	}
	u := &Upstreams{bounds: deps.Bounds, logger: deps.Logger, now: deps.Clock}
	for _, one := range deps.Upstreams {
		u.all = append(u.all, &upstream{Upstream: one})
	}
	if len(u.all) > 1 {
		u.unchecked = newUnchecked()
	}
	var err error
	u.metrics, err = newUpstreamMetrics(deps.Registerer, u)
	return u, err
}

// upstreamsOf returns upstreams if it is not nil, or else Upstreams of the one server rpc; nil if
// rpc is nil, too.
func upstreamsOf(upstreams *Upstreams, rpc RPC, now func() time.Time) (*Upstreams, error) {
	if upstreams != nil || rpc == nil {
		return upstreams, nil
	}
	return NewUpstreams(UpstreamsDeps{Upstreams: []Upstream{{RPC: rpc}}, Clock: now})
}

// readStart reads the first length bytes of each account, as read does, and counts the outcome in
// calls.
func (u *Upstreams) readStart(ctx context.Context, toAsk []*upstream, keys []pubkey.Key, level solana.Commitment, length uint64, calls *prometheus.CounterVec) (reading, error) {
	r, err := u.read(ctx, toAsk, keys, solana.AccountOptions{Commitment: level, DataSlice: &solana.DataSlice{Length: length}})
	outcome := rpcRefused
	switch {
	case err == nil:
		outcome = rpcOK
	case solana.Retryable(err):
		outcome = rpcRetryable
	}
	calls.WithLabelValues(outcome).Inc()
	return r, err
}

// read asks the upstreams toAsk, one after the other, until one of them answers and is not far
// behind the others. If all answers are far behind, the one of the highest slot counts. If there is
// no answer, read returns an error that is not retryable, if there was one, or else the last error.
func (u *Upstreams) read(ctx context.Context, toAsk []*upstream, keys []pubkey.Key, opts solana.AccountOptions) (reading, error) {
	var behind reading
	var refused, last error
	for _, one := range toAsk {
		r, err := u.ask(ctx, one, keys, opts)
		switch {
		case err == nil && !u.bounds.Behind(one.Name, r.slot):
			return r, nil
		case err == nil && (behind.accounts == nil || r.slot > behind.slot):
			behind = r
		case ctx.Err() != nil:
			return reading{}, ctx.Err()
		case err != nil && !solana.Retryable(err):
			refused = err
		}
		last = err
	}
	switch {
	case behind.accounts != nil:
		return behind, nil
	case refused != nil:
		return reading{}, refused
	}
	return reading{}, last
}

// order returns the upstreams in the order in which to ask them: first those that do not rest, then
// those that rest. At each call another upstream has its turn to be the first. Upstreams that were
// found lying are returned only if there is no other.
func (u *Upstreams) order() []*upstream {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.now()
	var awake, resting, out []*upstream
	for i := range u.all {
		switch one := u.all[(u.next+i)%len(u.all)]; {
		case now.Before(one.outUntil):
			out = append(out, one)
		case now.Before(one.restsUntil):
			resting = append(resting, one)
		default:
			awake = append(awake, one)
		}
	}
	u.next = (u.next + 1) % len(u.all)
	if awake = append(awake, resting...); len(awake) > 0 {
		return awake
	}
	return out
}

// ask reads accounts from one upstream. An answer at a slot that cannot be true is an error. ask
// lets the upstream rest if it fails.
func (u *Upstreams) ask(ctx context.Context, one *upstream, keys []pubkey.Key, opts solana.AccountOptions) (reading, error) {
	slot, accounts, err := one.RPC.GetMultipleAccounts(ctx, keys, opts)
	if err == nil && len(accounts) != len(keys) {
		err = fmt.Errorf("%w: %d accounts for %d keys", solana.ErrMalformed, len(accounts), len(keys))
	}
	if err == nil {
		if impossible := u.bounds.Read(one.Name, slot); impossible != nil {
			err = fmt.Errorf("getMultipleAccounts: %w: %w", solana.ErrMalformed, impossible)
			// If the claim is only ahead of the others, these may all be behind.
			if !errors.Is(impossible, bounds.ErrAhead) {
				u.lied(one, "it said that it had reached a slot that no chain can have reached")
			}
		}
	}
	if ctx.Err() == nil {
		u.noteOutcome(one, err)
	}
	if err != nil {
		return reading{}, err
	}
	r := reading{upstream: one.Name, slot: slot, accounts: accounts}
	if opts.DataSlice != nil {
		r.length = opts.DataSlice.Length
	}
	return r, nil
}

// noteOutcome lets an upstream rest after a failed call. If there is only one upstream, it never
// rests, because no other one could be asked meanwhile.
func (u *Upstreams) noteOutcome(one *upstream, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err == nil || len(u.all) == 1 {
		one.failures, one.restsUntil = 0, time.Time{}
		return
	}
	one.restsUntil = u.now().Add(min(firstRest<<min(one.failures, 10), longestRest))
	one.failures++
}

func (u *Upstreams) count(outcome string, n int) {
	u.metrics.checks.WithLabelValues(outcome).Add(float64(n))
}

// others returns the upstreams in the order in which to ask them, without those named and those
// that are left out.
func (u *Upstreams) others(names ...string) []*upstream {
	return slices.DeleteFunc(u.order(), func(one *upstream) bool {
		return slices.Contains(names, one.Name) || u.isOut(one)
	})
}

// named returns the upstream of a name, also if it is left out; nil if there is none.
func (u *Upstreams) named(name string) *upstream {
	for _, one := range u.all {
		if one.Name == name {
			return one
		}
	}
	return nil
}

// isOut reports whether an upstream is left out now.
func (u *Upstreams) isOut(one *upstream) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now().Before(one.outUntil)
}

// rests reports whether an upstream rests now, because it failed a moment ago.
func (u *Upstreams) rests(one *upstream) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.now().Before(one.restsUntil)
}

// lied leaves out an upstream that was found lying, unless no other upstream is left. It makes the
// reads from this upstream due that were not confirmed yet.
func (u *Upstreams) lied(one *upstream, why string) {
	u.metrics.lies.WithLabelValues(one.Name).Inc()
	if len(u.others(one.Name)) == 0 {
		return
	}
	u.mu.Lock()
	already := u.now().Before(one.outUntil)
	one.outUntil = u.now().Add(leftOut)
	u.mu.Unlock()
	if !already {
		u.logger.Error("an upstream was found lying and is left out: what was read from it is read again at others", "upstream", one.Name, "why", why, "for", leftOut)
	}
	u.unchecked.hurry(one.Name, u.now())
}

type upstreamMetrics struct {
	lies, checks *prometheus.CounterVec
}

// Outcomes of checks: metric labels.
const (
	checkAgreed    = "agreed"
	checkDiffered  = "differed"
	checkMoving    = "moving"
	checkUndecided = "undecided"
	checkMissed    = "missed"
)

func newUpstreamMetrics(registerer prometheus.Registerer, u *Upstreams) (*upstreamMetrics, error) {
	m := &upstreamMetrics{
		lies: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_enrich_upstream_lies_total",
			Help: "Answers of an upstream that were found to be lies, by upstream."}, []string{"upstream"}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "mintlake_enrich_checks_total",
			Help: "Reads of mints that were compared with another upstream, by what came of it."}, []string{"outcome"}),
	}
	for _, outcome := range []string{checkAgreed, checkDiffered, checkMoving, checkUndecided, checkMissed} {
		m.checks.WithLabelValues(outcome)
	}
	collectors := []prometheus.Collector{m.lies, m.checks}
	for _, one := range u.all {
		m.lies.WithLabelValues(one.Name)
		collectors = append(collectors, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "mintlake_enrich_upstream_left_out",
			Help:        "1 while the upstream is left out because it was found lying.",
			ConstLabels: prometheus.Labels{"upstream": one.Name}}, func() float64 {
			if u.isOut(one) {
				return 1
			}
			return 0
		}))
	}
	return m, counters.Register(registerer, collectors...)
}
