package pause

import "time"

// Turn is a time slice of long work that must not delay others on the machine. The work calls Next
// often; when the slice is over, Next yields the processor. The kernel alone would take the
// processor away after some milliseconds, which is longer than most requests take. If nobody waits,
// a yield costs some microseconds. The zero value never yields.
type Turn struct {
	length time.Duration
	began  time.Time
}

// NewTurn begins a time slice.
func NewTurn(length time.Duration) Turn { return Turn{length, time.Now()} }

// Next yields the processor if the slice is over, and begins another one. Call it often.
func (t *Turn) Next() {
	if t.length > 0 && time.Since(t.began) >= t.length {
		yield()
		t.began = time.Now()
	}
}
