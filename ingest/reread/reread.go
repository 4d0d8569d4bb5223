// Package reread tells which slots have to be read again when the log lost records of theirs.
//
// In: when the lost records were written, and the lines of the slot ledger with the times they were
// written at. Out: slots. Guarantees: pure; every slot of which a record can be among the lost ones
// is in it, also where a backfill wrote beside the stream, and some more: reading a slot again
// changes nothing. It rests on one rule: a slot's line is written after its last record, and no
// more blocks than Ahead are under way.
package reread

import (
	"slices"
	"time"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Ahead is how many lines behind the window may be of blocks whose records were written in it:
// twice the blocks that ingest has under way, for a stream and a backfill.
const Ahead = 64

// Slack is how far clocks of writers may be apart, and how long a write may be tried again.
const Slack = 10 * time.Second

// Window is the time in which lost records were written. A zero time is open.
type Window struct{ From, To time.Time }

// Line is one line of the slot ledger.
type Line struct {
	Slot    uint64
	Status  eventspb.SlotStatus
	Written time.Time
}

// Slots are the slots to read again, ascending: those of which the ledger, given in its order, says
// that they are ingested.
func Slots(ledger []Line, windows []Window) []uint64 {
	latest := make(map[uint64]eventspb.SlotStatus, len(ledger))
	for _, line := range ledger {
		latest[line.Slot] = line.Status
	}
	found := make(map[uint64]bool)
	for _, w := range windows {
		behind := 0
		for _, line := range ledger {
			if !w.From.IsZero() && line.Written.Before(w.From.Add(-Slack)) {
				continue
			}
			if !w.To.IsZero() && line.Written.After(w.To.Add(Slack)) {
				if behind++; behind > Ahead {
					break
				}
			}
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
