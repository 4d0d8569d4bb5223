package root

import (
	"bytes"
	"encoding/binary"
)

// A cell stores up to cellLeaves leaves of one bucket: their digests, then the numbers of their
// mints plus 1 (0 if the place is free), then the number of the bucket's next cell (0 if there is
// none). All cells of a bucket except its first are full. If buckets have about eight leaves, cells
// of three waste the least memory.
const (
	cellLeaves  = 3
	cellNumbers = cellLeaves * sumSize       // where the mints' numbers begin
	cellNext    = cellNumbers + cellLeaves*4 // where the next cell's number is
	cellSize    = cellNext + 4

	chunkBits  = 8
	chunkCells = 1 << chunkBits // how many cells are allocated at once
)

// leaves stores the leaves of all buckets. The chunks contain no pointers, which the garbage
// collector would follow.
type leaves struct {
	first  [branches][]byte // the number of each bucket's first cell, 4 bytes; 0 for none
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

// firstOf returns the 4 bytes that store the number of a bucket's first cell.
func (l *leaves) firstOf(bucket uint32) []byte {
	return l.first[bucket>>branchBits][4*(bucket&(1<<branchBits-1)):][:4]
}

func load(from []byte) uint32          { return binary.LittleEndian.Uint32(from) }
func store(to []byte, number uint32)   { binary.LittleEndian.PutUint32(to, number) }
func owner(cell []byte, i int) []byte  { return cell[cellNumbers+4*i:][:4] }
func leafAt(cell []byte, i int) []byte { return cell[sumSize*i:][:sumSize] }
func next(cell []byte) []byte          { return cell[cellNext:] }

// lastOf returns the index of the last leaf in a cell, which has at least one.
func lastOf(cell []byte) (i int) {
	for i = cellLeaves - 1; i > 0 && load(owner(cell, i)) == 0; i-- {
	}
	return i
}

// put sets the leaf of the mint with a number, or removes it if leaf is nothing. It reports whether
// the bucket has changed.
func (l *leaves) put(number, bucket uint32, leaf *Sum) bool {
	if branch := &l.first[bucket>>branchBits]; *branch == nil {
		*branch = make([]byte, 4<<branchBits)
	}
	for at := load(l.firstOf(bucket)); at != 0; {
		cell := l.cell(at)
		for i := range cellLeaves {
			if load(owner(cell, i)) != number+1 {
				continue
			}
			switch held := leafAt(cell, i); {
			case bytes.Equal(held, leaf[:]):
				return false
			case *leaf == nothing:
				l.remove(bucket, cell, i)
			default:
				copy(held, leaf[:])
			}
			return true
		}
		at = load(next(cell))
	}
	if *leaf == nothing {
		return false
	}
	l.add(number, bucket, leaf)
	return true
}

// add adds a leaf to the bucket's first cell. If that is full, it puts a new first cell in front.
func (l *leaves) add(number, bucket uint32, leaf *Sum) {
	var (
		first = l.firstOf(bucket)
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
	store(owner(cell, i), number+1)
	l.count++
}

// remove removes leaf i of a cell. The last leaf of the bucket's first cell takes its place.
func (l *leaves) remove(bucket uint32, cell []byte, i int) {
	first := l.firstOf(bucket)
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

// appendTo appends the digests of a bucket's leaves, in no particular order.
func (l *leaves) appendTo(dst []byte, bucket uint32) []byte {
	for at := load(l.firstOf(bucket)); at != 0; {
		cell := l.cell(at)
		dst = append(dst, cell[:sumSize*(lastOf(cell)+1)]...)
		at = load(next(cell))
	}
	return dst
}
