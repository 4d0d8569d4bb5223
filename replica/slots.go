package replica

import (
	"time"

	"github.com/mintlake/mintlake/registry/coverage"
)

// coverageShare is the part of the time, as a divisor, that may go into computing coverage: a
// ledger of months of slots that arrive out of order needs a tenth of a second for it, and the tail
// waits meanwhile.
const coverageShare = 20

// slotView is the slot ledger with its latest coverage.
type slotView struct {
	ledger *coverage.Ledger
	latest coverage.Coverage
	next   time.Time
}

func newSlotView() *slotView { return &slotView{ledger: coverage.New()} }

// coverage is up to date for a ledger that is quickly read, else at most some seconds old.
func (v *slotView) coverage() coverage.Coverage {
	begin := time.Now()
	if !begin.Before(v.next) {
		v.latest = v.ledger.Coverage()
		v.next = begin.Add(time.Since(begin) * coverageShare)
	}
	return v.latest
}
