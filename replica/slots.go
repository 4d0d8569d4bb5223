package replica

import (
	"time"

	"github.com/mintlake/mintlake/registry/coverage"
)

// coverageShare bounds the time spent on coverage to one part in coverageShare. For months of slots
// that arrived out of order, one computation takes a tenth of a second, and the tail waits
// meanwhile.
const coverageShare = 20

// slotView is the slot ledger with its latest coverage.
type slotView struct {
	ledger *coverage.Ledger
	latest coverage.Coverage
	next   time.Time // when to compute latest again
}

func newSlotView() *slotView { return &slotView{ledger: coverage.New()} }

// coverage returns the latest coverage. After a computation, it waits coverageShare times as long
// as that took before it computes again: some microseconds for a short ledger, some seconds for a
// long one.
func (v *slotView) coverage() coverage.Coverage {
	begin := time.Now()
	if !begin.Before(v.next) {
		v.latest = v.ledger.Coverage()
		v.next = begin.Add(time.Since(begin) * coverageShare)
	}
	return v.latest
}
