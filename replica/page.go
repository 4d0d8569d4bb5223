package replica

import "slices"

// statesPerPage is how many states lie in one piece of memory. A garbage collection looks at each
// piece: with one for each of 30 million states it took two fifths of the time of a load. A change
// copies the page, some three kilobytes.
const statesPerPage = 16

// usualState is about how many bytes a state has.
const usualState = 200

// page holds the packed states of statesPerPage consecutive row ids, one behind the other. The
// first byte of a state is 1 if the mint is a member; a mint without a state has no byte. Bytes
// that are in a page are never changed, so a reader may go on with them after it has unlocked the
// table.
type page struct {
	ends  [statesPerPage]uint32 // of the states, in bytes
	bytes []byte
}

// state returns the state at a place of the page.
func (p *page) state(at uint32) []byte {
	begin := uint32(0)
	if at > 0 {
		begin = p.ends[at-1]
	}
	return p.bytes[begin:p.ends[at]:p.ends[at]]
}

// put replaces the state at a place. While a table is filled, the states come in the order of their
// places. Then put appends each one to memory that it has reserved for the rest of the page. The
// last state of the page, and any later change, copies the page into memory of exactly its size.
func (p *page) put(at uint32, member bool, packed []byte) {
	old, size := len(p.state(at)), 1+len(packed)
	before, behind := p.bytes[:int(p.ends[at])-old], p.bytes[p.ends[at]:]
	places := int(statesPerPage - 1 - at)
	if old == 0 && len(behind) == 0 && places > 0 {
		if cap(before)-len(before) < size {
			before = slices.Grow(before, size+usualState*places)
		}
	} else {
		before = append(make([]byte, 0, len(p.bytes)-old+size), before...)
	}
	p.bytes = append(append(append(before, memberByte(member)), packed...), behind...)
	for i := at; i < statesPerPage; i++ {
		p.ends[i] = uint32(int(p.ends[i]) - old + size)
	}
}

func memberByte(member bool) byte {
	if member {
		return 1
	}
	return 0
}

// isMember returns whether a state is that of a member.
func isMember(state []byte) bool { return len(state) > 0 && state[0] == 1 }
