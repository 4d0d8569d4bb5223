// This file is not in franz-go, see README.md.

package kfake

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// sealedSegment is what stays in memory of a closed segment whose index
// was evicted. The index is made again from the headers of the batches in
// the segment's file when somebody reads there.
type sealedSegment struct {
	batches        int
	end            int64 // offset after the last batch (exclusive)
	oldest, newest int64 // least and greatest maxTimestamp of the batches
	nbytes         int64 // of the batches at or behind the log start offset
	// maxEarlier is the running max of maxTimestamp over this and all
	// earlier segments, see batchMeta.maxEarlierTimestamp.
	maxEarlier int64
}

const (
	// maxOpenIndexes is how many indexes of closed segments are held at
	// once, with a file handle each. A reader goes through a partition's
	// segments in order, so it needs one, and two for a moment.
	maxOpenIndexes = 64
	// maxIndexEntries bounds the entries of those indexes: 72 MiB. The
	// index that is in use is held even if it alone has more.
	maxIndexEntries = 1 << 20
)

// openIndex is a closed segment whose index is in memory.
type openIndex struct {
	pd      *partData
	base    int64
	entries int
}

// indexCache is an LRU of the indexes of closed segments. Only
// Cluster.run uses it, so there is no locking.
type indexCache struct {
	open    []openIndex // the one used last is last
	entries int
}

// use notes that the index of a closed segment is used, and evicts those
// that were not used for longest while there are too many.
func (ic *indexCache) use(pd *partData, seg *segmentInfo) {
	at := len(ic.open) - 1
	for ; at >= 0; at-- {
		if ic.open[at].pd == pd && ic.open[at].base == seg.base {
			break
		}
	}
	if at >= 0 {
		ic.entries -= ic.open[at].entries
		ic.open = append(ic.open[:at], ic.open[at+1:]...)
	}
	ic.open = append(ic.open, openIndex{pd, seg.base, len(seg.index)})
	ic.entries += len(seg.index)
	for len(ic.open) > 1 && (len(ic.open) > maxOpenIndexes || ic.entries > maxIndexEntries) {
		oldest := ic.open[0]
		ic.open = ic.open[1:]
		ic.entries -= oldest.entries
		oldest.pd.seal(oldest.base)
	}
}

// seal evicts the index of the segment with this base, if it is still
// there and is closed, and closes its read handle.
func (pd *partData) seal(base int64) {
	for si := range len(pd.segments) - 1 {
		if seg := &pd.segments[si]; seg.base == base && seg.sealed == nil {
			seg.seal()
			return
		}
	}
}

// seal replaces the index by its summary. An index with a batch of an open
// transaction stays: that it was closed meanwhile is nowhere in the file.
func (seg *segmentInfo) seal() {
	if len(seg.index) == 0 {
		return
	}
	last := &seg.index[len(seg.index)-1]
	s := &sealedSegment{
		batches: len(seg.index), oldest: seg.index[0].maxTimestamp, newest: seg.index[0].maxTimestamp,
		end: last.firstOffset + int64(last.lastOffsetDelta) + 1, maxEarlier: last.maxEarlierTimestamp,
	}
	for i := range seg.index {
		m := &seg.index[i]
		if m.inTx {
			return
		}
		s.oldest, s.newest = min(s.oldest, m.maxTimestamp), max(s.newest, m.maxTimestamp)
		s.nbytes += int64(m.nbytes)
	}
	if seg.readFile != nil {
		seg.readFile.Close()
		seg.readFile = nil
	}
	seg.sealed, seg.index = s, nil
}

// count returns the number of batches of the segment.
func (seg *segmentInfo) count() int {
	if seg.sealed != nil {
		return seg.sealed.batches
	}
	return len(seg.index)
}

