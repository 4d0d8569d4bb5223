// Package hostqueue shares workers among hosts.
//
// In: jobs, each with the host that it is for and the groups that the host belongs to, such as its
// registrable domain and its address. Out: the same jobs; the hosts take turns.
// Guarantees: at most a few jobs of each host are under way at once. While others wait, a group
// holds at most an eighth of the workers, so a slow server delays only its own jobs, however many
// names it has. Jobs of one host come in order, those of the background after the others. Hosts
// that have a pace are asked no faster.
package hostqueue

import (
	"context"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/logos/pace"
)

// Queue holds the jobs that wait. Many goroutines may use it at once.
type Queue[T any] struct {
	limit func(host string) int

	mu      sync.Mutex
	cond    *sync.Cond
	shares  shares
	hosts   map[string]*host[T]
	waiting int
	// ready are the hosts with a waiting job and fewer active ones than limit. parked are those of
	// them that wait until a group has room. Each host is there once, in one of both.
	ready  []*host[T]
	parked []*lot[T]
	// paces are those of the last hosts (LRU), nil if the queue has none. later are the hosts whose
	// pace lets none of their jobs begin yet.
	paces *lru.Cache[string, *pace.Host]
	later schedule[T]
	// background counts the jobs of the background that are under way or held; back are the hosts
	// that wait until others may begin.
	background int
	back       []*host[T]
}

type host[T any] struct {
	name    string
	limit   int
	groups  []string
	waiting []T
	behind  []T // the background's
	pace    *pace.Host
	later   bool      // is in Queue.later
	place   int       // in Queue.later
	at      time.Time // when its pace lets the next one begin
	active  int       // jobs under way
	listed  bool      // is in Queue.ready, Queue.parked, Queue.later or Queue.back
	held    bool      // is in Queue.back
}

// jobs is how many jobs of the host wait.
func (h *host[T]) jobs() int { return len(h.waiting) + len(h.behind) }

// lot has the hosts that wait for one group. There are few lots: a group that is full holds places.
type lot[T any] struct {
	group string
	hosts []*host[T]
}

// New makes a queue for this many workers. limit returns how many jobs of a host may be under way
// at once.
func New[T any](workers int, limit func(host string) int) *Queue[T] {
	q := &Queue[T]{limit: limit, shares: newShares(workers), hosts: map[string]*host[T]{}}
	q.cond = sync.NewCond(&q.mu)
	return q
}

// Place is where a job is put among those of its host.
type Place struct {
	// Behind makes it one of the background: it comes after the host's others, and jobs of the
	// background leave a quarter of the workers to them.
	Behind bool
	// First puts it before the others of its kind.
	First bool
}

// Push adds a job. groups are those of the host, as far as they are known; of a host without
// groups only the limit counts.
func (q *Queue[T]) Push(name string, groups []string, job T) { q.Put(name, groups, job, Place{}) }

// Put is Push to a place.
func (q *Queue[T]) Put(name string, groups []string, job T, place Place) {
	q.mu.Lock()
	defer q.mu.Unlock()
	h := q.hosts[name]
	if h == nil {
		h = &host[T]{name: name, limit: q.limit(name), pace: q.paceOf(name)}
		q.hosts[name] = h
	}
	h.groups = groups
	q.waiting++
	jobs := &h.waiting
	if place.Behind {
		jobs = &h.behind
	}
	if place.First {
		*jobs = slices.Insert(*jobs, 0, job)
	} else {
		*jobs = append(*jobs, job)
	}
	if !place.Behind {
		q.bringForward(h)
	}
	q.list(h)
}

// Waiting returns how many jobs wait.
func (q *Queue[T]) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting
}

// Remove takes out the jobs at the front of each host's queues, up to the first that expired does
// not report.
func (q *Queue[T]) Remove(expired func(job T) bool) (removed []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range q.hosts {
		for _, jobs := range []*[]T{&h.waiting, &h.behind} {
			n := 0
			for n < len(*jobs) && expired((*jobs)[n]) {
				n++
			}
			removed = append(removed, (*jobs)[:n]...)
			*jobs = slices.Delete(*jobs, 0, n)
			q.waiting -= n
		}
		q.forget(h)
	}
	return removed
}

// forget drops a host that has nothing to do. One that is listed is dropped by take.
func (q *Queue[T]) forget(h *host[T]) {
	if h.active == 0 && h.jobs() == 0 && !h.listed {
		delete(q.hosts, h.name)
	}
}

// list puts the host into ready if a worker may take a job of it, or into later if its pace lets it
// begin later.
func (q *Queue[T]) list(h *host[T]) {
	if h.listed || h.jobs() == 0 || h.active >= h.limit {
		return
	}
	switch wait := q.wait(h); {
	case wait < 0: // until one of its jobs ends
	case wait > 0:
		q.postpone(h, wait)
	default:
		h.listed = true
		q.ready = append(q.ready, h)
		q.cond.Signal()
	}
}

