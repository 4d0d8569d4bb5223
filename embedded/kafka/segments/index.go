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

// indexEntry is the size of an entry of kfake's index. The index has an entry for each batch:
// version (1), the low byte of the checksum of the following fields (1), epoch (4), the highest
// timestamp so far (8), which kfake computes again when it loads, and flags (1).
const indexEntry = 15

// index is what a segment's index file says.
type index struct {
	base int64
	// entries is the number of entries with a good checksum from the beginning of the file. kfake
	// writes an entry after its batch, so at least this many batches were whole once.
	entries int
	// plain says whether the file has only good entries, all with epoch 0 and without a
	// transaction.
	plain bool
}

// readIndex reads an index file. A missing file has no entries. Of a damaged file only the entries
// before the damage count.
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

// indexOf returns the content of the index for this number of batches.
func indexOf(batches int) []byte {
	var entry [indexEntry]byte
	entry[0] = formatVersion
	entry[1] = byte(crc32.Checksum(entry[2:], castagnoli))
	return bytes.Repeat(entry[:], batches)
}

// snapshot is kfake's snapshot.json of a partition. If the sizes of the segments fit, kfake uses it
// and does not read the whole log.
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
	// Only closed segments have the fields below. With them kfake need not read the segment when it
	// starts.
	Batches         int   `json:"batches,omitempty"`
	EndOffset       int64 `json:"end_offset,omitempty"`
	OldestTimestamp int64 `json:"oldest_timestamp,omitempty"`
	NewestTimestamp int64 `json:"newest_timestamp,omitempty"`
}

// readSnapshot returns nil if there is no snapshot that can be read.
func readSnapshot(broker string, k key) *snapshot {
	raw, err := os.ReadFile(filepath.Join(broker, partitionsDir, k.dir(), snapshotFile))
	s := new(snapshot)
	if err != nil || json.Unmarshal(raw, s) != nil || s.Version != formatVersion {
		return nil
	}
	return s
}

// longerThan reports whether a segment of the snapshot is gone now or shorter than in the snapshot.
// A segment before the first of files does not count, because it may have expired.
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

// snapshot returns the snapshot of a partition without damage. With it kfake does not hold the
// whole log in memory while it loads, and uses no figure of an old or damaged snapshot.
func (p *partition) snapshot() *snapshot {
	s := &snapshot{Version: formatVersion, HighWatermark: p.end, LastStableOffset: p.end, LogStartOffset: p.start, CreatedAt: time.Now()}
	for i, c := range p.segments {
		if i == 0 && c.firstTime > 0 {
			s.CreatedAt = time.UnixMilli(c.firstTime)
		}
		s.MaxTimestamp = max(s.MaxTimestamp, c.maxTime)
		known := snapshotSegment{BaseOffset: c.file.base, Size: c.size}
		if i < len(p.segments)-1 && !c.read {
			known.Batches, known.EndOffset, known.OldestTimestamp, known.NewestTimestamp = c.batches, c.end, c.oldest, c.maxTime
		}
		s.Segments = append(s.Segments, known)
	}
	return s
}
