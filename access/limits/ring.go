package limits

import "time"

// ring holds the times of the counted requests of one window, oldest first, in Unix nanoseconds. It
// grows to the window's limit and no further.
type ring struct {
	times []int64
	head  int
	count int
}

func (r *ring) oldest() int64 { return r.times[r.head] }

// newest returns the latest time; 0 if nothing is counted.
func (r *ring) newest() int64 {
	if r.count == 0 {
		return 0
	}
	return r.times[(r.head+r.count-1)%len(r.times)]
}

// forget drops times up to and including cutoff: a request counts for exactly the length of the
// window.
func (r *ring) forget(cutoff int64) {
	for r.count > 0 && r.times[r.head] <= cutoff {
		r.head = (r.head + 1) % len(r.times)
		r.count--
	}
	if r.count == 0 {
		r.times, r.head = nil, 0
	}
}

// add appends a time; the caller has made sure that count is below limit.
func (r *ring) add(at int64, limit int) {
	if r.count == len(r.times) {
		grown := make([]int64, min(max(4, 2*len(r.times)), limit))
		for i := range r.count {
			grown[i] = r.times[(r.head+i)%len(r.times)]
		}
		r.times, r.head = grown, 0
	}
	r.times[(r.head+r.count)%len(r.times)] = at
	r.count++
}

// state returns the window's state at a time; forget must have been called for that time.
func (r *ring) state(rule Rule, at int64) windowState {
	state := windowState{count: r.count}
	if r.count > 0 {
		state.reset = time.Duration(r.oldest() + int64(rule.Window) - at)
	}
	return state
}
