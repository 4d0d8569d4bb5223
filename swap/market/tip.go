package market

import (
	"sync"
	"time"
)

// tipWindow is how long a reported slot counts at least. It ends so that a server that lied once,
// or a chain that was reset, does not stop quotes for ever.
const tipWindow = 30 * time.Second

// tip has the highest slot that was reported in the last one to two windows: before in the previous
// window, since in the present one, which ends at ends.
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

// Tip returns the highest slot that any server reported lately; 0 if none did.
func (m *Market) Tip() uint64 { return m.tip.observe(0, m.deps.Now()) }

// Observe counts a slot that a server reported.
func (m *Market) Observe(slot uint64) { m.tip.observe(slot, m.deps.Now()) }
