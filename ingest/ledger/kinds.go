package ledger

const (
	// kindChunk is how many slots are allocated at once.
	kindChunk = 1024
	// maxKinds is how many groups of kinds are told apart. There are a few; any further ones count
	// as one.
	maxKinds = 254
)

// kinds remembers which group of kinds of sources wrote the latest record of each slot, in one byte
// for each slot. The zero value is empty.
type kinds struct {
	names  map[string]uint8 // from 1; 0 is no record
	chunks map[uint64]*[kindChunk]uint8
}

// put notes the group that wrote the latest record of a slot.
func (k *kinds) put(slot uint64, group string) {
	if k.names == nil {
		k.names, k.chunks = make(map[string]uint8), make(map[uint64]*[kindChunk]uint8)
	}
	id, ok := k.names[group]
	if !ok {
		id = uint8(min(len(k.names), maxKinds)) + 1
		k.names[group] = id
	}
	c := k.chunks[slot/kindChunk]
	if c == nil {
		c = new([kindChunk]uint8)
		k.chunks[slot/kindChunk] = c
	}
	c[slot%kindChunk] = id
}

// below returns the highest slot below slot, and not below floor, whose latest record is of the
// group.
func (k *kinds) below(slot, floor uint64, group string) (uint64, bool) {
	id, ok := k.names[group]
	for at := slot; ok && at > floor; {
		at--
		if c := k.chunks[at/kindChunk]; c != nil && c[at%kindChunk] == id {
			return at, true
		}
	}
	return 0, false
}
