package coverage

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	"github.com/mintlake/mintlake/schemas/eventspb"
)

// entry is what is known of one slot. tag stands for the block's hash, see tagOf.
type entry struct {
	slot      uint64
	status    eventspb.SlotStatus
	tag       uint64
	parent    uint64
	hasParent bool
}

// tagOf returns the first eight bytes of a hash; 0 if there is no hash.
func tagOf(blockhash []byte) uint64 {
	if len(blockhash) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(blockhash)
}

// chunkSlots is how many slots are allocated at once.
const chunkSlots = 1024

// chunk stores chunkSlots slots by columns, so that no padding is needed.
type chunk struct {
	tags [chunkSlots]uint64
	// parents are distances down to the parent: 0 if it is unknown, farParent if it is in
	// slotTable.far.
	parents [chunkSlots]uint16
	status  [chunkSlots]uint8
}

// farParent in chunk.parents means that the parent is in slotTable.far.
const farParent = math.MaxUint16

// slotTable is a sparse table of slots. The zero value is empty.
type slotTable struct {
	chunks map[uint64]*chunk
	// far stores the parents that are too far down for chunk.parents.
	far map[uint64]uint64
}

func (t *slotTable) empty() bool { return len(t.chunks) == 0 }

func (t *slotTable) get(slot uint64) entry {
	c := t.chunks[slot/chunkSlots]
	if c == nil {
		return entry{slot: slot}
	}
	return t.read(c, slot)
}

func (t *slotTable) read(c *chunk, slot uint64) entry {
	e, i := entry{slot: slot}, slot%chunkSlots
	e.status, e.tag = eventspb.SlotStatus(c.status[i]), c.tags[i]
	switch distance := c.parents[i]; distance {
	case 0:
	case farParent:
		e.parent, e.hasParent = t.far[slot], true
	default:
		e.parent, e.hasParent = slot-uint64(distance), true
	}
	return e
}

// put stores e and reports whether anything changed.
func (t *slotTable) put(e entry) bool {
	if t.get(e.slot) == e {
		return false
	}
	if t.chunks == nil {
		t.chunks, t.far = make(map[uint64]*chunk), make(map[uint64]uint64)
	}
	c := t.chunks[e.slot/chunkSlots]
	if c == nil {
		c = new(chunk)
		t.chunks[e.slot/chunkSlots] = c
	}
	i := e.slot % chunkSlots
	c.status[i], c.tags[i], c.parents[i] = uint8(e.status), e.tag, 0
	delete(t.far, e.slot)
	if e.hasParent {
		if distance := e.slot - e.parent; distance < farParent {
			c.parents[i] = uint16(distance)
		} else {
			c.parents[i] = farParent
			t.far[e.slot] = e.parent
		}
	}
	return true
}

// each calls visit for every slot with a record, in ascending order.
func (t *slotTable) each(visit func(entry)) {
	for _, at := range slices.Sorted(maps.Keys(t.chunks)) {
		c := t.chunks[at]
		for i := range c.status {
			if c.status[i] != 0 {
				visit(t.read(c, at*chunkSlots+uint64(i)))
			}
		}
	}
}