// batches returns the index of a segment, which it reads from the
// segment's file if it was evicted. The slice stays as it is if it is
// evicted again.
func (pd *partData) batches(si int) ([]batchMeta, error) {
	seg := &pd.segments[si]
	if seg.sealed != nil {
		if err := pd.unseal(si); err != nil {
			pd.c.cfg.logger.Logf(LogLevelWarn, "partition %s-%d segment %d: %v", pd.t, pd.p, seg.base, err)
			return nil, err
		}
	}
	if si < len(pd.segments)-1 {
		pd.c.indexes.use(pd, seg)
	}
	return seg.index, nil
}

// index is batches for callers that take a segment that cannot be read
// for an empty one.
func (pd *partData) index(si int) []batchMeta {
	metas, _ := pd.batches(si)
	return metas
}

// unseal makes the index of a sealed segment again.
func (pd *partData) unseal(si int) error {
	seg := &pd.segments[si]
	pdir := partDir(pd.c.storageDir, pd.t, pd.p)
	metas, size, err := readIndex(pd.c.fs, filepath.Join(pdir, segmentFileName(seg.base)), nil)
	if err != nil {
		return err
	}
	if size < seg.size {
		return fmt.Errorf("only %d of %d bytes are batches: the file was changed", size, seg.size)
	}
	for len(metas) > 0 && metas[0].firstOffset+int64(metas[0].lastOffsetDelta) < pd.logStartOffset {
		metas = metas[1:]
	}
	if len(metas) == 0 {
		return errors.New("no batch at or behind the log start offset")
	}
	running, first := pd.newestBefore(si)
	for i := range metas {
		if first || metas[i].maxTimestamp > running {
			running = metas[i].maxTimestamp
		}
		first = false
		metas[i].maxEarlierTimestamp = running
	}
	seg.index, seg.sealed = metas, nil
	return nil
}

// newestBefore returns the max of maxTimestamp over the segments before
// si; none is true if they have no batches.
func (pd *partData) newestBefore(si int) (newest int64, none bool) {
	for si--; si >= 0; si-- {
		seg := &pd.segments[si]
		if seg.sealed != nil {
			return seg.sealed.maxEarlier, false
		}
		if n := len(seg.index); n > 0 {
			return seg.index[n-1].maxEarlierTimestamp, false
		}
	}
	return 0, true
}

