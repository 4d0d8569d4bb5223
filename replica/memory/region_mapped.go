//go:build unix && !race

package memory

import (
	"fmt"
	"syscall"
)

// region is zeroed memory outside the heap: the collector neither looks at it nor waits twice its
// size until it runs again. Under the race detector, which sees the heap only, it is on the heap.
func region(size int) []byte {
	mapped, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		// As when the heap cannot grow: there is nothing that a caller could do.
		panic(fmt.Sprintf("memory: map %d bytes: %v", size, err))
	}
	return mapped
}

// release gives a region back to the system. Nobody may look at it any more.
func release(mapped []byte) {
	if err := syscall.Munmap(mapped); err != nil {
		panic(fmt.Sprintf("memory: unmap: %v", err))
	}
}
