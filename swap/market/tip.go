package market

import (
	"sync"
	"time"
)

// tipWindow is how long a reported slot counts at least. It does not count for ever, because a
// server may lie once, and a test chain may begin anew: then there would be no quotes any more.
const tipWindow = 30 * time.Second

// tip has the highest slot that was reported lately. before is the highest of the previous window,
// since that of the present window, which ends at ends. So a reported slot counts for one to two
// windows.
type tip struct {
	mu            sync.Mutex
	ends          time.Time
	before, since uint64
}

// observe takes in a reported slot, or none if it is 0, and returns the highest slot of both
// windows.
func (t *tip) observe(slot uint64, now time.Time) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !now.Before(t.ends) {
		if now.Before(t.ends.Add(tipWindow)) {
			t.before = t.since
		} else {
			t.before = 0 // the window after ends has passed without a call
		}
		t.since, t.ends = 0, now.Add(tipWindow)
	}
	t.since = max(t.since, slot)
	return max(t.before, t.since)
}

// Tip returns the highest slot that any server reported lately; 0 if none did.
func (m *Market) Tip() uint64 { return m.tip.observe(0, m.deps.Now()) }

// Observe counts a slot that a server reported.
func (m *Market) Observe(slot uint64) { m.tip.observe(slot, m.deps.Now()) }
