package search

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Whoever helped with a search stays awake for a moment, as the next one may come at once: a core that sleeps takes 60 to 200 microseconds to wake, in
// which most searches are over.

const (
	// attention is how long a helper listens for another search. It ends when the cores have searches of their own.
	attention = 200 * time.Microsecond
	// patience is how long a searcher looks whether its helpers are done before it sleeps: it would not be awake again sooner, and maybe on a core whose
	// caches know nothing of it.
	patience = 100 * time.Microsecond
)

// helper is a searcher that another one shares its views with.
type helper struct {
	searcher, owner *searcher
	// work is done by several at once.
	work func(s *searcher)
	// begun is set by who is first: the helper that begins, or the one who needs it no more.
	begun atomic.Bool
	done  chan struct{} // holds one
	// failed is what the helper panicked with.
	failed any
}

// helpers are the searchers of an index that help others.
type helpers struct {
	// busy is how many searchers are at work; of more than there are cores none would be quicker.
	busy  atomic.Int32
	cores int32
	// listening is how many wait for a search and are not promised one yet. What they are promised comes through next; nil if there is no core after all.
	listening atomic.Int32
	next      chan *helper
}

func newHelpers(cores int) helpers {
	return helpers{cores: int32(cores), next: make(chan *helper, cores)}
}

// hire has somebody help a searcher, if there is a core: one who listens, or, for a long search, one who must be woken. It is nil when nobody does.
func (x *helpers) hire(s *searcher, isLong bool, work func(s *searcher)) *helper {
	listens := x.engage()
	if !listens && !isLong {
		return nil
	}
	var h *helper
	if x.enlist() {
		h = &helper{owner: s, work: work, done: make(chan struct{}, 1)}
	}
	switch {
	case listens:
		x.next <- h
	case h != nil:
		go x.help(h)
		go func() {}() // idle cores take the youngest goroutine last, after a nap: let it be this one
	}
	return h
}

// enlist counts one more who is busy; false when there is no core for it.
func (x *helpers) enlist() bool {
	for n := x.busy.Load(); n < x.cores; n = x.busy.Load() {
		if x.busy.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// engage takes one from those who listen: it is promised a search, or leaves. It is false when there is none.
func (x *helpers) engage() bool {
	for n := x.listening.Load(); n > 0; n = x.listening.Load() {
		if x.listening.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// help helps one after the other, as long as there is somebody to help.
func (x *helpers) help(h *helper) {
	for ; h != nil; h = x.listen() {
		if h.begun.CompareAndSwap(false, true) {
			h.run()
		}
	}
}

// listen waits for a search to help with; nil when there is none for a while.
func (x *helpers) listen() *helper {
	x.listening.Add(1)
	for began := time.Now(); ; {
		select {
		case h := <-x.next:
			return h
		default:
		}
		if (time.Since(began) > attention || x.busy.Load() >= x.cores) && x.engage() {
			return nil
		}
		runtime.Gosched() // whoever else wants the core has it
	}
}

// run does as the owner does.
func (h *helper) run() {
	x := h.owner.index
	defer func() {
		h.failed = recover() // it is the owner's to fail
		x.busy.Add(-1)
		h.done <- struct{}{}
	}()
	h.searcher = x.pool.Get().(*searcher)
	h.searcher.join(h.owner)
	h.work(h.searcher)
}

// thank takes over what helpers did, or tells them that they come too late. What one of them panicked with is the searcher's to fail with.
func (s *searcher) thank(hired []*helper) {
	var failed any
	for _, h := range hired {
		if h.begun.CompareAndSwap(false, true) {
			s.index.busy.Add(-1)
			continue
		}
		for began := time.Now(); len(h.done) == 0 && time.Since(began) < patience; {
		}
		<-h.done
		if h.failed != nil {
			failed = h.failed // its searcher is left half done
			continue
		}
		s.total += h.searcher.total
		for i := range h.searcher.top.found {
			s.top.offer(&h.searcher.top.found[i])
		}
		s.index.release(h.searcher)
	}
	if failed != nil {
		panic(failed)
	}
}

// join makes a searcher ready for a search that another one has begun. It has counted and found nothing yet.
func (s *searcher) join(other *searcher) {
	s.plan, s.index = other.plan, other.index
	s.collect, s.bare, s.taken, s.bound = other.collect, other.bare, other.taken, other.bound
	s.total, s.top = 0, top{order: other.top.order, k: other.top.k, found: s.top.found[:0]}
}
