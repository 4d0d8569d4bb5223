package search

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Whoever helped with a search stays awake for a moment, as the next one may come at once: a core
// that sleeps takes 60 to 200 microseconds to wake, in which most searches are over.

const (
	// idleSpin is how long a helper listens for another search. It ends when the cores have
	// searches of their own.
	idleSpin = 200 * time.Microsecond
	// mergeSpin is how long a searcher looks whether its helpers are done before it sleeps: it
	// would not be awake again sooner, and maybe on a core whose caches know nothing of it.
	mergeSpin = 100 * time.Microsecond
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
	// idle is how many wait for a search and are not promised one yet. What they are promised comes
	// through next; nil if there is no core after all.
	idle atomic.Int32
	next chan *helper
}

func newHelpers(cores int) helpers {
	return helpers{cores: int32(cores), next: make(chan *helper, cores)}
}

// startHelper gives a part of the search to a helper: to an idle one, or, for a long search, to one
// that must be woken. It returns nil if no core is free.
func (x *helpers) startHelper(s *searcher, isLong bool, work func(s *searcher)) *helper {
	listens := x.claimIdle()
	if !listens && !isLong {
		return nil
	}
	var h *helper
	if x.reserveCore() {
		h = &helper{owner: s, work: work, done: make(chan struct{}, 1)}
	}
	switch {
	case listens:
		x.next <- h
	case h != nil:
		go x.help(h)
		// idle cores take the youngest goroutine last, after a nap: let it be this one
		go func() {}()
	}
	return h
}

// reserveCore counts one more busy searcher. It returns false if there is no core for it.
func (x *helpers) reserveCore() bool {
	for n := x.busy.Load(); n < x.cores; n = x.busy.Load() {
		if x.busy.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// claimIdle takes one helper from the idle ones. The caller then sends it a search, or it ends. It
// returns false if none is idle.
func (x *helpers) claimIdle() bool {
	for n := x.idle.Load(); n > 0; n = x.idle.Load() {
		if x.idle.CompareAndSwap(n, n-1) {
			return true
		}
	}
	return false
}

// help works on one search after the other, until awaitWork returns nil.
func (x *helpers) help(h *helper) {
	for ; h != nil; h = x.awaitWork() {
		if h.begun.CompareAndSwap(false, true) {
			h.run()
		}
	}
}

// awaitWork waits for a search to help with. It returns nil if none comes within idleSpin.
func (x *helpers) awaitWork() *helper {
	x.idle.Add(1)
	for began := time.Now(); ; {
		select {
		case h := <-x.next:
			return h
		default:
		}
		if (time.Since(began) > idleSpin || x.busy.Load() >= x.cores) && x.claimIdle() {
			return nil
		}
		runtime.Gosched() // whoever else wants the core has it
	}
}

// run does the helper's part of the search.
func (h *helper) run() {
	x := h.owner.index
	defer func() {
		h.failed = recover() // the owner panics with it
		x.busy.Add(-1)
		h.done <- struct{}{}
	}()
	h.searcher = x.pool.Get().(*searcher)
	h.searcher.join(h.owner)
	h.work(h.searcher)
}

// mergeHelpers merges the helpers' results, and cancels helpers that have not begun. A helper's
// panic is raised again here.
func (s *searcher) mergeHelpers(started []*helper) {
	var failed any
	for _, h := range started {
		if h.begun.CompareAndSwap(false, true) {
			s.index.busy.Add(-1)
			continue
		}
		for began := time.Now(); len(h.done) == 0 && time.Since(began) < mergeSpin; {
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

// join prepares a helper's searcher for the search of another one. It has counted and found
// nothing.
func (s *searcher) join(other *searcher) {
	s.plan, s.index = other.plan, other.index
	s.collect, s.marksOnly, s.taken, s.bound = other.collect, other.marksOnly, other.taken, other.bound
	s.total, s.top = 0, top{order: other.top.order, figure: other.top.figure, k: other.top.k, found: s.top.found[:0]}
}
