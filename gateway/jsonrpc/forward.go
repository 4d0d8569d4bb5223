package jsonrpc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/mintlake/mintlake/internal/panics"
	"github.com/mintlake/mintlake/internal/tracing"
)

// outcome is the result of one attempt at an upstream.
type outcome struct {
	u *upstream
	// got is set if err is nil. It is also set with errUnhealthy, errLimited and errOdd, and with
	// errBehind if the node itself answered that it is behind.
	got *answer
	err error
	// known is the upstream's slot, as it was known before the attempt.
	known uint64
	// place is the index of the upstream in the order in which the call tries upstreams.
	place int
	// ended is when the attempt ended. took is how long it took.
	ended time.Time
	took  time.Duration
}

// drop closes the answer, which nobody wants.
func (o *outcome) drop() {
	if o.got != nil {
		o.got.close()
	}
}

// behindError says that no upstream has reached the slot that a call wants.
type behindError struct{ wanted, highest uint64 }

func (e *behindError) Error() string { return "Minimum context slot has not been reached" }

// misses collects the attempts of one call that gave no answer to pass on. Of their answers it
// keeps only the last one that is an error.
type misses struct {
	last   error
	failed *answer // the last answer that is an error
	behind bool    // an upstream was behind
	// highest is the highest slot of the upstreams that were behind.
	highest uint64
}

// add adds an attempt. If its answer is an error, add keeps that answer in place of the one kept
// before.
func (m *misses) add(o *outcome) {
	if errors.Is(o.err, errBehind) {
		m.behind = true
		if o.got != nil {
			m.highest = max(m.highest, o.got.at.slot)
		} else {
			m.highest = max(m.highest, o.known)
		}
	}
	m.last = o.err
	if o.got != nil && o.got.failure != nil {
		if m.failed != nil {
			m.failed.close()
		}
		m.failed = o.got
		return
	}
	o.drop()
}

// close closes the answer that was kept.
func (m *misses) close() {
	if m.failed != nil {
		m.failed.close()
	}
}

// end returns what the client gets if no attempt gave an answer to pass on. If an upstream was
// behind, that is a behindError. Otherwise it is the last answer that is an error, because that
// says more than an error of the gateway. Without such an answer it is the error of the last
// attempt.
func (m *misses) end(p *pool, t *task) (*answer, error) {
	// With one upstream and without a session, the upstream's own error is passed on, even if it
	// says that the upstream is behind: only the client can have asked for that slot.
	single := len(p.upstreams) == 1 && t.session == nil && m.failed != nil
	if m.behind && !single {
		if m.failed != nil {
			m.failed.close()
		}
		return nil, &behindError{t.wanted(), max(m.highest, p.highest(t.level))}
	}
	if m.failed != nil {
		return m.failed, nil
	}
	if m.last == nil { // there was no attempt: choose left all upstreams out
		return nil, &upstreamError{"other_chain", errors.New("every upstream serves another chain than the data is of"), true}
	}
	return nil, m.last
}

// ask makes one attempt for a task and records what it shows of the upstream. If the session needs
// a slot that the upstream is not known to have reached, ask polls the upstream first. If the
// upstream is still below that slot and the answer would not name its own slot, ask returns
// errBehind without an attempt. If an answer names a slot that the pool does not believe, ask drops
// the answer and returns errAhead. A panic counts as an attempt that failed with errInternal.
func (g *Gateway) ask(ctx context.Context, u *upstream, t *task) (o outcome) {
	report := func(error) {}
	defer panics.Catch(g.log, g.metrics.panics, func() {
		report(context.Canceled) // a panic of the gateway says nothing about the upstream
		o = outcome{u: u, err: &upstreamError{outcome: "panic", err: errInternal}}
	})
	o.u = u
	var seen bool
	o.known, seen = u.slots.known(t.level)
	if t.session != nil && t.least > 0 && (!seen || o.known < t.least) {
		g.refresh(ctx, u)
		if o.known, _ = u.slots.known(t.level); o.known < t.least && !t.method.namesSlot {
			o.err = &upstreamError{"behind", errBehind, true}
			return o
		}
	}
	want := oneAnswer
	if t.call.Notification() {
		want = noAnswer
	}
	// The attempt is made even if the circuit breaker does not allow it: choose has put such
	// upstreams last.
	_, report = u.allow()
	began := time.Now()
	o.got, o.err = g.attemptFor(ctx, u, t.body, want, t.method, t.call.ID)
	o.ended = time.Now()
	o.took = o.ended.Sub(began)
	if o.err == nil && o.got.at.hasSlot && !t.method.timeless {
		if !g.pool.believes(u, t.level, o.got.at.slot) {
			o.drop()
			o.got, o.err = nil, &upstreamError{outcome: "ahead", err: errAhead}
		} else {
			u.slots.learn(t.level, o.got.at.slot, began)
		}
	}
	g.settle(ctx, u, o, report)
	return o
}

