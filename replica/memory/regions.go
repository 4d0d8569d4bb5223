package memory

import "unsafe"

// regions are the regions that a Table or an Arena has, by the address of the first byte, so that
// they can be released with it.
type regions struct {
	mapped map[*byte][]byte
	size   int
}

func (r *regions) take(size int) []byte {
	mapped := region(size)
	r.mapped[&mapped[0]] = mapped
	r.size += size
	return mapped
}

func (r *regions) give(mapped []byte) {
	delete(r.mapped, &mapped[0])
	r.size -= len(mapped)
	release(mapped)
}

func (r *regions) giveAll() {
	for _, mapped := range r.mapped {
		release(mapped)
	}
}

// view returns a region as a slice of T, which must have no pointers. Memory is converted to
// another type nowhere else.
func view[T any](mapped []byte) []T {
	//nolint:gosec // mapped begins at a page and lives as long as its table
	return unsafe.Slice((*T)(unsafe.Pointer(&mapped[0])), len(mapped)/int(unsafe.Sizeof(*new(T))))
}
