// Package reread finds the slots that must be read again when the log has lost records of them.
//
// In: when the lost records were written, and the lines of the slot ledger with the times at which
// they were written. Out: slots. Guarantees: pure. The result has every slot that may have lost a
// record, also if a backfill wrote beside the stream. It also has slots that lost nothing, which
// does no harm: reading a slot again changes nothing. The result is complete because ingest writes
// a slot's line after the slot's last record, and writes records of at most Ahead blocks at a time.
package reread

import (
	"slices"
	"time"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Ahead is how many lines after a window may belong to blocks whose records were written within the
// window. A stream and a backfill can write at the same time, and each has at most 32 blocks in
// flight.
const Ahead = 64

// Slack is how far the clocks of writers may differ, and how long a write may be retried.
const Slack = 10 * time.Second

// Window is the time in which lost records were written. A zero From or To means no bound.
type Window struct{ From, To time.Time }

// Line is one line of the slot ledger.
type Line struct {
	Slot    uint64
	Status  eventspb.SlotStatus
	Written time.Time
}

// Slots returns the slots to read again, ascending: those that have a line within a window or among
// the Ahead lines after it, and whose latest status is ingested. Any other slot is a gap already,
// or has no block. The lines must be in the order of the log.
func Slots(ledger []Line, windows []Window) []uint64 {
	latest := make(map[uint64]eventspb.SlotStatus, len(ledger))
	for _, line := range ledger {
		latest[line.Slot] = line.Status
	}
	found := make(map[uint64]bool)
	for _, w := range windows {
		for _, line := range w.lines(ledger) {
			if latest[line.Slot] == eventspb.SlotStatus_SLOT_STATUS_INGESTED {
				found[line.Slot] = true
			}
		}
	}
	slots := make([]uint64, 0, len(found))
	for slot := range found {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	return slots
}

// lines returns the part of the ledger from the first to the last line that was written within the
// window, widened by Slack at both ends, and the Ahead lines after that part. It includes lines
// between the first and the last with any time, because the clock of a writer may have been set.
func (w Window) lines(ledger []Line) []Line {
	from, to := w.From, w.To
	if !from.IsZero() && !to.IsZero() && to.Before(from) { // the clock was set back in between
		from, to = to, from
	}
	first, end := -1, 0
	for i, line := range ledger {
		switch {
		case !from.IsZero() && line.Written.Before(from.Add(-Slack)):
			if first < 0 {
				end = i + 1 // the window begins after this line
			}
		case to.IsZero() || !line.Written.After(to.Add(Slack)):
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	if first < 0 { // no line within the window: only the lines after it remain
		first = end
	}
	return ledger[first:min(end+Ahead, len(ledger))]
}