// settle reports an attempt to the circuit breaker, by report, and to the window. If ctx ended
// meanwhile, the attempt shows nothing of the upstream. An upstream that was behind, or answered an
// odd error, counts as a success: it answered, and clients could otherwise open its breaker with
// odd calls.
func (g *Gateway) settle(ctx context.Context, u *upstream, o outcome, report func(error)) {
	switch {
	case ctx.Err() != nil:
		report(context.Canceled)
	case o.err == nil || errors.Is(o.err, errBehind) || errors.Is(o.err, errOdd):
		report(nil)
		u.window.add(o.ended, o.took, false)
	default:
		report(o.err)
		u.window.add(o.ended, o.took, true)
	}
}

// attempt sends a request to one upstream. With errUnhealthy, errLimited, errOdd and errBehind it
// returns the answer, too.
func (g *Gateway) attempt(ctx context.Context, u *upstream, body []byte, want expected) (*answer, error) {
	return g.attemptFor(ctx, u, body, want, nil, nil)
}

// attemptFor is like attempt, for a call of method m, which says whether its answer names a slot.
// id is the id of the call.
func (g *Gateway) attemptFor(ctx context.Context, u *upstream, body []byte, want expected, m *method, id json.RawMessage) (*answer, error) {
	began := time.Now()
	asking, span := tracing.Client(ctx, "upstream")
	got, err := g.post(asking, u, body, span.Traceparent(), want, m, id)
	outcome := "ok"
	var failed *upstreamError
	switch {
	case errors.As(err, &failed):
		outcome = failed.outcome
	case err != nil:
		outcome = "other"
	}
	if ctx.Err() != nil {
		outcome = "canceled"
	}
	span.String("upstream", u.name)
	span.String("outcome", outcome)
	if outcome != "ok" {
		span.Fail(outcome)
	}
	span.End()
	if want == poll {
		g.metrics.polls.WithLabelValues(u.name, outcome).Inc()
		return got, err
	}
	g.metrics.attempts.WithLabelValues(u.name, outcome).Inc()
	g.metrics.attemptSeconds.WithLabelValues(u.name).Observe(time.Since(began).Seconds())
	return got, err
}

// post sends a request and reads the beginning of the answer.
func (g *Gateway) post(parent context.Context, u *upstream, body []byte, traceparent string, want expected, m *method, id json.RawMessage) (*answer, error) {
	ctx, cancel := context.WithCancel(parent)
	// This timeout is for the beginning of the answer. The rest may take until the request's own
	// timeout.
	late := time.AfterFunc(g.cfg.attemptTimeout, cancel)
	defer late.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, &upstreamError{"request", errors.New("build request"), true}
	}
	req.Header = u.header
	if traceparent != "" {
		req.Header = u.header.Clone()
		req.Header.Set(tracing.Header, traceparent)
	}
	// RoundTrip, unlike http.Client, follows no redirect. That would send the call, and the
	// upstream's key, to another server.
	resp, err := g.transport.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, connectionError(err)
	}
	got := &answer{rest: resp.Body, cancel: cancel, sent: id}
	if err := got.peek(resp, want, m); err != nil {
		if got.failure == nil {
			got.close()
			return nil, err
		}
		return got, err
	}
	return got, nil
}

// connectionError returns the upstreamError for an error of the transport.
func connectionError(err error) error {
	var timeout net.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()) {
		return &upstreamError{outcome: "timeout", err: errors.New("no answer in time")}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &upstreamError{outcome: "connection", err: errors.New("the answer broke off")}
	}
	return &upstreamError{"connection", err, neverSent(err)}
}

// neverSent returns whether there was not even a connection, so that nothing was sent.
func neverSent(err error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}
