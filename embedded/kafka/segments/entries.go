package segments

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

// Layout of an entry in groups.log and pids.log: the length of what follows the checksum (4),
// checksum (4), version (2), JSON; little-endian.
const (
	entryPrefix = 8
	entryHead   = 10
	maxEntry    = 1 << 20
)

// soundEntries returns the entries whose checksum holds, also those behind a damaged one. bad is
// the number of the other bytes. They must be removed: kfake stops at the first bad entry when it
// loads, but appends new entries behind it, and would never read those.
func soundEntries(raw []byte) (sound []byte, bad int) {
	for len(raw) > 0 {
		size := entrySize(raw)
		if size == 0 {
			raw, bad = raw[1:], bad+1
			continue
		}
		sound = append(sound, raw[:size]...)
		raw = raw[size:]
	}
	return sound, bad
}

// entrySize returns the size of the entry at the beginning of raw; 0 if there is no good entry.
func entrySize(raw []byte) int {
	if len(raw) < entryHead {
		return 0
	}
	length := int(binary.LittleEndian.Uint32(raw))
	if length < entryHead-entryPrefix || length > maxEntry || entryPrefix+length > len(raw) {
		return 0
	}
	if crc32.Checksum(raw[entryPrefix:entryPrefix+length], castagnoli) != binary.LittleEndian.Uint32(raw[4:]) {
		return 0
	}
	return entryPrefix + length
}

// checkOthers checks the files of the broker besides topics and records. Damage in them is only a
// notice: a group whose committed offsets are gone reads its records again, which changes nothing.
func (r *Report) checkOthers(broker string) {
	for name, what := range map[string]string{
		groupsFile:    "consumer groups read again what they committed there",
		producersFile: "producers of other programs may have to begin anew",
	} {
		raw, err := os.ReadFile(filepath.Join(broker, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		sound, bad := soundEntries(raw)
		if err == nil && bad == 0 {
			continue
		}
		if r.framed == nil {
			r.framed = make(map[string][]byte)
		}
		r.framed[name] = sound
		if err != nil {
			r.Notices = append(r.Notices, fmt.Sprintf("%s cannot be read (%v) and is made anew; %s", name, err, what))
		} else {
			r.Notices = append(r.Notices, fmt.Sprintf("%s: %d of %d bytes cannot be read; %s", name, bad, len(raw), what))
		}
	}
	var document struct {
		Version int `json:"version"`
	}
	raw, err := os.ReadFile(filepath.Join(broker, windowsFile))
	if !errors.Is(err, fs.ErrNotExist) && (err != nil || json.Unmarshal(raw, &document) != nil || document.Version != formatVersion) {
		r.drop = append(r.drop, windowsFile)
		r.Notices = append(r.Notices, windowsFile+" cannot be read; producers of other programs may have to begin anew")
	}
	if _, err := os.Stat(filepath.Join(broker, metaFile)); errors.Is(err, fs.ErrNotExist) && len(r.topics) > 0 {
		r.Notices = append(r.Notices, metaFile+" is gone; it is made anew")
	}
}