// park lets a host wait for room in a group. Its other groups may have room, for which it was
// called: their next host is called instead.
func (q *Queue[T]) park(h *host[T], group string) {
	i := slices.IndexFunc(q.parked, func(l *lot[T]) bool { return l.group == group })
	if i < 0 {
		i = len(q.parked)
		q.parked = append(q.parked, &lot[T]{group: group})
	}
	q.parked[i].hosts = append(q.parked[i].hosts, h)
	for _, other := range h.groups {
		if other != group {
			q.call(other)
		}
	}
}

// call puts the first host that waits for the group back into ready, if the group has room.
func (q *Queue[T]) call(group string) {
	i := slices.IndexFunc(q.parked, func(l *lot[T]) bool { return l.group == group })
	if _, full := q.shares.full([]string{group}, true); i < 0 || full {
		return
	}
	q.ready = append(q.ready, q.unpark(i))
	q.cond.Signal()
}

// unpark takes the first host out of a lot.
func (q *Queue[T]) unpark(i int) *host[T] {
	l := q.parked[i]
	h := l.hosts[0]
	l.hosts[0] = nil
	if l.hosts = l.hosts[1:]; len(l.hosts) == 0 {
		q.parked = slices.Delete(q.parked, i, i+1)
	}
	return h
}

// Turn is a job under way.
type Turn[T any] struct {
	Job T

	q      *Queue[T]
	h      *host[T]
	m      member
	behind bool
	began  time.Time // if the host has a pace
	told   bool
}

// Pop waits for a job. The caller must call Release when the job is done. Pop returns ctx's error
// if ctx ends.
func (q *Queue[T]) Pop(ctx context.Context) (*Turn[T], error) {
	stop := context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.cond.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for ctx.Err() == nil {
		if turn := q.take(); turn != nil {
			return turn, nil
		}
		q.cond.Wait()
	}
	return nil, ctx.Err()
}

// take begins the next job; nil if none may begin. A host whose groups hold their share comes last.
func (q *Queue[T]) take() *Turn[T] {
	for len(q.ready) > 0 {
		h := q.ready[0]
		q.ready[0] = nil
		q.ready = q.ready[1:]
		group, full := q.shares.full(h.groups, true)
		switch {
		case h.jobs() == 0 || q.wait(h) != 0: // Remove has emptied it, or its pace has changed
			q.unlist(h)
		case len(h.waiting) == 0 && q.background >= q.mostBehind():
			h.held = true
			q.back = append(q.back, h)
		case full:
			q.park(h, group)
		default:
			return q.begin(h)
		}
	}
	for i := 0; i < len(q.parked); {
		h := q.parked[i].hosts[0]
		_, full := q.shares.full(h.groups, false)
		switch {
		case h.jobs() == 0 || q.wait(h) != 0:
			q.unlist(q.unpark(i))
			return q.take() // it may have called others
		case full || len(h.waiting) == 0 && q.background >= q.mostBehind():
			i++
		default:
			return q.begin(q.unpark(i))
		}
	}
	return nil
}

func (q *Queue[T]) unlist(h *host[T]) {
	h.listed = false
	q.list(h)
	q.forget(h)
	for _, group := range h.groups {
		q.call(group)
	}
}

func (q *Queue[T]) begin(h *host[T]) *Turn[T] {
	h.listed = false
	t := &Turn[T]{q: q, h: h, m: member{shares: &q.shares}}
	jobs := &h.waiting
	if len(h.waiting) == 0 {
		jobs, t.behind = &h.behind, true
		q.background++
	}
	var none T
	t.Job, (*jobs)[0] = (*jobs)[0], none
	*jobs = (*jobs)[1:]
	h.active++
	q.waiting--
	q.shares.active++
	t.m.enter(h.groups)
	if h.pace != nil {
		t.began = time.Now()
		h.pace.Begin(t.began)
	}
	q.list(h)
	return t
}

// Join counts the job for one more group, which was learned while it is under way. If Join returns
// false, the group has no room and the job must not go on.
func (t *Turn[T]) Join(group string) bool {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return t.m.join(group, len(t.q.ready) > 0)
}

// Release ends the turn.
func (t *Turn[T]) Release() { t.ReleaseAfter(0) }

// ReleaseAfter ends the turn. If it is one of the background, others of the background have its
// place after a delay only.
func (t *Turn[T]) ReleaseAfter(delay time.Duration) {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	t.m.leave()
	t.h.active--
	q.shares.active--
	if t.h.pace != nil && !t.told {
		t.h.pace.Done(t.began, time.Now(), pace.Outcome{Unasked: true})
		q.reconsider(t.h)
	}
	switch {
	case t.behind && delay > 0:
		time.AfterFunc(delay, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.leaveBehind()
		})
	case t.behind:
		q.leaveBehind()
	}
	q.list(t.h)
	q.forget(t.h)
	for _, group := range t.m.groups {
		q.call(group)
	}
	q.cond.Signal() // a place is free: hosts that hold their share may take it
}
