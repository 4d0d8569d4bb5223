package search

import (
	"sync/atomic"
	"time"
)

// A search is shared with cores that have nothing to do: whoever is free takes the next view. Where
// all cores are busy with searches none is shared.

// sharing says which searches are shared.
type sharing struct {
	// slots are the fewest of a view that is worth a helper.
	slots int
	// entries of the lists of a view are the fewest of a search for which a core is woken from the
	// beginning; see isLong.
	entries int
	// left is how long a search that goes on alone must last from now on, by what it took until
	// now, for a core to be woken after all.
	left time.Duration
}

func usualSharing() sharing {
	return sharing{slots: 1 << 15, entries: 30_000, left: 400 * time.Microsecond}
}

// share calls do for the place of each view, once, in no certain order: with the searcher itself,
// and with others that help it. What those have found and counted is its own in the end. For a
// search that is long a core is woken from the beginning.
func (s *searcher) share(views []*view, isLong bool, do func(s *searcher, at int)) {
	var next atomic.Int32
	take := func() int { return int(next.Add(1)) - 1 }
	work := func(s *searcher) {
		for at := take(); at < len(views); at = take() {
			do(s, at)
		}
	}
	var started []*helper
	began, done := time.Now(), 0
	for at := take(); at < len(views); at = take() {
		for left := s.index.sharing.large(views[at+1:]); len(started) < left; {
			h := s.index.startHelper(s, isLong, work)
			if h == nil {
				break
			}
			started = append(started, h)
		}
		do(s, at)
		done++
		isLong = isLong || time.Since(began)/time.Duration(done)*time.Duration(len(views)-at-1) >= s.index.sharing.left
	}
	s.mergeHelpers(started)
}

// large is how many of the views are worth a helper.
func (o *sharing) large(views []*view) (count int) {
	for _, v := range views {
		if v.slots() >= o.slots {
			count++
		}
	}
	return count
}

// isLong guesses by the lists of the first view: all are counted, and of those with what is
// required the texts of the shortest are read, or marked.
func (s *searcher) isLong(views []*view) bool {
	if len(views) == 0 {
		return false
	}
	const perText = 16 // entries that are counted in the time that a text takes
	v, entries, least := views[0], 0, 0
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
