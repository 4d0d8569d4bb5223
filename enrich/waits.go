package enrich

import "sync"

// waits bounds the jobs in the off-chain stage. Each holds a place of maxInFlight. Without a bound,
// the jobs of one slow server could take all places, and no other request would be read.
type waits struct {
	// One group holds at most each. From many on, a job is let in only if its groups hold fewer
	// than few. There are never more than most.
	each, few, many, most int

	mu     sync.Mutex
	jobs   int
	groups map[string]int // how many jobs each group has
}

// newWaits lets one group hold a tenth of the places, and all jobs half of them. A further quarter
// is for groups that hold less than a thousandth, so that many slow servers together do not keep
// the others out.
func newWaits(maxInFlight int) *waits {
	return &waits{
		each: max(maxInFlight/10, 1), few: max(maxInFlight/1000, 1), many: max(maxInFlight/2, 1), most: max(3*maxInFlight/4, 1),
		groups: map[string]int{},
	}
}

// enter reports whether there is room for one more job of the groups. If so, leave must be called
// with the same groups when it ends.
func (w *waits) enter(groups []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs >= w.most {
		return false
	}
	for _, group := range groups {
		if n := w.groups[group]; n >= w.each || n >= w.few && w.jobs >= w.many {
			return false
		}
	}
	w.jobs++
	for _, group := range groups {
		w.groups[group]++
	}
	return true
}

func (w *waits) leave(groups []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.jobs--
	for _, group := range groups {
		if w.groups[group]--; w.groups[group] == 0 {
			delete(w.groups, group)
		}
	}
}
