package segments

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"
)

// indexEntry is the size of a batch's entry in kfake's index: version, the low byte of the checksum
// of what follows, epoch (4), a running maximum of timestamps (8) that kfake computes anew when it
// loads, flags.
const indexEntry = 15

// index is what a segment's index file holds.
type index struct {
	base int64
	// entries counts those whose checksum holds, from the beginning. An entry is written after its
	// batch.
	entries int
	// plain says that the file is these entries and nothing else, and that kfake reads epoch 0 and
	// no transaction from them.
	plain bool
}

func readIndex(name string, base int64) index {
	raw, err := os.ReadFile(name)
	x := index{base: base, plain: err == nil && len(raw)%indexEntry == 0}
	for ; len(raw) >= indexEntry; raw = raw[indexEntry:] {
		if raw[0] != formatVersion || raw[1] != byte(crc32.Checksum(raw[2:indexEntry], castagnoli)) {
			x.plain = false
			break
		}
		x.entries++
		x.plain = x.plain && binary.LittleEndian.Uint32(raw[2:]) == 0 && raw[14] == 0
	}
	return x
}

// indexOf makes the index of so many batches.
func indexOf(batches int) []byte {
	var entry [indexEntry]byte
	entry[0] = formatVersion
	entry[1] = byte(crc32.Checksum(entry[2:], castagnoli))
	return bytes.Repeat(entry[:], batches)
}

// snapshot is kfake's snapshot.json of a partition: what it takes over instead of reading the whole
// log, where the segments' sizes fit.
type snapshot struct {
	Version          int               `json:"version"`
	HighWatermark    int64             `json:"high_watermark"`
	LastStableOffset int64             `json:"last_stable_offset"`
	LogStartOffset   int64             `json:"log_start_offset"`
	Epoch            int32             `json:"epoch"`
	MaxTimestamp     int64             `json:"max_timestamp"`
	CreatedAt        time.Time         `json:"created_at"`
	Segments         []snapshotSegment `json:"segments"`
}

type snapshotSegment struct {
	BaseOffset int64 `json:"base_offset"`
	Size       int64 `json:"size"`
}

// readSnapshot is nil where there is none that can be read.
func readSnapshot(broker string, k key) *snapshot {
	raw, err := os.ReadFile(filepath.Join(broker, partitionsDir, k.dir(), snapshotFile))
	s := new(snapshot)
	if err != nil || json.Unmarshal(raw, s) != nil || s.Version != formatVersion {
		return nil
	}
	return s
}

// longerThan says that a segment of the snapshot is gone or shorter now. Segments before the first
// one may have expired.
func (s *snapshot) longerThan(files []file) bool {
	sizes := make(map[int64]int64)
	for _, f := range files {
		sizes[f.base] = f.size
	}
	for _, known := range s.Segments {
		size, there := sizes[known.BaseOffset]
		expired := !there && len(files) > 0 && known.BaseOffset < files[0].base
		if !expired && size < known.Size {
			return true
		}
	}
	return false
}

// snapshotOf describes a sound partition: with it kfake needs not to hold the whole log in memory
// while it loads, and takes no figure from a snapshot that is old or damaged.
func (p *partition) snapshot() *snapshot {
	s := &snapshot{Version: formatVersion, HighWatermark: p.end, LastStableOffset: p.end, LogStartOffset: p.start, CreatedAt: time.Now()}
	for i, c := range p.segments {
		if i == 0 && c.firstTime > 0 {
			s.CreatedAt = time.UnixMilli(c.firstTime)
		}
		s.MaxTimestamp = max(s.MaxTimestamp, c.maxTime)
		s.Segments = append(s.Segments, snapshotSegment{BaseOffset: c.file.base, Size: c.size})
	}
	return s
}
