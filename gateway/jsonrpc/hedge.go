package jsonrpc

import (
	"context"
	"sync"
	"time"
)

const (
	// hedgeSamples is how many answers of a method must have been seen before its p95 means
	// anything.
	hedgeSamples = 20
	// hedgeBurst is how many hedges may come at once.
	hedgeBurst = 10
	// leastHedgeDelay keeps hedges away from methods that are answered at once.
	leastHedgeDelay = 2 * time.Millisecond
)

// budget holds hedges to a share of the reads: each read puts a share of a token in, each hedge
// takes one out.
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

// newLatencies has a window for each method, so that the map is never written again.
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

// race is a read on its way: one attempt, and others when that fails or is late.
type race struct {
	g       *Gateway
	t       *task
	ctx     context.Context
	order   []*upstream
	ended   chan outcome
	cancels []context.CancelFunc
	began   time.Time
	missed  misses
	// hedged is the place of the attempt that was made because another was late; 0 for none.
	hedged int
	// winner is the place of the attempt whose answer is passed on.
	winner int
}

// forwardRead tries upstreams until one answers as the task wants. The next one is asked when an
// attempt fails, and, within the budget, when it takes longer than 95 % of the method's answers.
func (g *Gateway) forwardRead(ctx context.Context, t *task) (*answer, error) {
	order := g.pool.choose(t.level, t.least)
	r := &race{g: g, t: t, ctx: ctx, order: order, ended: make(chan outcome, len(order)), began: time.Now()}
	g.hedges.put()
	got, pending, err := r.run()
	r.leave(got, pending)
	return got, err
}

// launch makes the next attempt.
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

func (r *race) run() (got *answer, pending int, err error) {
	r.launch()
	pending = 1
	late := r.lateness()
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
			if r.accepts(&o) {
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

// accepts says whether the outcome is an answer to pass on. If it is, the task's session has seen
// its slot.
func (r *race) accepts(o *outcome) bool {
	if o.err != nil {
		return false
	}
	if r.t.admits(o.got, o.known) {
		return true
	}
	o.known = max(o.known, o.got.told.slot)
	o.drop()
	o.got, o.err = nil, &upstreamError{"behind", errBehind, true}
	r.g.metrics.stale.WithLabelValues(o.u.name).Inc()
	return false
}

// lateness fires when the first attempt takes longer than the method's p95.
func (r *race) lateness() <-chan time.Time {
	if len(r.order) < 2 || r.g.cfg.HedgeShare <= 0 {
		return nil
	}
	p95, enough := r.g.latency(r.t.method).quantile95(r.began, hedgeSamples)
	if !enough {
		return nil
	}
	return time.After(max(p95, leastHedgeDelay))
}

// mayHedge says whether the next upstream is in the choice and the budget has room.
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

// won counts the winner. How long the method takes is what the client would have waited without a
// hedge, as far as that is known.
func (r *race) won(o *outcome) {
	r.winner = o.place
	took := o.took
	if r.hedged > 0 {
		took = time.Since(r.began)
		label := "lost"
		if o.place == r.hedged {
			label = "won"
		}
		r.g.metrics.hedges.WithLabelValues(label).Inc()
	}
	r.g.latency(r.t.method).add(time.Now(), took, false)
}

// leave calls off the attempts that are still on their way, and closes what they bring. The
// winner's context ends with its answer.
func (r *race) leave(got *answer, pending int) {
	if r.missed.words != nil && r.missed.words != got {
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
