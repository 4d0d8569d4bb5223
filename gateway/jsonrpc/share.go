package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// shareBytes bounds an answer that several callers share. A longer answer is streamed to the first
// of them; the others make their own calls.
const shareBytes = 1 << 20

// flight is a read in flight that several callers may wait for. got and err are valid once done is
// closed.
type flight struct {
	done    chan struct{}
	waiting int // callers besides the first; guarded by flights.mu
	got     *answer
	err     error
}

// errAlone tells the callers that wait for a flight to make their own calls.
var errAlone = errors.New("the answer is not to be shared")

// flights are the reads in flight, by key. They work like x/sync/singleflight, which cannot stream:
// it would hold each answer in memory.
type flights struct {
	mu  sync.Mutex
	all map[string]*flight
}

// join returns the flight of that key. If there is none, join makes it. Then the caller is the
// first, and must call end.
func (f *flights) join(key string) (shared *flight, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if shared, ok := f.all[key]; ok {
		shared.waiting++
		return shared, false
	}
	shared = &flight{done: make(chan struct{}), err: errAlone}
	f.all[key] = shared
	return shared, true
}

func (f *flights) waiting(shared *flight) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return shared.waiting
}

// end removes the flight and wakes the callers that wait for it.
func (f *flights) end(key string, shared *flight) {
	f.mu.Lock()
	delete(f.all, key)
	f.mu.Unlock()
	close(shared.done)
}

// read answers a read from the cache, from an identical read in flight, or from an upstream.
func (g *Gateway) read(ctx context.Context, t *task) (*answer, error) {
	if t.call.Notification() {
		return g.forwardRead(ctx, t)
	}
	lasting := t.method.lasting && t.level == finalized && g.cache != nil
	if lasting {
		if result := g.cache.get(string(t.key)); result != nil {
			g.metrics.cache.WithLabelValues("hit").Inc()
			return resultAnswer(t.call.ID, result), nil
		}
		g.metrics.cache.WithLabelValues("miss").Inc()
	}
	if !g.cfg.ShareReads {
		return g.readUpstream(ctx, t, lasting)
	}
	key := fmt.Sprintf("%d %d %s", t.level, t.least, t.key)
	shared, first := g.flights.join(key)
	if first {
		defer g.flights.end(key, shared)
		got, err := g.readUpstream(ctx, t, lasting)
		if err == nil && got.rest != nil && g.flights.waiting(shared) > 0 {
			err = got.readUpTo(shareBytes, t.method)
		}
		var behind *behindError
		switch {
		case ctx.Err() != nil: // this client gave up: those that wait make their own calls
		case t.session != nil && errors.As(err, &behind): // others may accept a lower slot
		case err != nil:
			shared.err = err
		case got.rest == nil:
			shared.got, shared.err = got, nil
		}
		return got, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-shared.done:
	}
	if shared.err != nil && !errors.Is(shared.err, errAlone) {
		return nil, shared.err
	}
	// The caller's session may have seen a later slot since, by another call.
	if shared.err != nil || !t.admits(shared.got, 0) {
		return g.readUpstream(ctx, t, lasting)
	}
	g.metrics.shared.Inc()
	if shared.got.failure != nil {
		return failureAnswer(t.call.ID, shared.got.failure), nil
	}
	return resultAnswer(t.call.ID, shared.got.result), nil
}

// readUpstream answers from an upstream, and caches the answer if it is lasting.
func (g *Gateway) readUpstream(ctx context.Context, t *task, lasting bool) (*answer, error) {
	got, err := g.forwardRead(ctx, t)
	if err == nil && lasting {
		g.cache.keep(string(t.key), got)
	}
	return got, err
}

// readUpTo reads on until the answer is whole or its head has most bytes. A whole answer is parsed
// and has no rest. If readUpTo returns an error, it has closed the answer.
func (a *answer) readUpTo(most int64, m *method) error {
	more, err := io.ReadAll(io.LimitReader(a.rest, most-int64(len(a.head))))
	a.head = append(a.head, more...)
	if err != nil {
		a.close()
		return connectionError(err)
	}
	if int64(len(a.head)) == most {
		return nil
	}
	_ = a.rest.Close()
	a.rest = nil
	if !bytes.HasSuffix(bytes.TrimSpace(a.head), []byte("}")) {
		a.close()
		return malformed()
	}
	if err := a.readWhole(oneAnswer, m); err != nil {
		a.close()
		return err
	}
	return nil
}
