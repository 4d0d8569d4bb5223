// Package coverage computes which slots' blocks have been fully ingested and which are missing.
//
// In: slot records, in the order of the log. Out: the covered range and its gaps. Guarantees: pure,
// no clock, no locks. Ingest is complete up to a slot exactly if the chain of parents from the
// first slot to it is unbroken. Nothing is assumed about a slot: it may have no block, any length
// in time, or a block that is not final. Only a link between two blocks proves that the slots
// between them were empty. A record replaces what was known of its slot; apart from that, the order
// of records does not matter.
package coverage

import (
	"cmp"
	"slices"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Gap is a range of slots, both ends included, in which at least one block is or may be missing.
type Gap struct {
	FromSlot uint64 `json:"from_slot"`
	ToSlot   uint64 `json:"to_slot"`
}

// Coverage is what has been ingested. The zero value means nothing.
type Coverage struct {
	// FromSlot and ToSlot are the lowest and highest slot whose block is ingested, at least in
	// part, or was ingested before the log lost records of it.
	FromSlot uint64 `json:"from_slot"`
	ToSlot   uint64 `json:"to_slot"`
	// Gaps are between FromSlot and ToSlot, ascending, never adjacent, never nil.
	Gaps []Gap `json:"gaps"`
}

// CompleteTo returns the highest slot up to which nothing is missing; 0 if nothing was ingested.
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
	// stale means that a record came at or below the highest slot: scan must start again.
	stale bool
}

// New returns an empty ledger.
func New() *Ledger { return &Ledger{} }

// Apply takes a record of chain.slots.v1. It ignores records without a status.
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
		e.tag = l.slots.get(e.slot).tag // a dead record without a hash keeps the known one
	}
	if status == eventspb.SlotStatus_SLOT_STATUS_LOST {
		known := l.slots.get(e.slot) // a lost block keeps its known parent
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

// Ingested reports whether the block of this slot with this hash is ingested. It compares only the
// first eight bytes of the hash.
func (l *Ledger) Ingested(slot uint64, blockhash [32]byte) bool {
	e := l.slots.get(slot)
	return e.status == eventspb.SlotStatus_SLOT_STATUS_INGESTED && e.tag == tagOf(blockhash[:])
}

// Status returns the status of the latest record of a slot; SLOT_STATUS_UNSPECIFIED if there is
// none.
func (l *Ledger) Status(slot uint64) eventspb.SlotStatus { return l.slots.get(slot).status }

// Coverage returns the covered range according to the records so far. While records come in the
// order of their slots, it costs as much as the gaps that it returns. After a record out of order,
// it scans all slots (about 25 ms for a week's).
func (l *Ledger) Coverage() Coverage {
	if l.stale {
		l.scan = scan{}
		l.slots.each(func(e entry) { l.scan.step(&l.slots, e) })
		l.stale = false
	}
	return l.scan.coverage()
}

// scan goes through the slots that have records, in ascending order, and finds the gaps.
type scan struct {
	started bool
	from    uint64 // the first ingested slot
	// last is the highest ingested slot so far, known the highest slot with any record.
	last, known uint64
	// open are the ranges after last that have no records: the next block's parent decides whether
	// they were empty.
	open []Gap
	gaps []Gap
}

// step adds the next slot that has a record. A lost or partial block counts as ingested, since its
// place in the chain is known, but its slot is a gap.
func (s *scan) step(slots *slotTable, e entry) {
	lost := e.status == eventspb.SlotStatus_SLOT_STATUS_LOST || e.status == eventspb.SlotStatus_SLOT_STATUS_PARTIAL
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
		return // skipped or dead: its block is not missing
	}
	parent := e.slot - 1
	if e.hasParent {
		parent = e.parent
	}
	// The slots between the parent and this block were empty. Those up to the parent are missing.
	for _, open := range s.open {
		if open.FromSlot <= parent {
			s.gaps = append(s.gaps, Gap{open.FromSlot, min(open.ToSlot, parent)})
		}
	}
	if e.hasParent && parent != s.last && parent >= s.from && slots.get(parent).status != eventspb.SlotStatus_SLOT_STATUS_INGESTED {
		// By the records so far the parent's slot was skipped, dead, lost or empty, but this block
		// proves that it has a block.
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

// merge sorts gaps and joins those that overlap or are adjacent.
func merge(gaps []Gap) []Gap {
	slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(a.FromSlot, b.FromSlot) })
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
