package coverage_test

import (
	"encoding/binary"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	ingested = eventspb.SlotStatus_SLOT_STATUS_INGESTED
	skipped  = eventspb.SlotStatus_SLOT_STATUS_SKIPPED
	dead     = eventspb.SlotStatus_SLOT_STATUS_DEAD
)

func block(slot, parent uint64) *eventspb.SlotRecord {
	return &eventspb.SlotRecord{Slot: slot, ParentSlot: &parent, Status: ingested, Blockhash: hash(slot)}
}

func hash(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n+1) }

func cover(records ...*eventspb.SlotRecord) coverage.Coverage {
	l := coverage.New()
	for _, r := range records {
		l.Apply(r)
	}
	return l.Coverage()
}

func TestCoverage(t *testing.T) {
	for name, c := range map[string]struct {
		records []*eventspb.SlotRecord
		want    coverage.Coverage
	}{
		"nothing":          {nil, coverage.Coverage{Gaps: []coverage.Gap{}}},
		"one block":        {[]*eventspb.SlotRecord{block(10, 9)}, coverage.Coverage{10, 10, []coverage.Gap{}}},
		"a chain":          {[]*eventspb.SlotRecord{block(10, 9), block(11, 10), block(12, 11)}, coverage.Coverage{10, 12, []coverage.Gap{}}},
		"skipped by links": {[]*eventspb.SlotRecord{block(10, 9), block(14, 10)}, coverage.Coverage{10, 14, []coverage.Gap{}}},
		"parent missing":   {[]*eventspb.SlotRecord{block(10, 9), block(14, 12)}, coverage.Coverage{10, 14, []coverage.Gap{{11, 12}}}},
		"filled later":     {[]*eventspb.SlotRecord{block(10, 9), block(14, 12), block(12, 10)}, coverage.Coverage{10, 14, []coverage.Gap{}}},
		"partly filled":    {[]*eventspb.SlotRecord{block(10, 9), block(20, 19), block(15, 14)}, coverage.Coverage{10, 20, []coverage.Gap{{11, 14}, {16, 19}}}},
		"parent unknown":   {[]*eventspb.SlotRecord{block(10, 9), {Slot: 13, Status: ingested}}, coverage.Coverage{10, 13, []coverage.Gap{{11, 12}}}},
		"skipped by records": {
			[]*eventspb.SlotRecord{block(10, 9), {Slot: 11, Status: skipped}, {Slot: 12, Status: skipped}, {Slot: 13, Status: ingested}},
			coverage.Coverage{10, 13, []coverage.Gap{}},
		},
		"dead fork": {
			[]*eventspb.SlotRecord{block(10, 9), block(11, 10), {Slot: 11, Status: dead}, block(12, 10)},
			coverage.Coverage{10, 12, []coverage.Gap{}},
		},
		"a fork beside the chain": {
			[]*eventspb.SlotRecord{block(10, 9), block(11, 10), block(12, 10)}, coverage.Coverage{10, 12, []coverage.Gap{}},
		},
		"a block whose parent died": {
			[]*eventspb.SlotRecord{block(10, 9), block(11, 10), {Slot: 11, Status: dead}, block(12, 11)},
			coverage.Coverage{10, 12, []coverage.Gap{{11, 11}}},
		},
		"a parent that another fork jumps over": {
			[]*eventspb.SlotRecord{block(10, 9), block(13, 10), block(14, 12)}, coverage.Coverage{10, 14, []coverage.Gap{{12, 12}}},
		},
		"a parent above its block": {
			[]*eventspb.SlotRecord{block(10, 9), block(12, 30)}, coverage.Coverage{10, 12, []coverage.Gap{{11, 11}}},
		},
		"far apart": {
			[]*eventspb.SlotRecord{block(254170887, 254170886), block(332254855, 332254854)},
			coverage.Coverage{254170887, 332254855, []coverage.Gap{{254170888, 332254854}}},
		},
		"records behind the last block do not count": {
			[]*eventspb.SlotRecord{{Slot: 5, Status: skipped}, block(10, 9), {Slot: 15, Status: skipped}},
			coverage.Coverage{10, 10, []coverage.Gap{}},
		},
		"the ends of the numbers": {
			[]*eventspb.SlotRecord{block(0, 0), block(1<<64-1, 1<<64-2)},
			coverage.Coverage{0, 1<<64 - 1, []coverage.Gap{{1, 1<<64 - 2}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, cover(c.records...))
		})
	}
}

