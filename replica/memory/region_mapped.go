//go:build unix && !race

package memory

import (
	"fmt"
	"syscall"
)

// region returns zeroed memory outside the heap. The garbage collector does not scan it, and does
// not count it when it decides when to run next. With the race detector, region_heap.go is built
// instead.
func region(size int) []byte {
	mapped, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		// Go panics too when the heap cannot grow: a caller could do nothing.
		panic(fmt.Sprintf("memory: map %d bytes: %v", size, err))
	}
	return mapped
}

// release gives a region back to the system. Nobody may read it any more.
func release(mapped []byte) {
	if err := syscall.Munmap(mapped); err != nil {
		panic(fmt.Sprintf("memory: unmap: %v", err))
	}
}
