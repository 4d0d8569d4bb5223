package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/mintlake/mintlake/internal/tracing"
)

// outcome is how an attempt ended.
type outcome struct {
	u   *upstream
	got *answer // there with errUnhealthy, errLimited and the node's own errBehind too
	err error
	// known is the slot that the upstream was known to have before it was asked.
	known uint64
	// place is the upstream's place in the order of the call.
	place int
	took  time.Duration
}

// drop ends an attempt whose answer nobody wants.
func (o *outcome) drop() {
	if o.got != nil {
		o.got.close()
	}
}

// behindError says that no upstream has the slot that a call wants.
type behindError struct{ wanted, highest uint64 }

func (e *behindError) Error() string { return "Minimum context slot has not been reached" }

// misses is what attempts that gave no answer to pass on left behind.
type misses struct {
	last   error
	words  *answer // the last upstream's own words
	behind bool
	// highest is the highest slot of those behind.
	highest uint64
}

func (m *misses) add(o *outcome) {
	if errors.Is(o.err, errBehind) {
		m.behind = true
		if o.got != nil {
			m.highest = max(m.highest, o.got.told.slot)
		} else {
			m.highest = max(m.highest, o.known)
		}
	}
	m.last = o.err
	if o.got != nil && o.got.failure != nil {
		if m.words != nil {
			m.words.close()
		}
		m.words = o.got
		return
	}
	o.drop()
}

// close gives up what was kept.
func (m *misses) close() {
	if m.words != nil {
		m.words.close()
	}
}

// end is what a call gets for which no upstream had an answer: that none has its slot, or the last
// one's own words, since they say more than ours.
func (m *misses) end(p *pool, t *task) (*answer, error) {
	// its own words say all that there is to say
	theirs := len(p.upstreams) == 1 && t.session == nil && m.words != nil
	if m.behind && !theirs {
		if m.words != nil {
			m.words.close()
		}
		return nil, &behindError{t.wanted(), max(m.highest, p.highest(t.level))}
	}
	if m.words != nil {
		return m.words, nil
	}
	return nil, m.last
}

// ask makes one attempt for a task, and learns from it.
func (g *Gateway) ask(ctx context.Context, u *upstream, t *task) outcome {
	o := outcome{u: u}
	var seen bool
	o.known, seen = u.slots.known(t.level)
	if t.session != nil && t.least > 0 && (!seen || o.known < t.least) {
		g.refresh(ctx, u)
		if o.known, _ = u.slots.known(t.level); o.known < t.least && !t.method.tells {
			o.err = &upstreamError{"behind", errBehind, true}
			return o
		}
	}
	want := oneAnswer
	if t.call.notification() {
		want = noAnswer
	}
	_, done := u.allow()
	began := time.Now()
	o.got, o.err = g.attemptFor(ctx, u, t.body, want, t.method)
	o.took = time.Since(began)
	if o.err == nil && o.got.told.hasSlot {
		if !g.pool.believes(u, t.level, o.got.told.slot) {
			o.drop()
			o.got, o.err = nil, &upstreamError{outcome: "ahead", err: errAhead}
		} else {
			u.slots.learn(t.level, o.got.told.slot, began)
		}
	}
	g.settle(ctx, u, o, done)
	return o
}

// settle tells breaker and window how an attempt ended. One that was called off says nothing of the
// upstream, and one that is behind is well.
func (g *Gateway) settle(ctx context.Context, u *upstream, o outcome, done func(error)) {
	switch {
	case ctx.Err() != nil:
		done(context.Canceled)
	case o.err == nil || errors.Is(o.err, errBehind):
		done(nil)
		u.window.add(time.Now(), o.took, false)
	default:
		done(o.err)
		u.window.add(time.Now(), o.took, true)
	}
}

// attempt asks one upstream. With errUnhealthy, errLimited and errBehind there is an answer too.
func (g *Gateway) attempt(ctx context.Context, u *upstream, body []byte, want expected) (*answer, error) {
	return g.attemptFor(ctx, u, body, want, nil)
}

// attemptFor is attempt for a call of method m, whose answer may name its slot.
func (g *Gateway) attemptFor(ctx context.Context, u *upstream, body []byte, want expected, m *method) (*answer, error) {
	began := time.Now()
	asking, span := tracing.Client(ctx, "upstream")
	got, err := g.post(asking, u, body, span.Traceparent(), want, m)
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

func (g *Gateway) post(parent context.Context, u *upstream, body []byte, traceparent string, want expected, m *method) (*answer, error) {
	ctx, cancel := context.WithCancel(parent)
	// The limit is for the beginning of the answer: a long one that flows is fine until the
	// request's own time is up.
	late := time.AfterFunc(g.cfg.attemptTimeout, cancel)
	defer late.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.url, bytes.NewReader(body))
	if err != nil {
		cancel()
		return nil, &upstreamError{"request", errors.New("build request"), true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "mintlake")
	if traceparent != "" {
		req.Header.Set(tracing.Header, traceparent)
	}
	resp, err := g.client.Do(req) //nolint:bodyclose // answer.close closes it
	if err != nil {
		cancel()
		return nil, connectionError(err)
	}
	got := &answer{rest: resp.Body, cancel: cancel}
	if err := got.peek(resp.StatusCode, want, m); err != nil {
		if got.failure == nil {
			got.close()
			return nil, err
		}
		return got, err
	}
	return got, nil
}

// connectionError takes the URL, which may hold a key, out of an error of net/http.
func connectionError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var timeout net.Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || (errors.As(err, &timeout) && timeout.Timeout()) {
		return &upstreamError{outcome: "timeout", err: errors.New("no answer in time")}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &upstreamError{outcome: "connection", err: errors.New("the answer broke off")}
	}
	return &upstreamError{"connection", err, neverSent(err)}
}

// neverSent says that the connection was not even made.
func neverSent(err error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}
