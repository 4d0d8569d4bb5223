package hostqueue

import (
	"container/heap"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/logos/pace"
)

// rememberedPaces bounds the hosts whose pace is remembered: the latest ones (LRU).
const rememberedPaces = 20_000

// NewPaced makes a queue in which each host also has a pace (package pace), unless its name is
// empty. The limit bounds how many jobs of a host are under way at once. The pace says when the
// next job of the host may begin. The caller calls Turn.Told with the outcome of each job.
func NewPaced[T any](workers int, limit func(host string) int) *Queue[T] {
	q := New[T](workers, limit)
	q.paces, _ = lru.New[string, *pace.Host](rememberedPaces) // fails only for a size below 1
	return q
}

// paceOf returns the pace of a host; nil if it has none.
func (q *Queue[T]) paceOf(name string) *pace.Host {
	if q.paces == nil || name == "" {
		return nil
	}
	known, ok := q.paces.Get(name)
	if !ok {
		known = pace.NewHost(q.limit(name))
		q.paces.Add(name, known)
	}
	return known
}

// wait returns how long until the host's pace lets its next job begin. It is negative if a job
// under way must end first, and 0 if the host has no pace.
func (q *Queue[T]) wait(h *host[T]) time.Duration {
	if h.pace == nil {
		return 0
	}
	return h.pace.Wait(time.Now())
}

// Told tells the pace of the job's host how the job ended. The first call counts. If Told was not
// called before Release, the pace assumes that the job made no request.
func (t *Turn[T]) Told(outcome pace.Outcome) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if t.h.pace != nil && !t.told {
		t.told = true
		t.h.pace.Done(t.began, time.Now(), outcome)
		t.q.reconsider(t.h)
	}
}

// Rates returns how many hosts with a pace have jobs now, and the sum of their rates in requests a
// second.
func (q *Queue[T]) Rates() (sum float64, hosts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range q.hosts {
		if h.pace != nil {
			sum += h.pace.Rate()
			hosts++
		}
	}
	return sum, hosts
}

// mostBehind returns how many background jobs may be under way at once.
func (q *Queue[T]) mostBehind() int { return max(q.shares.places-q.shares.places/4, 1) }

// leaveBehind gives back the place of a background job. The next host of back may then begin one.
func (q *Queue[T]) leaveBehind() {
	q.background--
	for len(q.back) > 0 {
		h := q.back[0]
		q.back[0] = nil
		q.back = q.back[1:]
		if h.held { // otherwise Put has brought it forward already
			q.bringForward(h)
			return
		}
	}
	q.cond.Signal() // a parked host with only background jobs may begin one
}

// bringForward puts a host that waits in back into ready. It does nothing if the host does not wait
// there.
func (q *Queue[T]) bringForward(h *host[T]) {
	if !h.held {
		return
	}
	h.held = false
	q.ready = append(q.ready, h)
	q.cond.Signal()
}

// schedule has the hosts whose pace lets none of their jobs begin yet. It is a heap, ordered by the
// time when they may, with one timer for the first host.
type schedule[T any] struct {
	hosts []*host[T]
	timer *time.Timer
}

// postpone puts a host into later, from which due takes it after wait.
func (q *Queue[T]) postpone(h *host[T], wait time.Duration) {
	h.listed, h.later, h.at = true, true, time.Now().Add(wait)
	heap.Push(&q.later, h)
	if q.later.hosts[0] == h {
		q.setTimer(wait)
	}
}

// reconsider is called when the pace of a host has changed. If the host is in later, it is moved to
// the time at which the pace now lets it begin.
func (q *Queue[T]) reconsider(h *host[T]) {
	if !h.later {
		return
	}
	h.at = time.Now().Add(max(q.wait(h), 0))
	heap.Fix(&q.later, h.index)
	q.setTimer(time.Until(q.later.hosts[0].at))
}

func (q *Queue[T]) setTimer(wait time.Duration) {
	if q.later.timer == nil {
		q.later.timer = time.AfterFunc(wait, q.due)
		return
	}
	q.later.timer.Reset(wait)
}

// due takes the hosts whose time has come out of later, and lists them anew.
func (q *Queue[T]) due() {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	for len(q.later.hosts) > 0 {
		first := q.later.hosts[0]
		if wait := first.at.Sub(now); wait > 0 {
			q.setTimer(wait)
			return
		}
		heap.Pop(&q.later)
		first.listed, first.later = false, false
		q.list(first)
		q.forget(first)
	}
}

// Len implements heap.Interface.
func (s *schedule[T]) Len() int { return len(s.hosts) }

// Less implements heap.Interface.
func (s *schedule[T]) Less(i, j int) bool { return s.hosts[i].at.Before(s.hosts[j].at) }

// Swap implements heap.Interface.
func (s *schedule[T]) Swap(i, j int) {
	s.hosts[i], s.hosts[j] = s.hosts[j], s.hosts[i]
	s.hosts[i].index, s.hosts[j].index = i, j
}

// Push implements heap.Interface.
func (s *schedule[T]) Push(x any) {
	h := x.(*host[T])
	h.index = len(s.hosts)
	s.hosts = append(s.hosts, h)
}

// Pop implements heap.Interface.
func (s *schedule[T]) Pop() any {
	last := len(s.hosts) - 1
	h := s.hosts[last]
	s.hosts[last] = nil
	s.hosts = s.hosts[:last]
	return h
}
