package root

import (
	"bytes"
	"encoding/binary"
)

// A cell stores up to cellLeaves leaves of one group: their digests, then their owners, then the
// number of the group's next cell (0 if there is none). All cells of a group except its first are
// full. An owner is the number of the leaf's mint plus 1, shifted left by fanBits, and the last
// bits of the mint's place; 0 if the place in the cell is free. If groups have about eight leaves,
// cells of three waste little memory.
const (
	cellLeaves = 3
	cellOwners = cellLeaves * sumSize      // where the owners begin
	cellNext   = cellOwners + cellLeaves*4 // where the next cell's number is
	cellSize   = cellNext + 4

	chunkBits  = 8
	chunkCells = 1 << chunkBits // how many cells are allocated at once
)

// leaves stores the leaves of all groups. The chunks contain no pointers, which the garbage
// collector would follow.
type leaves struct {
	first  [branches][]byte // the number of each group's first cell, 4 bytes; 0 for none
	chunks [][]byte
	used   uint32 // cells that were ever in use
	free   uint32 // the first free cell, which names the next one in its last 4 bytes; 0 for none
	count  int    // how many leaves there are
}

// cell returns the cell of a number. Numbers start at 1.
func (l *leaves) cell(number uint32) []byte {
	number--
	return l.chunks[number>>chunkBits][number&(chunkCells-1)*cellSize:][:cellSize]
}

// firstOf returns the 4 bytes that store the number of a group's first cell.
func (l *leaves) firstOf(group uint32) []byte {
	branch := &l.first[group>>branchBits]
	if *branch == nil {
		*branch = make([]byte, 4<<branchBits)
	}
	return (*branch)[4*(group&(1<<branchBits-1)):][:4]
}

func load(from []byte) uint32          { return binary.LittleEndian.Uint32(from) }
func store(to []byte, number uint32)   { binary.LittleEndian.PutUint32(to, number) }
func owner(cell []byte, i int) []byte  { return cell[cellOwners+4*i:][:4] }
func leafAt(cell []byte, i int) []byte { return cell[sumSize*i:][:sumSize] }
func next(cell []byte) []byte          { return cell[cellNext:] }

// ownerOf returns the owner of a mint's leaf.
func ownerOf(number, place uint32) uint32 { return (number+1)<<fanBits | place&(fanOut-1) }

// lastOf returns the index of the last leaf in a cell, which has at least one.
func lastOf(cell []byte) (i int) {
	for i = cellLeaves - 1; i > 0 && load(owner(cell, i)) == 0; i-- {
	}
	return i
}

// put sets the leaf of the mint with a number, or removes it if leaf is nothing. It reports whether
// the group has changed.
func (l *leaves) put(number, place uint32, leaf *Sum) bool {
	group, held := place>>fanBits, ownerOf(number, place)
	for at := load(l.firstOf(group)); at != 0; {
		cell := l.cell(at)
		for i := range cellLeaves {
			if load(owner(cell, i)) != held {
				continue
			}
			switch before := leafAt(cell, i); {
			case bytes.Equal(before, leaf[:]):
				return false
			case *leaf == nothing:
				l.remove(group, cell, i)
			default:
				copy(before, leaf[:])
			}
			return true
		}
		at = load(next(cell))
	}
	if *leaf == nothing {
		return false
	}
	l.add(number, place, leaf)
	return true
}

// add adds a leaf to its group's first cell. If that is full, it puts a new first cell in front.
func (l *leaves) add(number, place uint32, leaf *Sum) {
	var (
		first = l.firstOf(place >> fanBits)
		cell  []byte
		i     int
	)
	if at := load(first); at != 0 {
		cell = l.cell(at)
		i = lastOf(cell) + 1
	}
	if cell == nil || i == cellLeaves {
		at := l.newCell()
		cell, i = l.cell(at), 0
		copy(next(cell), first)
		store(first, at)
	}
	copy(leafAt(cell, i), leaf[:])
	store(owner(cell, i), ownerOf(number, place))
	l.count++
}

// remove removes leaf i of a cell. The last leaf of the group's first cell takes its place.
func (l *leaves) remove(group uint32, cell []byte, i int) {
	first := l.firstOf(group)
	at := load(first)
	from := l.cell(at)
	last := lastOf(from)
	copy(leafAt(cell, i), leafAt(from, last))
	copy(owner(cell, i), owner(from, last))
	store(owner(from, last), 0)
	if last == 0 {
		copy(first, next(from))
		store(next(from), l.free)
		l.free = at
	}
	l.count--
}

// newCell returns the number of a cell without leaves: a free one, or else a new one.
func (l *leaves) newCell() uint32 {
	if at := l.free; at != 0 {
		l.free = load(next(l.cell(at)))
		return at
	}
	if int(l.used) == chunkCells*len(l.chunks) {
		l.chunks = append(l.chunks, make([]byte, chunkCells*cellSize))
	}
	l.used++
	return l.used
}

// placed is a leaf and its place within the group, from 0 to fanOut-1: child is the number of its
// bucket in version 2.
type placed struct {
	leaf  Sum
	child uint8
}

// appendTo appends a group's leaves, in no particular order.
func (l *leaves) appendTo(dst []placed, group uint32) []placed {
	for at := load(l.firstOf(group)); at != 0; {
		cell := l.cell(at)
		for i := range lastOf(cell) + 1 {
			dst = append(dst, placed{Sum(leafAt(cell, i)), uint8(load(owner(cell, i)) & (fanOut - 1))})
		}
		at = load(next(cell))
	}
	return dst
}
