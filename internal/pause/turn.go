package pause

import "time"

// Turn is for long work that others on the machine must not wait for: each time that a turn is over
// whoever wants the core has it. The kernel takes a core away after some milliseconds only, which
// is longer than most requests take. Where nobody waits a turn costs some microseconds. The zero
// value's turns never end.
type Turn struct {
	length time.Duration
	began  time.Time
}

// NewTurn begins.
func NewTurn(length time.Duration) Turn { return Turn{length, time.Now()} }

// Next begins another turn if this one is over. It is to be called often.
func (t *Turn) Next() {
	if t.length > 0 && time.Since(t.began) >= t.length {
		yield()
		t.began = time.Now()
	}
}
