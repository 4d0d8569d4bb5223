package jsonrpc

import (
	"context"
	"sync"
	"time"
)

const (
	// hedgeSamples is how many answers of a method must be known before its p95 is used.
	hedgeSamples = 20
	// hedgeBurst bounds the tokens of the budget, and so the hedges that may come in quick
	// succession.
	hedgeBurst = 10
	// leastHedgeDelay is the shortest delay of a hedge, for methods whose p95 is shorter.
	leastHedgeDelay = 2 * time.Millisecond
)

// budget is a token bucket that limits hedges to a share of the reads: each read adds share of a
// token, each hedge takes a whole token.
type budget struct {
	share  float64
	mu     sync.Mutex
	tokens float64
}

func (b *budget) put() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+b.share, hedgeBurst)
}

func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// newLatencies returns a window for each known method, and one for all others. The map is complete,
// so that it can be read without a lock.
func newLatencies() map[string]*window {
	all := map[string]*window{other: {}}
	for name := range table {
		all[name] = &window{}
	}
	return all
}

func (g *Gateway) latency(m *method) *window {
	if w, ok := g.latencies[m.name]; ok {
		return w
	}
	return g.latencies[other]
}

// forwardRead asks upstreams until one gives an answer that the task accepts. The next one is asked
// when an attempt fails. It is also asked, once and within the budget, when the read takes longer
// than 95 % of the method's recent answers: that is a hedge.
func (g *Gateway) forwardRead(ctx context.Context, t *task) (*answer, error) {
	order := g.pool.choose(t.level, t.least)
	g.hedges.put()
	delay, mayHedge := g.hedgeDelay(t, order)
	if !mayHedge {
		return g.readInTurn(ctx, t, order)
	}
	r := &race{g: g, t: t, ctx: ctx, order: order, ended: make(chan outcome, len(order)), began: time.Now()}
	got, pending, err := r.run(delay)
	r.leave(got, pending)
	return got, err
}

// hedgeDelay returns how long a read may take before it is hedged: the p95 of its method, but at
// least leastHedgeDelay. It returns false if there can be no hedge, or if too few answers of the
// method are known.
func (g *Gateway) hedgeDelay(t *task, order []*upstream) (time.Duration, bool) {
	if len(order) < 2 || g.cfg.HedgeShare <= 0 {
		return 0, false
	}
	p95, enough := g.latency(t.method).quantile95(time.Now(), hedgeSamples)
	return max(p95, leastHedgeDelay), enough
}

// readInTurn is forwardRead without a hedge. It needs no goroutine for an attempt.
func (g *Gateway) readInTurn(ctx context.Context, t *task, order []*upstream) (*answer, error) {
	var missed misses
	for _, u := range order {
		o := g.ask(ctx, u, t)
		switch {
		case ctx.Err() != nil:
			o.drop()
			missed.close()
			return nil, ctx.Err()
		case g.accepts(t, &o):
			missed.close()
			g.latency(t.method).add(o.ended, o.took, false)
			return o.got, nil
		}
		missed.add(&o)
	}
	return missed.end(g.pool, t)
}

// race is one read that may be hedged: an attempt at one upstream, and more attempts when that one
// fails or is slow.
type race struct {
	g       *Gateway
	t       *task
	ctx     context.Context
	order   []*upstream
	ended   chan outcome
	cancels []context.CancelFunc // one for each attempt that was launched
	began   time.Time
	missed  misses
	// hedged is the place in order of the hedge; 0 if there was none, as the first attempt has
	// place 0.
	hedged int
	// winner is the place of the attempt whose answer is passed on.
	winner int
}

// launch starts the next attempt.
func (r *race) launch() {
	place := len(r.cancels)
	ctx, cancel := context.WithCancel(r.ctx)
	r.cancels = append(r.cancels, cancel)
	go func() {
		o := r.g.ask(ctx, r.order[place], r.t)
		o.place = place
		r.ended <- o
	}()
}

// run returns what the client gets, and how many attempts are pending: they have not ended yet. The
// hedge comes after delay.
func (r *race) run(delay time.Duration) (got *answer, pending int, err error) {
	r.launch()
	pending = 1
	late := time.After(delay)
	for {
		select {
		case <-r.ctx.Done():
			return nil, pending, r.ctx.Err()
		case <-late:
			late = nil
			if r.mayHedge() {
				r.hedged = len(r.cancels)
				r.launch()
				pending++
			}
			continue
		case o := <-r.ended:
			pending--
			if r.ctx.Err() != nil {
				o.drop()
				return nil, pending, r.ctx.Err()
			}
			if r.g.accepts(r.t, &o) {
				r.won(&o)
				return o.got, pending, nil
			}
			r.missed.add(&o)
		}
		switch {
		case len(r.cancels) < len(r.order):
			r.launch()
			pending++
		case pending == 0:
			got, err := r.missed.end(r.g.pool, r.t)
			return got, 0, err
		}
	}
}

// accepts returns whether the outcome is an answer to pass on; if so, the task's session remembers
// its slot. It turns an answer from too low a slot into errBehind.
func (g *Gateway) accepts(t *task, o *outcome) bool {
	if o.err != nil {
		return false
	}
	if t.admits(o.got, o.known) {
		return true
	}
	o.known = max(o.known, o.got.at.slot) // for misses.highest
	o.drop()
	o.got, o.err = nil, &upstreamError{"behind", errBehind, true}
	g.metrics.stale.WithLabelValues(o.u.name).Inc()
	return false
}

// mayHedge returns whether there is a next upstream, it is well, and the budget has a token. If all
// of this is so, it takes the token.
func (r *race) mayHedge() bool {
	if len(r.cancels) >= len(r.order) {
		return false
	}
	next := r.order[len(r.cancels)]
	for i, condition := range r.g.pool.judge(time.Now()) {
		if r.g.pool.upstreams[i] == next && condition != well {
			return false
		}
	}
	if !r.g.hedges.take() {
		r.g.metrics.hedges.WithLabelValues("no_budget").Inc()
		return false
	}
	return true
}

// won records the winner. After a hedge the time of the whole race counts as the method's latency:
// without the hedge the client would have waited at least as long.
func (r *race) won(o *outcome) {
	r.winner = o.place
	took := o.took
	if r.hedged > 0 {
		took = o.ended.Sub(r.began)
		label := "lost"
		if o.place == r.hedged {
			label = "won"
		}
		r.g.metrics.hedges.WithLabelValues(label).Inc()
	}
	r.g.latency(r.t.method).add(o.ended, took, false)
}

// leave cancels all attempts and drops the answers of the pending ones. But if the winner's answer
// has a rest, its attempt goes on until the answer is closed. got is what the client gets, and
// leave does not close it.
func (r *race) leave(got *answer, pending int) {
	if r.missed.failed != nil && r.missed.failed != got {
		r.missed.close()
	}
	for place, cancel := range r.cancels {
		if got == nil || got.rest == nil || place != r.winner {
			cancel()
			continue
		}
		end := got.cancel
		got.cancel = func() {
			end()
			cancel()
		}
	}
	if pending == 0 {
		return
	}
	go func() {
		for range pending {
			o := <-r.ended
			o.drop()
		}
	}()
}
