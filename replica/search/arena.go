package search

import (
	"slices"
	"unsafe"
)

// A segment's columns lie in large pieces of memory: the smaller ones side by side in one, the
// largest where they were made. A search looks into them at thousands of places far apart, and
// finding out where a page of 4 KiB lies takes a core longer than reading it; so they are asked for
// in huge pages (see hugepages_linux.go).

const (
	hugePage = 2 << 20
	// hugeArena is how large an arena must be to lie in huge pages: what they leave over is then
	// little.
	hugeArena = 4 * hugePage
)

// arena is memory to be divided. It is measured first, and then filled.
type arena struct {
	memory []byte
	used   int
	large  [][]byte // columns that stay where they are
}

// number is what columns are of: nothing that the collector must know of.
type number interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64 | gramEntry
}

// move copies a column into the arena, and makes it the copy; an arena without memory only
// measures. One that is large enough for huge pages of its own stays where it is: nothing takes
// more memory than moving does.
func move[T number](r *arena, column *[]T) {
	const align = 16
	size := len(*column) * int(unsafe.Sizeof(*new(T)))
	if size >= hugeArena {
		*column = slices.Clip(*column)
		r.large = append(r.large, unsafe.Slice((*byte)(unsafe.Pointer(&(*column)[0])), size)) //nolint:gosec // as long as the column
		return
	}
	if r.memory != nil && size > 0 {
		moved := unsafe.Slice((*T)(unsafe.Pointer(&r.memory[r.used])), len(*column)) //nolint:gosec // aligned, and within memory, which it keeps alive
		copy(moved, *column)
		*column = moved
	}
	r.used += (size + align - 1) / align * align
}

// gather moves the columns into one arena, but for the largest.
func (s *segment) gather() {
	var r arena
	s.move(&r)
	r = arena{memory: newArena(r.used)}
	s.move(&r)
	for _, memory := range append(r.large, r.memory) {
		if len(memory) >= hugeArena {
			seekHugePages(inHugePages(memory))
		}
	}
}

// inHugePages is the part of the memory that fills huge pages.
func inHugePages(memory []byte) []byte {
	begin := -int(uintptr(unsafe.Pointer(&memory[0]))) & (hugePage - 1) //nolint:gosec // only where it is
	if begin >= len(memory) {
		return nil
	}
	return memory[begin : begin+(len(memory)-begin)/hugePage*hugePage]
}

// newArena is memory that begins where a huge page does, if it is to lie in such.
func newArena(size int) []byte {
	if size < hugeArena {
		return make([]byte, size+1) // never none
	}
	memory := make([]byte, size+hugePage)
	begin := -int(uintptr(unsafe.Pointer(&memory[0]))) & (hugePage - 1) //nolint:gosec // only where it is
	memory = memory[begin:]
	adviseHugePages(memory)
	return memory
}

// move moves each column.
func (s *segment) move(r *arena) {
	move(r, &s.arena)
	move(r, &s.offsets)
	move(r, &s.gramCount)
	move(r, &s.gramFirst)
	move(r, &s.symRank)
	move(r, &s.isSymbol)
	move(r, &s.nameOnce)
	move(r, &s.nameMore)
	move(r, &s.nameFirst)
	move(r, &s.nameSlots)
	move(r, &s.nameSyms)
	move(r, &s.symText.texts)
	move(r, &s.symText.heads)
	move(r, &s.nameText.texts)
	move(r, &s.nameText.heads)
	move(r, &s.symFirst)
	move(r, &s.sym)
	move(r, &s.name)
	move(r, &s.grams.entries)
	move(r, &s.postings)
	move(r, &s.dense)
	move(r, &s.denseFrom)
	move(r, &s.halves.first)
	move(r, &s.halves.items)
	move(r, &s.blocks.first)
	move(r, &s.blocks.items)
	move(r, &s.ids)
	move(r, &s.attrs)
	move(r, &s.mints)
	move(r, &s.mintOrder)
}
