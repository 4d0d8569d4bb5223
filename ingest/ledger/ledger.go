// Package ledger is what ingest knows of the slots that are in the log.
//
// In: records of chain.slots.v1: first those of earlier runs, then this run's as they are
// acknowledged. Out: which blocks need not be read again, where a source resumes, what is covered
// and what is missing. Guarantees: safe for concurrent use; about 12 bytes a slot; no I/O. A Geyser
// stream and an rpc source resume where the other stopped. What other kinds of sources ingest never
// moves the place where another kind resumes.
package ledger

import (
	"sync"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// DefaultReach is how many slots below the highest one Resume looks for gaps: what Geyser servers
// commonly replay on from_slot. Coverage shows older gaps, and getBlock can close them.
const DefaultReach = 1000

// Ledger is the slot ledger. The zero value is not usable; see New.
type Ledger struct {
	reach uint64

	mu      sync.RWMutex
	slots   *coverage.Ledger
	highest map[string]uint64 // by group of kinds of sources, see group
	kinds   kinds
}

// New returns an empty ledger whose Resume looks for gaps up to reach slots back; 0 means
// DefaultReach.
func New(reach uint64) *Ledger {
	if reach == 0 {
		reach = DefaultReach
	}
	return &Ledger{reach: reach, slots: coverage.New(), highest: make(map[string]uint64)}
}

// Apply enters a record that is in the log.
func (l *Ledger) Apply(record *eventspb.SlotRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots.Apply(record)
	if record.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_UNSPECIFIED {
		return
	}
	g := group(record.GetSource())
	l.kinds.put(record.GetSlot(), g)
	if record.GetSlot() > l.highest[g] {
		l.highest[g] = record.GetSlot()
	}
}

// group returns the name that a kind of source shares with those kinds that resume where it
// stopped. A Geyser stream and an rpc source follow the same chain, so they are one group:
// otherwise nobody would read the slots between the end of one and the start of the other. Files
// and backfills are of any time, and the demo chain is another chain.
func group(kind string) string {
	if kind == source.KindGeyser || kind == source.KindRPC {
		return "live"
	}
	return kind
}

// Ingested reports whether this very block is in the log with all its events.
func (l *Ledger) Ingested(slot uint64, blockhash pubkey.Key) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.slots.Ingested(slot, blockhash)
}

// Contradicted reports whether another block than this one is ingested in this slot.
func (l *Ledger) Contradicted(slot uint64, blockhash pubkey.Key) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.slots.Status(slot) == eventspb.SlotStatus_SLOT_STATUS_INGESTED && !l.slots.Ingested(slot, blockhash)
}

// Known reports whether a block of this slot is ingested.
func (l *Ledger) Known(slot uint64) bool {
	return l.Status(slot) == eventspb.SlotStatus_SLOT_STATUS_INGESTED
}

// Status returns the status of the latest record of a slot; SLOT_STATUS_UNSPECIFIED if there is
// none.
func (l *Ledger) Status(slot uint64) eventspb.SlotStatus {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.slots.Status(slot)
}

// Coverage returns what is covered now.
func (l *Ledger) Coverage() coverage.Coverage {
	l.mu.Lock() // it caches
	defer l.mu.Unlock()
	return l.slots.Coverage()
}

// Highest returns the highest slot of any record of this kind of source or its group; 0 if there is
// none.
func (l *Ledger) Highest(kind string) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.highest[group(kind)]
}

// Resume returns the slot after which a source of this kind reads on: the highest slot of which its
// group wrote a record; 0 if there is none. If there are gaps within reach below that slot, Resume
// returns an earlier slot, so that the source reads the gaps again: the group's highest slot before
// the first gap. If the group has no slot within reach before a gap, Resume passes over the gap.
// Slots of other kinds, such as a backfill's, do not count.
func (l *Ledger) Resume(kind string) uint64 {
	l.mu.Lock() // coverage caches
	defer l.mu.Unlock()
	g := group(kind)
	highest := l.highest[g]
	if highest == 0 {
		return 0
	}
	floor := uint64(0)
	if highest > l.reach {
		floor = highest - l.reach
	}
	for _, gap := range l.slots.Coverage().Gaps {
		if gap.FromSlot > highest {
			break
		}
		if gap.FromSlot < floor {
			continue
		}
		if own, ok := l.kinds.below(gap.FromSlot, max(floor, 1)-1, g); ok {
			return own
		}
	}
	return highest
}

// Missing returns the runs of slots in from..to, both included, whose block is not ingested and
// that are not known to be empty; ascending. All slots after the last block are missing, even if
// they later turn out to have no block.
func (l *Ledger) Missing(from, to uint64) []coverage.Gap {
	var missing []coverage.Gap
	add := func(first, last uint64) {
		if first, last = max(first, from), min(last, to); first <= last {
			missing = append(missing, coverage.Gap{FromSlot: first, ToSlot: last})
		}
	}
	c := l.Coverage()
	if c.ToSlot == 0 {
		add(from, to)
		return missing
	}
	if c.FromSlot > 0 {
		add(from, c.FromSlot-1)
	}
	for _, gap := range c.Gaps {
		add(gap.FromSlot, gap.ToSlot)
	}
	add(c.ToSlot+1, to)
	return missing
}

// For returns the ledger as a source of one kind uses it.
func (l *Ledger) For(kind string) source.Ledger { return view{l, kind} }

// view is the ledger for one kind of source.
type view struct {
	ledger *Ledger
	kind   string
}

func (v view) Ingested(slot uint64, blockhash pubkey.Key) bool {
	return v.ledger.Ingested(slot, blockhash)
}

func (v view) Resume() uint64 { return v.ledger.Resume(v.kind) }

func (v view) Missing(from, to uint64) []coverage.Gap { return v.ledger.Missing(from, to) }
