package hostqueue

import (
	"container/heap"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/mintlake/mintlake/logos/pace"
)

// rememberedPaces bounds the hosts whose pace is remembered: the latest ones (LRU).
const rememberedPaces = 20_000

// NewPaced is like New, and each host with a name has a pace: its limit bounds what is under way
// at once, and its pace when the next job may begin. The caller tells the outcome of each job.
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

// wait is the host's pace.Host.Wait; 0 if it has no pace.
func (q *Queue[T]) wait(h *host[T]) time.Duration {
	if h.pace == nil {
		return 0
	}
	return h.pace.Wait(time.Now())
}

// Told tells the pace of the job's host how the job ended. Without it, no request was made.
func (t *Turn[T]) Told(outcome pace.Outcome) {
	t.q.mu.Lock()
	defer t.q.mu.Unlock()
	if t.h.pace != nil && !t.told {
		t.told = true
		t.h.pace.Done(t.began, time.Now(), outcome)
		t.q.reconsider(t.h)
	}
}

// Rates returns how many requests a second the hosts bear together, of those that have jobs, and
// how many such hosts there are.
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

// mostBehind is how many jobs of the background may be under way.
func (q *Queue[T]) mostBehind() int { return max(q.shares.places-q.shares.places/4, 1) }

// leaveBehind ends a job of the background: the next host that waited for that may begin one.
func (q *Queue[T]) leaveBehind() {
	q.background--
	for len(q.back) > 0 {
		h := q.back[0]
		q.back[0] = nil
		q.back = q.back[1:]
		if h.held {
			q.bringForward(h)
			return
		}
	}
	q.cond.Signal()
}

// bringForward makes a host ready that waited for a place of the background.
func (q *Queue[T]) bringForward(h *host[T]) {
	if !h.held {
		return
	}
	h.held = false
	q.ready = append(q.ready, h)
	q.cond.Signal()
}

// schedule has the hosts whose pace lets none of their jobs begin yet: a heap by time, and a timer
// for the first of them.
type schedule[T any] struct {
	hosts []*host[T]
	timer *time.Timer
}

// postpone lists a host again after a wait.
func (q *Queue[T]) postpone(h *host[T], wait time.Duration) {
	h.listed, h.later, h.at = true, true, time.Now().Add(wait)
	heap.Push(&q.later, h)
	if q.later.hosts[0] == h {
		q.setTimer(wait)
	}
}

// reconsider moves a host of later to when its pace, which has changed, lets it begin.
func (q *Queue[T]) reconsider(h *host[T]) {
	if !h.later {
		return
	}
	h.at = time.Now().Add(max(q.wait(h), 0))
	heap.Fix(&q.later, h.place)
	q.setTimer(time.Until(q.later.hosts[0].at))
}

func (q *Queue[T]) setTimer(wait time.Duration) {
	if q.later.timer == nil {
		q.later.timer = time.AfterFunc(wait, q.due)
		return
	}
	q.later.timer.Reset(wait)
}

// due lists the hosts whose time has come.
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
	s.hosts[i].place, s.hosts[j].place = i, j
}

// Push implements heap.Interface.
func (s *schedule[T]) Push(x any) {
	h := x.(*host[T])
	h.place = len(s.hosts)
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