func TestIngested(t *testing.T) {
	l := coverage.New()
	full := func(slot uint64) (h [32]byte) { copy(h[:], hash(slot)); return h }
	l.Apply(block(10, 9))
	require.True(t, l.Ingested(10, full(10)))
	require.False(t, l.Ingested(10, full(11)), "another block of the slot")
	require.False(t, l.Ingested(11, full(11)))
	l.Apply(&eventspb.SlotRecord{Slot: 10, Status: dead})
	require.False(t, l.Ingested(10, full(10)))
	require.Equal(t, dead, l.Status(10))
	l.Apply(block(10, 9))
	require.True(t, l.Ingested(10, full(10)), "it came back")
	l.Apply(&eventspb.SlotRecord{Slot: 10})
	require.True(t, l.Ingested(10, full(10)), "a record of a status unknown here changes nothing")
}

// TestCoverageIsItsDefinition compares with the definition, slot by slot.
func TestCoverageIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(rapid.Custom(anyRecord), 0, 40).Draw(t, "records")
		latest := make(map[uint64]*eventspb.SlotRecord)
		l := coverage.New()
		for i, r := range records {
			l.Apply(r)
			latest[r.GetSlot()] = r
			if i%3 == 0 {
				l.Coverage() // asking in between changes nothing
			}
		}
		got := l.Coverage()
		if want := define(latest); !slices.Equal(want.Gaps, got.Gaps) || want.FromSlot != got.FromSlot || want.ToSlot != got.ToSlot {
			t.Fatalf("got %v, by definition %v", got, want)
		}
	})
}

func anyRecord(t *rapid.T) *eventspb.SlotRecord {
	r := &eventspb.SlotRecord{
		Slot:   rapid.Uint64Range(100, 130).Draw(t, "slot"),
		Status: rapid.SampledFrom([]eventspb.SlotStatus{ingested, ingested, ingested, skipped, dead}).Draw(t, "status"),
	}
	if r.GetStatus() == ingested && rapid.IntRange(0, 9).Draw(t, "parent known") > 0 {
		r.ParentSlot = proto.Uint64(r.GetSlot() - rapid.Uint64Range(1, 6).Draw(t, "distance"))
	}
	return r
}

// define follows the definition: a slot is missing when a block names it as its parent and it is
// not ingested, or when nothing explains it: no record, and no parent of the next block below it.
func define(latest map[uint64]*eventspb.SlotRecord) coverage.Coverage {
	var slots []uint64
	required := make(map[uint64]bool)
	for slot, r := range latest {
		if r.GetStatus() == ingested {
			slots = append(slots, slot)
			if r.ParentSlot != nil {
				required[r.GetParentSlot()] = true
			}
		}
	}
	if len(slots) == 0 {
		return coverage.Coverage{Gaps: []coverage.Gap{}}
	}
	slices.Sort(slots)
	c := coverage.Coverage{FromSlot: slots[0], ToSlot: slots[len(slots)-1], Gaps: []coverage.Gap{}}
	for s := c.FromSlot; s <= c.ToSlot; s++ {
		if latest[s].GetStatus() == ingested {
			continue
		}
		explained := latest[s] != nil
		if !explained {
			at, _ := slices.BinarySearch(slots, s)
			next := latest[slots[at]]
			explained = next.ParentSlot != nil && next.GetParentSlot() < s
		}
		if explained && !required[s] {
			continue
		}
		if n := len(c.Gaps); n > 0 && c.Gaps[n-1].ToSlot+1 == s {
			c.Gaps[n-1].ToSlot = s
		} else {
			c.Gaps = append(c.Gaps, coverage.Gap{FromSlot: s, ToSlot: s})
		}
	}
	return c
}

func TestOrderOfRecordsChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bySlot := make(map[uint64]*eventspb.SlotRecord)
		for _, r := range rapid.SliceOfN(rapid.Custom(anyRecord), 0, 40).Draw(t, "records") {
			bySlot[r.GetSlot()] = r
		}
		var records []*eventspb.SlotRecord
		for slot := uint64(100); slot <= 130; slot++ {
			if bySlot[slot] != nil {
				records = append(records, bySlot[slot])
			}
		}
		want := cover(records...)
		if got := cover(rapid.Permutation(records).Draw(t, "order")...); !slices.Equal(want.Gaps, got.Gaps) {
			t.Fatalf("got %v, in order %v", got, want)
		}
	})
}

// TestAWeekIsCheap bounds the memory of a week of slots of 200 ms each.
func TestAWeekIsCheap(t *testing.T) {
	const week = 7 * 24 * 3600 * 5
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	l := coverage.New()
	for slot := uint64(400_000_000); slot < 400_000_000+week; slot++ {
		l.Apply(block(slot, slot-1))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// signed: others may have given some back
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(40<<20))
	require.Empty(t, l.Coverage().Gaps)
	runtime.KeepAlive(l)
}

func BenchmarkCoverageOfAWeekAfterBackfill(b *testing.B) {
	l := coverage.New()
	const week = 3_024_000
	for slot := uint64(1000); slot < 1000+week; slot++ {
		l.Apply(block(slot, slot-1))
	}
	for i := range b.N {
		l.Apply(block(2000, 1999-uint64(i%2)))
		l.Coverage()
	}
}

// TestPartialSlots: a slot whose block could not be read whole is a gap, wherever it lies, and its
// block takes its place in the chain.
func TestPartialSlots(t *testing.T) {
	const first, last = 10, 20
	for partial := uint64(first); partial <= last; partial++ {
		l := coverage.New()
		record := func(slot uint64, status eventspb.SlotStatus) *eventspb.SlotRecord {
			parent := slot - 2 // every other slot has no block
			return &eventspb.SlotRecord{Slot: slot, ParentSlot: &parent, Status: status, Blockhash: make([]byte, 32)}
		}
		partial := partial / 2 * 2
		for slot := uint64(first); slot <= last; slot += 2 {
			status := eventspb.SlotStatus_SLOT_STATUS_INGESTED
			if slot == partial {
				status = eventspb.SlotStatus_SLOT_STATUS_PARTIAL
			}
			l.Apply(record(slot, status))
		}
		require.False(t, l.Ingested(partial, [32]byte{}))
		require.Equal(t, coverage.Coverage{FromSlot: first, ToSlot: last, Gaps: []coverage.Gap{{FromSlot: partial, ToSlot: partial}}}, l.Coverage())
		l.Apply(record(partial, eventspb.SlotStatus_SLOT_STATUS_INGESTED))
		require.Equal(t, coverage.Coverage{FromSlot: first, ToSlot: last, Gaps: []coverage.Gap{}}, l.Coverage())
	}
}

// TestLostSlots: a slot of which the log lost records is a gap until its block is ingested again,
// wherever it lies.
func TestLostSlots(t *testing.T) {
	const first, last = 10, 20
	for lost := uint64(first); lost <= last; lost++ {
		l := coverage.New()
		block := func(slot uint64) *eventspb.SlotRecord {
			parent := slot - 1
			return &eventspb.SlotRecord{Slot: slot, ParentSlot: &parent, Status: eventspb.SlotStatus_SLOT_STATUS_INGESTED, Blockhash: make([]byte, 32)}
		}
		for slot := uint64(first); slot <= last; slot++ {
			l.Apply(block(slot))
		}
		l.Apply(&eventspb.SlotRecord{Slot: lost, Status: eventspb.SlotStatus_SLOT_STATUS_LOST})
		require.False(t, l.Ingested(lost, [32]byte{}))
		require.Equal(t, coverage.Coverage{FromSlot: first, ToSlot: last, Gaps: []coverage.Gap{{FromSlot: lost, ToSlot: lost}}}, l.Coverage())
		l.Apply(block(lost))
		require.Equal(t, coverage.Coverage{FromSlot: first, ToSlot: last, Gaps: []coverage.Gap{}}, l.Coverage())
	}
}
