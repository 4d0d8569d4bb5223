package root

// changes are the mints that have changed, found by their numbers. Every fact of the fold asks for its mint's: so that takes a look into a list, not
// into a map, and a change that is over is used again with its room.
type changes struct {
	list []*change
	// pages are the places in list plus 1, by number; 0 for none. Four bytes a mint, where any near it has changed.
	pages [][]uint32
	free  []*change
}

const (
	pageBits = 12
	// maxFree changes are kept, with room for maxRoom bytes of state each.
	maxFree = 1 << 15
	maxRoom = 512
)

// of is the change of a mint, or nil.
func (cs *changes) of(number uint32) *change {
	if page := int(number >> pageBits); page < len(cs.pages) && cs.pages[page] != nil {
		if at := cs.pages[page][number&(1<<pageBits-1)]; at != 0 {
			return cs.list[at-1]
		}
	}
	return nil
}

// begin is a new change of a mint that has none.
func (cs *changes) begin(number uint32) *change {
	c := new(change)
	if last := len(cs.free) - 1; last >= 0 {
		c, cs.free = cs.free[last], cs.free[:last]
	}
	page := int(number >> pageBits)
	if missing := page + 1 - len(cs.pages); missing > 0 {
		cs.pages = append(cs.pages, make([][]uint32, missing)...)
	}
	if cs.pages[page] == nil {
		cs.pages[page] = make([]uint32, 1<<pageBits)
	}
	c.number = number
	cs.list = append(cs.list, c)
	cs.put(c, len(cs.list)-1)
	return c
}

// put says where a change is in the list.
func (cs *changes) put(c *change, at int) {
	c.at = at
	cs.pages[c.number>>pageBits][c.number&(1<<pageBits-1)] = uint32(at) + 1
}

// end forgets a change.
func (cs *changes) end(c *change) {
	last := len(cs.list) - 1
	moved := cs.list[last]
	cs.list[c.at] = moved
	cs.put(moved, c.at)
	cs.list[last], cs.list = nil, cs.list[:last]
	cs.pages[c.number>>pageBits][c.number&(1<<pageBits-1)] = 0
	room := c.before[:0]
	if cap(room) > maxRoom {
		room = nil
	}
	if *c = (change{before: room}); len(cs.free) < maxFree {
		cs.free = append(cs.free, c)
	}
}
