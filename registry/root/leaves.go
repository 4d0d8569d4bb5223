package root

import (
	"bytes"
	"encoding/binary"
)

// A cell holds some leaves of one bucket: their digests, the numbers of their mints plus 1 (0 where
// there is none), and the number of the bucket's next cell. All cells of a bucket but its first are
// full. Three leaves a cell waste least where eight or more are in a bucket.
const (
	cellLeaves  = 3
	cellNumbers = cellLeaves * sumSize
	cellNext    = cellNumbers + cellLeaves*4
	cellSize    = cellNext + 4

	chunkBits  = 8
	chunkCells = 1 << chunkBits
)

// leaves are the leaves of all buckets. There are no pointers in them, so they can lie where the
// garbage collector does not look.
type leaves struct {
	take   func(size int) []byte
	first  [branches][]byte // the number of each bucket's first cell, 0 for none
	chunks [][]byte
	used   uint32 // cells that were ever in use
	free   uint32 // a cell that is free, the next one in its place for that; 0 for none
	count  int    // leaves
}

// cell is one by its number, from 1 on.
func (l *leaves) cell(number uint32) []byte {
	number--
	return l.chunks[number>>chunkBits][number&(chunkCells-1)*cellSize:][:cellSize]
}

func (l *leaves) firstOf(bucket uint32) []byte {
	return l.first[bucket>>branchBits][4*(bucket&(1<<branchBits-1)):][:4]
}

func load(from []byte) uint32          { return binary.LittleEndian.Uint32(from) }
func store(to []byte, number uint32)   { binary.LittleEndian.PutUint32(to, number) }
func owner(cell []byte, i int) []byte  { return cell[cellNumbers+4*i:][:4] }
func leafAt(cell []byte, i int) []byte { return cell[sumSize*i:][:sumSize] }
func next(cell []byte) []byte          { return cell[cellNext:] }
func lastOf(cell []byte) (i int) { // of the leaves in it; a cell has one at least
	for i = cellLeaves - 1; i > 0 && load(owner(cell, i)) == 0; i-- {
	}
	return i
}

// put keeps a leaf, nothing to take it out, and says whether the bucket is another one now.
func (l *leaves) put(number, bucket uint32, leaf *Sum) bool {
	if branch := &l.first[bucket>>branchBits]; *branch == nil {
		*branch = l.take(4 << branchBits)
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
		at := l.open()
		cell, i = l.cell(at), 0
		copy(next(cell), first)
		store(first, at)
	}
	copy(leafAt(cell, i), leaf[:])
	store(owner(cell, i), number+1)
	l.count++
}

// remove takes a leaf out and puts the last one of the bucket's first cell in its place.
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

// open is a cell without leaves.
func (l *leaves) open() uint32 {
	if at := l.free; at != 0 {
		l.free = load(next(l.cell(at)))
		return at
	}
	if int(l.used) == chunkCells*len(l.chunks) {
		l.chunks = append(l.chunks, l.take(chunkCells*cellSize))
	}
	l.used++
	return l.used
}

// appendTo appends the leaves of a bucket, in no order.
func (l *leaves) appendTo(dst []byte, bucket uint32) []byte {
	for at := load(l.firstOf(bucket)); at != 0; {
		cell := l.cell(at)
		dst = append(dst, cell[:sumSize*(lastOf(cell)+1)]...)
		at = load(next(cell))
	}
	return dst
}
