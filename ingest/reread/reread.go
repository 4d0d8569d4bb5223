// Package reread finds the slots that must be read again when the log has lost records of them.
//
// In: when the lost records were written, and the lines of the slot ledger with the times at which
// they were written. Out: slots. Guarantees: pure. The result has every slot that may have lost a
// record, also if a backfill wrote beside the stream. It has some more: reading a slot again
// changes nothing. This rests on one rule: a slot's line is written after its last record, and no
// more than Ahead blocks are under way.
package reread

import (
	"slices"
	"time"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Ahead is how many of the lines after the window may belong to blocks whose records were written
// in it. It is twice the number of blocks that ingest has under way, for a stream and a backfill.
const Ahead = 64

// Slack is how far the clocks of writers may differ, and how long a write may be retried.
const Slack = 10 * time.Second

// Window is the time in which lost records were written. A zero time means no bound.
type Window struct{ From, To time.Time }

// Line is one line of the slot ledger.
type Line struct {
	Slot    uint64
	Status  eventspb.SlotStatus
	Written time.Time
}

// Slots returns the slots to read again, ascending: those with a line within a window, or among the
// Ahead lines after it, if their latest status is ingested. The lines must be in the order of the
// log.
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

// lines returns the part of the ledger from the first line that was written within the window and
// Slack to the last one, and the Ahead lines after it. If a clock was set, lines between the two
// may have any time.
func (w Window) lines(ledger []Line) []Line {
	from, to := w.From, w.To
	if !from.IsZero() && !to.IsZero() && to.Before(from) { // the clock was set back in it
		from, to = to, from
	}
	first, end := -1, 0
	for i, line := range ledger {
		switch {
		case !from.IsZero() && line.Written.Before(from.Add(-Slack)):
			if first < 0 {
				end = i + 1 // the window comes after it
			}
		case to.IsZero() || !line.Written.After(to.Add(Slack)):
			if first < 0 {
				first = i
			}
			end = i + 1
		}
	}
	if first < 0 {
		first = end
	}
	return ledger[first:min(end+Ahead, len(ledger))]
}
