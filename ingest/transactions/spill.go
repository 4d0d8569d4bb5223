package transactions

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/mintlake/mintlake/internal/kafka"
)

// segmentBytes is the size at which the next segment begins.
const segmentBytes = 64 << 20

// headBytes is the size of an entry's head: the length of the body and its CRC-32C, each a big
// endian u32.
const headBytes = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errSpillFull means that the spill has reached its bound.
var errSpillFull = errors.New("the spill is full")

// spill is a folder of segments. A segment is a file of entries in the order in which they were
// added. Each entry is a list of records. When all entries of a segment are released, the segment
// is removed. A spill must not be used concurrently.
type spill struct {
	folder   string
	maxBytes int64
	bytes    int64    // of all segments
	next     int      // the number in the next segment's name
	last     *segment // gets new entries; nil means that the next entry begins a segment
}

type segment struct {
	file *os.File
	size int64
	// live counts the entries that are not released.
	live int
}

// place is where an entry is on disk.
type place struct {
	segment *segment
	at      int64
	length  int
}

// unread is a piece of a segment that cannot be read as an entry. cutOff means that the segment
// ends within the entry, which a kill of the process may have caused. Otherwise the disk has
// damaged the entry.
type unread struct {
	file      string
	at, bytes int64
	cutOff    bool
}

// openSpill creates the folder if needed. It returns the entries that an earlier run left, and the
// pieces between them that cannot be read. An entry that is cut off at the end of a segment was
// never reported as durable.
func openSpill(folder string, maxBytes int64) (s *spill, left []place, gaps []unread, err error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("open spill: %w", err)
	}
	names, err := filepath.Glob(filepath.Join(folder, "*.spill"))
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open spill: %w", err)
	}
	slices.Sort(names)
	s = &spill{folder: folder, maxBytes: maxBytes}
	for _, name := range names {
		if _, err := fmt.Sscanf(filepath.Base(name), "%d-", &s.next); err != nil {
			continue
		}
		s.next++
		places, holes, err := s.load(name)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("open spill: %w", err)
		}
		left, gaps = append(left, places...), append(gaps, holes...)
	}
	return s, left, gaps, nil
}

// load finds the entries of a segment. After a damaged entry it goes on where the entry's length
// says. If the length is 0 or exceeds the file, the rest of the segment is unread. load removes a
// segment without readable entries.
func (s *spill) load(name string) (places []place, gaps []unread, err error) {
	file, err := os.OpenFile(name, os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	seg := &segment{file: file, size: info.Size()}
	for at := int64(0); at < seg.size; {
		var head [headBytes]byte
		_, _ = file.ReadAt(head[:], at) // a missing head reads as length 0
		p := place{seg, at, int(binary.BigEndian.Uint32(head[:]))}
		end := at + headBytes + int64(p.length)
		cutOff := end > seg.size
		if cutOff || p.length == 0 { // the next entry cannot be found
			end = seg.size
		} else if _, err := p.bytes(); err == nil {
			seg.live++
			places = append(places, p)
			at = end
			continue
		}
		gaps = append(gaps, unread{name, at, end - at, cutOff})
		at = end
	}
	s.bytes += seg.size
	if seg.live == 0 {
		return nil, gaps, s.remove(seg)
	}
	return places, gaps, nil
}

// add appends an entry and syncs it to the disk. The spill may grow above its bound by reserve
// bytes. Only an entry that says that transactions did not fit gets a reserve.
func (s *spill) add(records []kafka.Record, reserve int64) (place, error) {
	var body bytes.Buffer
	body.Write(make([]byte, headBytes))
	if err := gob.NewEncoder(&body).Encode(records); err != nil {
		return place{}, fmt.Errorf("spill: %w", err)
	}
	entry := body.Bytes()
	if s.bytes+int64(len(entry)) > s.maxBytes+reserve {
		return place{}, errSpillFull
	}
	binary.BigEndian.PutUint32(entry, uint32(len(entry)-headBytes))
	binary.BigEndian.PutUint32(entry[4:], crc32.Checksum(entry[headBytes:], castagnoli))
	if s.last == nil || s.last.size >= segmentBytes {
		if err := s.begin(); err != nil {
			return place{}, fmt.Errorf("spill: %w", err)
		}
	}
	seg := s.last
	if _, err := seg.file.WriteAt(entry, seg.size); err != nil {
		return place{}, fmt.Errorf("spill: %w", err)
	}
	if err := seg.file.Sync(); err != nil {
		return place{}, fmt.Errorf("spill: %w", err)
	}
	p := place{seg, seg.size, len(entry) - headBytes}
	seg.size += int64(len(entry))
	seg.live++
	s.bytes += int64(len(entry))
	return p, nil
}

// begin creates the segment that gets the next entries. Its name contains the process id, because
// two processes may lead for a moment and share a folder.
func (s *spill) begin() error {
	file, err := os.OpenFile(filepath.Join(s.folder, fmt.Sprintf("%012d-%d.spill", s.next, os.Getpid())), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	s.next++
	s.last = &segment{file: file}
	return nil
}

// release notes that an entry is not needed any more. It removes the segment if it was the
// segment's last entry.
func (s *spill) release(p place) error {
	if p.segment.live--; p.segment.live > 0 {
		return nil
	}
	if p.segment == s.last {
		s.last = nil
	}
	return s.remove(p.segment)
}

func (s *spill) remove(seg *segment) error {
	s.bytes -= seg.size
	return errors.Join(seg.file.Close(), os.Remove(seg.file.Name()))
}

// close closes the files of the entries in left. The entries stay on disk.
func (s *spill) close(left []place) {
	for _, p := range left {
		_ = p.segment.file.Close() // add has synced everything that was written
	}
}

// bytes reads the body of the entry and checks its CRC.
func (p place) bytes() ([]byte, error) {
	entry := make([]byte, 0, min(p.length, 1<<20))
	reader := io.NewSectionReader(p.segment.file, p.at, headBytes+int64(p.length))
	buffer := bytes.NewBuffer(entry)
	if _, err := io.Copy(buffer, reader); err != nil {
		return nil, fmt.Errorf("read spill: %w", err)
	}
	entry = buffer.Bytes()
	if len(entry) != headBytes+p.length || crc32.Checksum(entry[headBytes:], castagnoli) != binary.BigEndian.Uint32(entry[4:]) {
		return nil, errors.New("read spill: the entry is damaged")
	}
	return entry[headBytes:], nil
}

// records reads and decodes the entry.
func (p place) records() (records []kafka.Record, err error) {
	body, err := p.bytes()
	if err != nil {
		return nil, err
	}
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(&records); err != nil {
		return nil, fmt.Errorf("read spill: %w", err)
	}
	return records, nil
}
