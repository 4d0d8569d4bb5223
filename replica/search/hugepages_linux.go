package search

import "golang.org/x/sys/unix"

// adviseHugePages asks for huge pages where nothing was written yet. Where the kernel has none, or
// is not to give any, nothing changes.
func adviseHugePages(memory []byte) { _ = unix.Madvise(memory, unix.MADV_HUGEPAGE) }

// seekHugePages has what lies in small pages moved: memory that was used before does. It takes some
// milliseconds a megabyte at most.
func seekHugePages(memory []byte) { _ = unix.Madvise(memory, unix.MADV_COLLAPSE) }
