package datadir

// maxReserve is about what ClickHouse's largest usual merge within a minute writes.
const maxReserve = 512 << 20

// Reserve returns how many bytes of a file system of this size must stay free: a twentieth, at most
// 512 MiB. With less, the embedded ClickHouse refuses writes and begins no merge; both are tried
// again later. A merge that meets a full disk midway is worse: it can leave a part without its
// rows, on which queries fail until the next start.
func Reserve(size uint64) uint64 { return min(size/20, maxReserve) }
