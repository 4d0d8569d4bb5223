package search

import (
	"sync/atomic"
	"time"
)

// A long search is shared with cores that have nothing to do: whoever is free takes the next view. Waking a core takes a tenth of a millisecond, so
// a search that is over soon is not shared; where all cores are busy with searches none is.

// sharing says which searches are shared.
type sharing struct {
	// slots are the fewest of a view that is worth waking a core for.
	slots int
	// entries of the lists of a view are the fewest of a search that is shared from the beginning; see isLong.
	entries int
	// left is how long a search that goes on alone must last from now on, by what it took until now, to be shared after all.
	left time.Duration
}

func usualSharing() sharing {
	return sharing{slots: 1 << 15, entries: 100_000, left: 1200 * time.Microsecond}
}

// patience is how long a searcher looks whether its helpers are done before it sleeps: it would not be awake again sooner, and maybe on a core whose
// caches know nothing of it.
const patience = 100 * time.Microsecond

// helper is a searcher that another one shares its views with.
type helper struct {
	searcher *searcher
	// begun is set by who is first: the helper that begins, or the one who needs it no more.
	begun atomic.Bool
	done  chan struct{} // holds one
	// failed is what the helper panicked with.
	failed any
}

// share calls do for the place of each view, once, in no certain order: with the searcher itself, and with others that help it. What those have found and
// counted is its own in the end.
func (s *searcher) share(views []*view, do func(s *searcher, at int)) {
	if len(views) == 0 {
		return
	}
	var next atomic.Int32
	take := func() int { return int(next.Add(1)) - 1 }
	var helpers []*helper
	began, done, isLong := time.Now(), 0, s.isLong(views[0])
	for at := take(); at < len(views); at = take() {
		if isLong && helpers == nil {
			helpers = s.index.helpers(views[done:])
			for _, h := range helpers {
				go h.help(s, len(views), take, do)
			}
		}
		do(s, at)
		done++
		isLong = isLong || time.Since(began)/time.Duration(done)*time.Duration(len(views)-done) >= s.index.sharing.left
	}
	for _, h := range helpers {
		s.thank(h)
	}
}

// isLong guesses by the lists of a view: all are counted, and of those with what is required the texts of the shortest are read, or marked.
func (s *searcher) isLong(v *view) bool {
	const perText = 16 // entries that are counted in the time that a text takes
	entries, least := 0, 0
	for _, g := range s.grams {
		entries += int(v.grams.find(g).length)
	}
	for i, g := range s.required {
		if length := int(v.grams.find(g).length); i == 0 || length < least {
			least = length
		}
	}
	return entries+perText*least >= s.index.sharing.entries
}

// helpers are as many as there are cores for, and views to share.
func (x *Inverted) helpers(views []*view) []*helper {
	large := 0
	for _, v := range views {
		if v.slots() >= x.sharing.slots {
			large++
		}
	}
	var helpers []*helper
	for len(helpers)+1 < large {
		if x.busy.Add(1) > x.cores {
			x.busy.Add(-1)
			break
		}
		helpers = append(helpers, &helper{done: make(chan struct{}, 1)})
	}
	return helpers
}

// help does as s does with the views that it takes, unless it comes too late.
func (h *helper) help(s *searcher, views int, take func() int, do func(s *searcher, at int)) {
	if !h.begun.CompareAndSwap(false, true) {
		return
	}
	defer func() {
		h.failed = recover() // it is the searcher's to fail
		s.index.busy.Add(-1)
		h.done <- struct{}{}
	}()
	h.searcher = s.index.pool.Get().(*searcher)
	h.searcher.join(s)
	for at := take(); at < views; at = take() {
		do(h.searcher, at)
	}
}

// thank takes over what a helper did, or tells it that it comes too late.
func (s *searcher) thank(h *helper) {
	if h.begun.CompareAndSwap(false, true) {
		s.index.busy.Add(-1)
		return
	}
	for began := time.Now(); len(h.done) == 0 && time.Since(began) < patience; {
	}
	<-h.done
	if h.failed != nil {
		panic(h.failed)
	}
	s.total += h.searcher.total
	for i := range h.searcher.top.found {
		s.top.offer(&h.searcher.top.found[i])
	}
	s.index.release(h.searcher)
}

// join makes a searcher ready for a search that another one has begun. It has counted and found nothing yet.
func (s *searcher) join(other *searcher) {
	s.plan, s.index = other.plan, other.index
	s.collect, s.bare, s.taken, s.bound = other.collect, other.bare, other.taken, other.bound
	s.total, s.top = 0, top{order: other.top.order, k: other.top.k, found: s.top.found[:0]}
}
