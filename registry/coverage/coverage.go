// Package coverage says which slots' blocks have been ingested whole, and which are missing.
//
// In: slot records, one at a time, in the order of the log. Out: the range that is covered and its
// gaps. Guarantees: pure, no clock, no locks; ingest is complete up to a slot exactly when the
// chain of parents from the first slot to it is unbroken. Slots are not assumed to be filled, of
// any length in time, or final: only links between blocks prove that a slot was empty. A record
// replaces what was known of its slot; otherwise the order of records changes nothing.
package coverage

import (
	"slices"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Gap is a range of slots, both ends included, of which at least one block is missing or may be.
type Gap struct {
	FromSlot uint64 `json:"from_slot"`
	ToSlot   uint64 `json:"to_slot"`
}

// Coverage is what has been ingested. The zero value: nothing.
type Coverage struct {
	// FromSlot and ToSlot are the lowest and highest slot whose block is ingested, or was before
	// the log lost records of it.
	FromSlot uint64 `json:"from_slot"`
	ToSlot   uint64 `json:"to_slot"`
	// Gaps between them, ascending, never adjacent, never nil.
	Gaps []Gap `json:"gaps"`
}

// CompleteTo is the highest slot up to which nothing is missing; 0 when nothing was ingested.
func (c Coverage) CompleteTo() uint64 {
	if len(c.Gaps) > 0 {
		return c.Gaps[0].FromSlot - 1
	}
	return c.ToSlot
}

// Ledger is the slot ledger in memory, about 11 bytes a slot. Not safe for concurrent use.
type Ledger struct {
	slots   slotTable
	highest uint64 // of any record
	scan    scan
	// stale: a record came below the highest one, so the scan has to be made anew.
	stale bool
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{} }

// Apply takes a record of chain.slots.v1. Records without a status are left out.
func (l *Ledger) Apply(record *eventspb.SlotRecord) {
	status := record.GetStatus()
	if status == eventspb.SlotStatus_SLOT_STATUS_UNSPECIFIED {
		return
	}
	e := entry{slot: record.GetSlot(), status: status, tag: tagOf(record.GetBlockhash())}
	if record.ParentSlot != nil && record.GetParentSlot() < record.GetSlot() {
		e.parent, e.hasParent = record.GetParentSlot(), true
	}
	if status == eventspb.SlotStatus_SLOT_STATUS_DEAD && len(record.GetBlockhash()) == 0 {
		e.tag = l.slots.get(e.slot).tag // keeps what is known of the block that died
	}
	if status == eventspb.SlotStatus_SLOT_STATUS_LOST {
		known := l.slots.get(e.slot) // its place on the chain is known
		e.parent, e.hasParent = known.parent, known.hasParent
	}
	first := l.slots.empty()
	if !l.slots.put(e) {
		return // nothing new
	}
	if !first && e.slot <= l.highest {
		l.stale = true
	}
	l.highest = max(l.highest, e.slot)
	if !l.stale {
		l.scan.step(&l.slots, e)
	}
}

// Ingested says whether the block of this slot with this hash is ingested. The hash is compared by
// its first eight bytes.
func (l *Ledger) Ingested(slot uint64, blockhash [32]byte) bool {
	e := l.slots.get(slot)
	return e.status == eventspb.SlotStatus_SLOT_STATUS_INGESTED && e.tag == tagOf(blockhash[:])
}

// Status is what the latest record says of a slot; SLOT_STATUS_UNSPECIFIED when there is none.
func (l *Ledger) Status(slot uint64) eventspb.SlotStatus { return l.slots.get(slot).status }

// Coverage is the covered range as of the records so far. After records in order of their slots it
// costs as much as the gaps it returns; after one out of order, a pass over all slots (about 25 ms
// for a week's).
func (l *Ledger) Coverage() Coverage {
	if l.stale {
		l.scan = scan{}
		l.slots.each(func(e entry) { l.scan.step(&l.slots, e) })
		l.stale = false
	}
	return l.scan.coverage()
}

// scan walks over the slots that have records, in their order.
type scan struct {
	started bool
	from    uint64
	// last is the highest ingested slot so far, known the highest slot with any record.
	last, known uint64
	// open are ranges behind last that no record explains yet: the next block's parent tells
	// whether they were empty.
	open []Gap
	gaps []Gap
}

func (s *scan) step(slots *slotTable, e entry) {
	lost := e.status == eventspb.SlotStatus_SLOT_STATUS_LOST
	ingested := e.status == eventspb.SlotStatus_SLOT_STATUS_INGESTED || lost
	if lost {
		s.gaps = append(s.gaps, Gap{e.slot, e.slot})
	}
	if !s.started {
		if ingested {
			s.started, s.from, s.last, s.known = true, e.slot, e.slot, e.slot
		}
		return
	}
	if s.known+1 < e.slot {
		s.open = append(s.open, Gap{s.known + 1, e.slot - 1})
	}
	s.known = e.slot
	if !ingested {
		return // skipped or dead: explained by itself
	}
	parent := e.slot - 1
	if e.hasParent {
		parent = e.parent
	}
	// Slots between the parent and this block were empty; those up to the parent are still missing.
	for _, open := range s.open {
		if open.FromSlot <= parent {
			s.gaps = append(s.gaps, Gap{open.FromSlot, min(open.ToSlot, parent)})
		}
	}
	if e.hasParent && parent != s.last && parent >= s.from && slots.get(parent).status != eventspb.SlotStatus_SLOT_STATUS_INGESTED {
		// Explained by a record as skipped or dead, or by a block of another fork as empty: this
		// block says it is neither.
		s.gaps = append(s.gaps, Gap{parent, parent})
	}
	s.open = s.open[:0]
	s.last = e.slot
}

func (s *scan) coverage() Coverage {
	if !s.started {
		return Coverage{Gaps: []Gap{}}
	}
	s.gaps = merge(s.gaps)
	return Coverage{FromSlot: s.from, ToSlot: s.last, Gaps: append([]Gap{}, s.gaps...)}
}

// merge sorts gaps and joins those that overlap or touch.
func merge(gaps []Gap) []Gap {
	slices.SortFunc(gaps, func(a, b Gap) int {
		switch {
		case a.FromSlot < b.FromSlot:
			return -1
		case a.FromSlot > b.FromSlot:
			return 1
		default:
			return 0
		}
	})
	merged := gaps[:0]
	for _, g := range gaps {
		if n := len(merged); n > 0 && g.FromSlot <= merged[n-1].ToSlot+1 {
			merged[n-1].ToSlot = max(merged[n-1].ToSlot, g.ToSlot)
			continue
		}
		merged = append(merged, g)
	}
	return merged
}
