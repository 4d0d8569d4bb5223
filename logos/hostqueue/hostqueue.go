// Package hostqueue shares workers among hosts.
//
// In: jobs, each with the host that it is for and the groups that the host belongs to, such as its
// registrable domain and its address. Out: the same jobs; the hosts take turns.
// Guarantees: at most a few jobs of each host are under way at once. While others wait, a group
// holds at most an eighth of the workers, so a slow server delays only its own jobs, however many
// names it has. Jobs of one host come in the order of the queue, its background jobs after its
// other jobs (see Place). If the queue is paced, no job of a host begins sooner than the host's
// pace allows (see NewPaced).
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
	waiting int // jobs of all hosts that wait
	// A listed host is in one of ready, parked, later and back. Every host is listed that has
	// waiting jobs and fewer under way than its limit, unless its pace waits for the end of one of
	// these. ready are the hosts that take asks for their next job, in this order.
	ready []*host[T]
	// parked are the hosts that wait until one of their groups has room.
	parked []*lot[T]
	// later are the hosts whose pace lets none of their jobs begin yet.
	later schedule[T]
	// back are the hosts that have only background jobs and wait until one more may begin. A host
	// that left back early still has an entry there, which leaveBehind skips.
	back []*host[T]
	// background counts the background jobs under way, and those that ended but keep their place
	// for a while (see ReleaseAfter).
	background int
	// paces are the paces of the latest hosts (LRU); nil if the queue has none.
	paces *lru.Cache[string, *pace.Host]
}

type host[T any] struct {
	name    string
	limit   int
	groups  []string
	waiting []T        // the jobs that wait, without the background jobs
	behind  []T        // the background jobs that wait
	pace    *pace.Host // nil if it has none
	later   bool       // is in Queue.later
	index   int        // in the heap of Queue.later
	at      time.Time  // when its pace lets the next job begin; valid if later
	active  int        // jobs under way
	listed  bool       // is in Queue.ready, Queue.parked, Queue.later or Queue.back
	held    bool       // is in Queue.back
}

// jobs returns how many jobs of the host wait.
func (h *host[T]) jobs() int { return len(h.waiting) + len(h.behind) }

// lot has the hosts that wait until one group has room. There are few lots, because each full group
// holds some of the workers. So a linear search finds a lot fast.
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
	// Behind makes the job a background job. It comes after the other jobs of its host, and the
	// background jobs of all hosts together leave a quarter of the workers to the other jobs.
	Behind bool
	// First puts the job before the host's waiting jobs of the same kind, background or not,
	// instead of behind them.
	First bool
}

// Push adds a job for the host name. groups are the groups of the host that the caller knows now.
// They replace the groups of an earlier Push. A host without groups is bounded by its limit only.
func (q *Queue[T]) Push(name string, groups []string, job T) { q.Put(name, groups, job, Place{}) }

// Put is Push with a place for the job among those of its host.
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
	if !place.Behind { // the host no longer has only background jobs
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

// Remove takes out expired jobs. At each host it takes the jobs from the front, up to the first for
// which expired returns false. It does that for background jobs and for other jobs separately.
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

// forget drops a host without jobs. A listed host is not dropped yet: whoever takes it out of its
// list calls forget again.
func (q *Queue[T]) forget(h *host[T]) {
	if h.active == 0 && h.jobs() == 0 && !h.listed {
		delete(q.hosts, h.name)
	}
}

// list puts the host into ready if a worker may take a job of it, or into later if its pace lets
// the next job begin only later. It does nothing if the host is listed already, has no waiting job,
// or has as many under way as it may.
func (q *Queue[T]) list(h *host[T]) {
	if h.listed || h.jobs() == 0 || h.active >= h.limit {
		return
	}
	switch wait := q.wait(h); {
	case wait < 0: // one of its jobs must end first: ReleaseAfter then calls list
	case wait > 0:
		q.postpone(h, wait)
	default:
		h.listed = true
		q.ready = append(q.ready, h)
		q.cond.Signal()
	}
}

// park makes a host wait until group has room. Maybe call has put the host into ready because
// another of its groups has room. The host cannot use that room now, so park calls the next host
// that waits for it.
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

// call puts the first host that is parked for the group back into ready, if the group has room.
func (q *Queue[T]) call(group string) {
	i := slices.IndexFunc(q.parked, func(l *lot[T]) bool { return l.group == group })
	if _, full := q.shares.full([]string{group}, true); i < 0 || full {
		return
	}
	q.ready = append(q.ready, q.unpark(i))
	q.cond.Signal()
}

// unpark takes the first host out of lot i of parked, and removes the lot if it is then empty.
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
	m      member    // the groups that the job counts for
	behind bool      // a background job
	began  time.Time // set if the host has a pace
	told   bool      // Told was called
}

// Pop waits for a job. The caller must call Release when the job is done. Pop returns ctx's error
// if ctx ends.
func (q *Queue[T]) Pop(ctx context.Context) (*Turn[T], error) {
	stop := context.AfterFunc(ctx, func() { // wakes the loop below when ctx ends
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

// take begins the next job; nil if none may begin. It takes jobs of ready hosts first. If none of
// these may begin one, the free workers go to parked hosts, as far as shares.full lets a group have
// more than its share.
func (q *Queue[T]) take() *Turn[T] {
	for len(q.ready) > 0 {
		h := q.ready[0]
		q.ready[0] = nil
		q.ready = q.ready[1:]
		group, full := q.shares.full(h.groups, true)
		switch {
		case h.jobs() == 0 || q.wait(h) != 0: // Remove took its jobs, or its pace has changed
			q.unlist(h)
		case len(h.waiting) == 0 && q.background >= q.mostBehind():
			// The host has only background jobs, and no further one may begin.
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
			return q.take() // unlist may have put other hosts into ready
		case full || len(h.waiting) == 0 && q.background >= q.mostBehind():
			i++
		default:
			return q.begin(q.unpark(i))
		}
	}
	return nil
}

// unlist is called for a host that was taken out of its list and cannot begin a job. It lists the
// host anew or forgets it, and calls the next hosts that are parked for its groups.
func (q *Queue[T]) unlist(h *host[T]) {
	h.listed = false
	q.list(h)
	q.forget(h)
	for _, group := range h.groups {
		q.call(group)
	}
}

// begin begins the next job of a host that was taken out of its list.
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

// Join counts the job for one more group, which the caller learned while the job is under way. If
// Join returns false, the group has no room and the job must not go on.
func (t *Turn[T]) Join(group string) bool {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	return t.m.join(group, len(t.q.ready) > 0)
}

// Release ends the turn.
func (t *Turn[T]) Release() { t.ReleaseAfter(0) }

// ReleaseAfter ends the turn. The worker is free right away. But if the job was a background job,
// another background job gets its place only after delay.
func (t *Turn[T]) ReleaseAfter(delay time.Duration) {
	q := t.q
	q.mu.Lock()
	defer q.mu.Unlock()
	t.m.leave()
	t.h.active--
	q.shares.active--
	if t.h.pace != nil && !t.told { // the caller made no request
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
	q.cond.Signal() // a worker is free, which take may give to a parked host
}
