package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// shareBytes bounds an answer that several callers share. A longer one is streamed to the first of
// them; the others make their own calls.
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

// join returns the flight of that key. If there is none, it makes one: then the caller is the
// first, and must call end.
func (f *flights) join(key string) (one *flight, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one, ok := f.all[key]; ok {
		one.waiting++
		return one, false
	}
	one = &flight{done: make(chan struct{}), err: errAlone}
	f.all[key] = one
	return one, true
}

func (f *flights) waiting(one *flight) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return one.waiting
}

// end removes the flight and wakes those who wait for it.
func (f *flights) end(key string, one *flight) {
	f.mu.Lock()
	delete(f.all, key)
	f.mu.Unlock()
	close(one.done)
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
		return g.readFirst(ctx, t, lasting)
	}
	key := fmt.Sprintf("%d %d %s", t.level, t.least, t.key)
	one, first := g.flights.join(key)
	if first {
		defer g.flights.end(key, one)
		got, err := g.readFirst(ctx, t, lasting)
		if err == nil && got.rest != nil && g.flights.waiting(one) > 0 {
			err = got.readUpTo(shareBytes, t.method)
		}
		var behind *behindError
		switch {
		case ctx.Err() != nil: // this client gave up: the others make their own calls
		case t.session != nil && errors.As(err, &behind): // the others may have seen less
		case err != nil:
			one.err = err
		case got.rest == nil:
			one.got, one.err = got, nil
		}
		return got, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-one.done:
	}
	if one.err != nil && !errors.Is(one.err, errAlone) {
		return nil, one.err
	}
	// The session may have seen a later slot since, by another call.
	if one.err != nil || !t.admits(one.got, 0) {
		return g.readFirst(ctx, t, lasting)
	}
	g.metrics.shared.Inc()
	if one.got.failure != nil {
		return failureAnswer(t.call.ID, one.got.failure), nil
	}
	return resultAnswer(t.call.ID, one.got.result), nil
}

// readFirst answers from an upstream, and caches the answer if it is lasting.
func (g *Gateway) readFirst(ctx context.Context, t *task, lasting bool) (*answer, error) {
	got, err := g.forwardRead(ctx, t)
	if err == nil && lasting {
		g.cache.keep(string(t.key), got)
	}
	return got, err
}

// readUpTo reads on until the answer is whole or its head has most bytes. A whole answer is parsed
// and has no rest. With an error the answer is closed.
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
