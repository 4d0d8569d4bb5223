package datadir

// maxReserve is as much as ClickHouse's largest usual merge of a minute writes.
const maxReserve = 512 << 20

// Reserve is how many bytes of a file system of this size stay free: a twentieth, at most 512 MiB.
// With less ClickHouse takes no writes and begins no merge. A merge that finds the disk full on its
// way can leave a part without its rows, which queries stumble over until the next start; what is
// refused before it begins comes again.
func Reserve(size uint64) uint64 { return min(size/20, maxReserve) }
