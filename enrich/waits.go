package enrich

import "sync"

// waits bounds the jobs that wait for their next attempt at a document. Such a job keeps its place
// of maxInFlight. Without a bound, the jobs of one host that asks for pauses could take all places,
// and no other request would be read.
type waits struct {
	all, perHost int

	mu      sync.Mutex
	waiting int
	hosts   map[string]int // how many of them wait for each host
}

// newWaits lets the jobs of all hosts hold half of the places, and those of one host a tenth.
func newWaits(maxInFlight int) *waits {
	return &waits{all: max(maxInFlight/2, 1), perHost: max(maxInFlight/10, 1), hosts: map[string]int{}}
}

// enter reports whether one more job of host may wait. If so, leave must be called when it goes on.
func (w *waits) enter(host string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting >= w.all || w.hosts[host] >= w.perHost {
		return false
	}
	w.waiting++
	w.hosts[host]++
	return true
}

func (w *waits) leave(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting--
	if w.hosts[host]--; w.hosts[host] == 0 {
		delete(w.hosts, host)
	}
}
