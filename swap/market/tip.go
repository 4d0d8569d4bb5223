package market

import (
	"sync"
	"time"
)

// tipWindow is how long a slot counts that a server reported: a server that lied once, or a chain
// that began anew, must not stop quotes for ever.
const tipWindow = 30 * time.Second

// tip is the highest slot that was reported in the last one to two windows.
type tip struct {
	mu            sync.Mutex
	ends          time.Time
	before, since uint64
}

// observe counts a reported slot and returns the highest.
func (t *tip) observe(slot uint64, now time.Time) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !now.Before(t.ends) {
		if now.Before(t.ends.Add(tipWindow)) {
			t.before = t.since
		} else {
			t.before = 0
		}
		t.since, t.ends = 0, now.Add(tipWindow)
	}
	t.since = max(t.since, slot)
	return max(t.before, t.since)
}

// Tip is the highest slot that any server reported of late. It is 0 when none did.
func (m *Market) Tip() uint64 { return m.tip.observe(0, m.deps.Now()) }

// Observe counts a slot that a server reported with another answer.
func (m *Market) Observe(slot uint64) { m.tip.observe(slot, m.deps.Now()) }
