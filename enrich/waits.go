package enrich

import "sync"

// waits bounds the jobs in the off-chain stage. Each job holds one of the places that
// Config.maxInFlight allows. Without a bound, the jobs of one slow server could take all places,
// and no other request would be read.
type waits struct {
	// perGroup bounds the jobs of one group. While there are crowded jobs or more in all,
	// perGroupCrowded bounds the jobs of a group instead. limit bounds all jobs.
	perGroup, perGroupCrowded, crowded, limit int

	mu     sync.Mutex
	jobs   int
	groups map[string]int // how many jobs each group has
}

// newWaits lets one group hold a tenth of the places, and all groups together half of them. A
// further quarter of the places is only for groups that hold less than a thousandth, so that many
// slow servers together do not keep other servers out.
func newWaits(maxInFlight int) *waits {
	return &waits{
		perGroup: max(maxInFlight/10, 1), perGroupCrowded: max(maxInFlight/1000, 1), crowded: max(maxInFlight/2, 1), limit: max(3*maxInFlight/4, 1),
		groups: map[string]int{},
	}
}

// enter reports whether there is room for one more job of the groups. If so, leave must be called
// with the same groups when it ends.
func (w *waits) enter(groups []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.jobs >= w.limit {
		return false
	}
	for _, group := range groups {
		if n := w.groups[group]; n >= w.perGroup || n >= w.perGroupCrowded && w.jobs >= w.crowded {
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
