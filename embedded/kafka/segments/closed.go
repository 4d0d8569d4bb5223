package segments

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// fileID identifies a file and its last write. Two equal fileIDs mean the same file, with no write
// in between. Inode and ModTime come from the file system.
type fileID struct {
	Inode uint64 `json:"inode"`
	// ModTime is when the file was written last, in Unix nanoseconds.
	ModTime int64 `json:"mod_time"`
}

// idOf returns the identity of a file; nil if the system does not tell the inode.
func idOf(info fs.FileInfo) *fileID {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return &fileID{Inode: stat.Ino, ModTime: info.ModTime().UnixNano()}
}

// unchanged reports whether the file has not been written since the state described it. If so, a
// start need not read it. next is the base of the segment behind it. A copied or restored file has
// another inode, and a write changes the time. A change by the disk itself shows in neither: for
// that, Verify reads the file while the broker serves.
func (s *SegmentState) unchanged(name string, f file, next int64) bool {
	if s == nil || s.Closed == nil || s.Batches == 0 || s.Size != f.size || s.End != next {
		return false
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() != s.Size {
		return false
	}
	id := idOf(info)
	return id != nil && *id == *s.Closed
}

// noteClosed notes the identity of the segment's file, so that a start need not read it. It notes
// none if the file has bytes behind its last whole batch, or if each start must read it. The caller
// has synced the file, and nothing is written to it any more.
func (s *SegmentState) noteClosed(info fs.FileInfo) {
	if s.Size == info.Size() && !s.Read {
		s.Closed = idOf(info)
	}
}

// trust adds a segment to the partition as the state describes it, without reading it.
func (p *partition) trust(f file, known *SegmentState) {
	p.segments = append(p.segments, checked{
		file: f, size: known.Size, batches: known.Batches, end: known.End, firstTime: known.First, maxTime: known.Newest,
		oldest: known.Oldest, lastTime: known.Last, closed: known.Closed, unread: true,
	})
}

// Unread returns how many bytes of closed segments CheckOpen did not read.
func (r *Report) Unread() (size int64) {
	for _, p := range r.partitions {
		for i := range p.segments {
			if p.segments[i].unread {
				size += p.segments[i].file.size
			}
		}
	}
	return size
}

// Damaged is a damage that Verify found, and the segment that has it.
type Damaged struct {
	Damage Damage
	at     key
	base   int64
}

// share limits the processor time of Verify: it takes 1/share of one processor.
const share = 10

// Verify reads the closed segments that CheckOpen did not read, while the broker serves, and
// compares every checksum. It takes a tenth of a processor, and the memory of one segment. It
// returns the first damage; nil if it finds none, or none before ctx ends. A segment that expires
// meanwhile is left out.
func (r *Report) Verify(ctx context.Context, broker string) (*Damaged, error) {
	var buf []byte
	for _, p := range r.sorted() {
		for i := range p.segments {
			c := &p.segments[i]
			if !c.unread {
				continue
			}
			begin := time.Now()
			var err error
			if buf, err = readSegment(p.key.path(broker, c.file.base, dataSuffix), buf); err != nil {
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				return nil, fmt.Errorf("verify closed segments: %w", err)
			}
			if found := p.verify(c, buf); found != nil {
				return found, nil
			}
			select {
			case <-ctx.Done():
				return nil, nil // nothing was found so far
			case <-time.After((share - 1) * time.Since(begin)):
			}
		}
	}
	return nil, nil
}

// verify scans a closed segment, and returns its first damage.
func (p *partition) verify(c *checked, data []byte) *Damaged {
	s := segment{data: data, base: c.file.base, hint: c.end}
	found := &Damaged{at: p.key, base: c.file.base}
	expect := c.file.base
	for _, piece := range s.scan(expect) {
		if piece.kind != whole {
			found.Damage = p.damageOf(c.file.base, &piece)
			return found
		}
		expect = piece.batch.next()
	}
	if expect == c.end {
		return nil
	}
	found.Damage = Damage{
		Kind: KindMissing, Topic: p.key.topic, Partition: p.key.partition, File: p.relative(c.file.base), Position: int64(len(data)), From: expect, To: c.end - 1,
		What: "records are gone from the end of the segment",
	}
	return found
}