// readIndex reads the headers of the batches in a segment's file. size is
// where the last whole batch ends. It compares no checksums. idxRaw is the
// segment's index file, from which it takes whether a batch is in a
// transaction; it may be nil.
func readIndex(fsys fs, path string, idxRaw []byte) (metas []batchMeta, size int64, err error) {
	f, err := fsys.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	r := bufio.NewReaderSize(f, 256<<10)
	for {
		head, err := r.Peek(batchHeaderSize)
		if errors.Is(err, io.EOF) {
			return metas, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
		length := int64(binary.BigEndian.Uint32(head[8:]))
		if length < batchHeaderSize-12 || length > 1<<30 || size+12+length > info.Size() {
			return metas, size, nil
		}
		m := batchMeta{
			firstOffset:     int64(binary.BigEndian.Uint64(head)),
			segPos:          size,
			epoch:           int32(binary.BigEndian.Uint32(head[12:])),
			lastOffsetDelta: int32(binary.BigEndian.Uint32(head[23:])),
			firstTimestamp:  int64(binary.BigEndian.Uint64(head[27:])),
			maxTimestamp:    int64(binary.BigEndian.Uint64(head[35:])),
			producerID:      int64(binary.BigEndian.Uint64(head[43:])),
			numRecords:      int32(binary.BigEndian.Uint32(head[57:])),
			nbytes:          int32(12 + length),
		}
		if off := len(metas) * indexEntrySize; off+indexEntrySize <= len(idxRaw) {
			m.epoch, _, m.inTx, _ = decodeIndexEntry(idxRaw[off : off+indexEntrySize])
		}
		if _, err := r.Discard(int(12 + length)); err != nil {
			return nil, 0, err
		}
		metas = append(metas, m)
		size += 12 + length
	}
}

// loadIndex makes the index of a segment when the cluster starts. It
// reports false if the file has other bytes than whole batches: then
// loadSegmentBatches decides.
func (c *Cluster) loadIndex(seg *segmentInfo, fsys fs, pdir string) (bool, error) {
	path := filepath.Join(pdir, segmentFileName(seg.base))
	info, err := fsys.Stat(path)
	if err != nil {
		return false, err
	}
	idxRaw, _ := fsys.ReadFile(filepath.Join(pdir, indexFileName(seg.base)))
	metas, size, err := readIndex(fsys, path, idxRaw)
	if err != nil || size != info.Size() || len(idxRaw) != len(metas)*indexEntrySize {
		return false, err
	}
	seg.lastModified, seg.index = info.ModTime().UnixMilli(), metas
	for i := range metas {
		if i == 0 {
			seg.minEpoch, seg.maxEpoch = metas[i].epoch, metas[i].epoch
		}
		seg.minEpoch, seg.maxEpoch = min(seg.minEpoch, metas[i].epoch), max(seg.maxEpoch, metas[i].epoch)
		seg.updateMaxBatch(metas[i], i == 0)
	}
	return true, nil
}

// sealedFromSnapshot makes a closed segment of what the snapshot says of
// it. The file is not read.
func (c *Cluster) sealedFromSnapshot(ss *persistSegmentInfo, fsys fs, pdir string) (segmentInfo, error) {
	info, err := fsys.Stat(filepath.Join(pdir, segmentFileName(ss.BaseOffset)))
	if err != nil {
		return segmentInfo{}, err
	}
	return segmentInfo{
		base: ss.BaseOffset, endOff: ss.EndOffset, size: ss.Size, minEpoch: ss.MinEpoch, maxEpoch: ss.MaxEpoch,
		maxTimestamp: max(ss.NewestTimestamp, -1), lastModified: info.ModTime().UnixMilli(),
		sealed: &sealedSegment{
			batches: ss.Batches, end: ss.EndOffset, oldest: ss.OldestTimestamp, newest: ss.NewestTimestamp, nbytes: ss.Size,
		},
	}, nil
}

// findMaxBatch returns the batch of the segment that has its max
// timestamp. A segment that the snapshot described has to be read for it.
func (pd *partData) findMaxBatch(si int) (batchMeta, error) {
	seg := &pd.segments[si]
	if seg.maxBatch.nbytes > 0 {
		return seg.maxBatch, nil
	}
	metas, err := pd.batches(si)
	if err != nil {
		return batchMeta{}, err
	}
	for i := range metas {
		if metas[i].maxTimestamp == seg.maxTimestamp {
			seg.maxBatch = metas[i]
			break
		}
	}
	return seg.maxBatch, nil
}

// lastExpired returns the end of the last batch whose records are all at
// or before this time; 0 if there is none. It reads at most one segment.
func (pd *partData) lastExpired(before int64) int64 {
	for si := len(pd.segments) - 1; si >= 0; si-- {
		if s := pd.segments[si].sealed; s != nil && s.oldest > before {
			continue
		}
		metas := pd.index(si)
		for mi := len(metas) - 1; mi >= 0; mi-- {
			if metas[mi].maxTimestamp <= before {
				return metas[mi].firstOffset + int64(metas[mi].lastOffsetDelta) + 1
			}
		}
	}
	return 0
}

// endOfBytes returns the end of the first batches that have at least this
// many bytes together. It reads at most one segment.
func (pd *partData) endOfBytes(excess int64) (end int64) {
	for si := range pd.segments {
		if s := pd.segments[si].sealed; s != nil && s.nbytes <= excess {
			end, excess = s.end, excess-s.nbytes
			continue
		}
		for _, m := range pd.index(si) {
			if excess <= 0 {
				return end
			}
			end, excess = m.firstOffset+int64(m.lastOffsetDelta)+1, excess-int64(m.nbytes)
		}
	}
	return end
}
