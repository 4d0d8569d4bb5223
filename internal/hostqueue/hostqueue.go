// Package hostqueue shares workers among hosts.
//
// In: jobs, each with the host that it is for. Out: the same jobs; the hosts take turns, and at
// most a few jobs of each host are under way at once. Guarantees: a slow host occupies as many
// workers as its limit and no more, however long its queue is; jobs of one host come in order.
package hostqueue

import (
	"context"
	"sync"
)

// Queue holds the jobs that wait. Many goroutines may use it at once.
type Queue[T any] struct {
	limit func(host string) int

	mu      sync.Mutex
	cond    *sync.Cond
	hosts   map[string]*host[T]
	waiting int
	ready   []*host[T] // hosts with a waiting job and fewer active ones than limit, each once
}

type host[T any] struct {
	name    string
	limit   int
	waiting []T
	active  int  // jobs under way
	listed  bool // is in Queue.ready
}

// New makes a queue. limit returns how many jobs of a host may be under way at once.
func New[T any](limit func(host string) int) *Queue[T] {
	q := &Queue[T]{limit: limit, hosts: map[string]*host[T]{}}
	q.cond = sync.NewCond(&q.mu)
	return q
}

// Push adds a job.
func (q *Queue[T]) Push(name string, job T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.hosts[name]
	if h == nil {
		h = &host[T]{name: name, limit: q.limit(name)}
		q.hosts[name] = h
	}
	h.waiting = append(h.waiting, job)
	q.waiting++
	q.list(h)
}

// Waiting returns how many jobs wait.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// list puts the host into ready if a worker may take a job of it.
func (q *Queue[T]) list(h *host[T]) {
	if !h.listed && len(h.waiting) > 0 && h.active < h.limit {
		h.listed = true
		q.ready = append(q.ready, h)
		q.cond.Signal()
	}
}

// Pop waits for a job. The caller must call release when the job is done: until then it counts
// against its host's limit. Pop returns ctx's error if ctx ends.
func (q *Queue[T]) Pop(ctx context.Context) (job T, release func(), err error) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.cond.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) == 0 && ctx.Err() == nil {
		q.cond.Wait()
	}
	if ctx.Err() != nil {
		return job, nil, ctx.Err()
	}
	h := q.ready[0]
	q.ready[0] = nil
	q.ready = q.ready[1:]
	h.listed = false
	var none T
	job, h.waiting[0] = h.waiting[0], none
	h.waiting = h.waiting[1:]
	h.active++
	q.waiting--
	q.list(h)
	return job, func() { q.release(h) }, nil
}

func (q *Queue[T]) release(h *host[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h.active--
	if h.active == 0 && len(h.waiting) == 0 {
		delete(q.hosts, h.name)
		return
	}
	q.list(h)
}
