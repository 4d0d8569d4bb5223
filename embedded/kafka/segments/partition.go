package segments

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"
)

// check reads the segments of the partition and compares them with its state, which may be nil. A
// segment that need not be read is taken as the state describes it. check calls count with the
// bytes of each segment.
func (p *partition) check(broker string, state *PartitionState, count func(int64)) error {
	files, bases, err := listPartition(broker, p.key)
	if err != nil {
		return err
	}
	unchanged := p.unchanged(broker, files, state)
	indexes := make(map[int64]index, len(bases))
	for _, base := range bases {
		if !unchanged[base] {
			indexes[base] = readIndex(p.key.path(broker, base, indexSuffix), base)
		}
	}
	expect := p.begin(files, state)
	p.start = expect
	var buf []byte
	for i, f := range files {
		if i == 0 && f.base > expect {
			p.missingFront(expect, f.base)
			expect = f.base
		}
		if unchanged[f.base] && f.base == expect {
			known := state.segment(f.base)
			p.trust(f, known)
			count(f.size)
			expect = known.End
			continue
		}
		s := segment{base: f.base, last: i == len(files)-1}
		switch {
		case !s.last:
			s.hint = files[i+1].base
		case state != nil:
			s.hint = state.End
		}
		name := p.key.path(broker, f.base, dataSuffix)
		if buf, err = readSegment(name, buf); err != nil {
			return err
		}
		s.data = buf
		count(int64(len(buf)))
		expect = p.take(&s, f, expect, state.segment(f.base), indexes[f.base])
	}
	p.end = expect
	p.checkEnd(files, indexes, state, readSnapshot(broker, p.key))
	p.times()
	return nil
}

// unchanged returns the closed segments that need not be read, as a set of their bases.
func (p *partition) unchanged(broker string, files []file, state *PartitionState) map[int64]bool {
	bases := make(map[int64]bool)
	for i, f := range files {
		if p.trusting && i < len(files)-1 && state.segment(f.base).unchanged(p.key.path(broker, f.base, dataSuffix), f, files[i+1].base) {
			bases[f.base] = true
		}
	}
	return bases
}

// begin returns the offset of the first record that should be there. That is the first offset of
// the state; without a state it is 0. But if the records before the first segment can have expired,
// it is the offset at which that segment begins.
func (p *partition) begin(files []file, state *PartitionState) int64 {
	first := int64(0)
	if len(files) > 0 {
		first = files[0].base
	}
	expires := p.topic == nil || !p.topic.forever()
	switch {
	case state == nil && expires:
		return first
	case state == nil:
		return 0
	case len(files) == 0:
		return state.Start
	case expires && p.expired(files, state):
		return first
	default:
		return min(first, state.Start) // a segment that keepEnd wrote begins before the start
	}
}

// older returns the earlier of two times. known is 0 if there is no time yet.
func older(known, next int64) int64 {
	if known == 0 {
		return next
	}
	return min(known, next)
}

// expired reports whether all segments of the state that are gone from the front can have expired.
// kfake looks for the last expired batch of the partition, and removes that batch and all before
// it, even younger ones. So either the last batch of the gone segments has expired, or a batch in a
// segment behind them. With retention.bytes, and for a topic that is not in the list, segments can
// always have expired.
func (p *partition) expired(files []file, state *PartitionState) bool {
	if p.topic == nil || !p.topic.keeps("retention.bytes") {
		return true
	}
	cutoff := time.Now().UnixMilli() - p.topic.retention()
	for _, known := range slices.Backward(state.Segments) {
		if len(files) == 0 || known.Base < files[0].base {
			return known.Last <= cutoff
		}
		if known.Oldest <= cutoff {
			return true
		}
	}
	return true
}

// relative returns the path of a segment in the broker's folder.
func (p *partition) relative(base int64) string {
	return filepath.Join(partitionsDir, p.key.dir(), fmt.Sprintf("%d%s", base, dataSuffix))
}

func (p *partition) missingFront(from, to int64) {
	p.damages = append(p.damages, Damage{
		Kind: KindMissing, Topic: p.key.topic, Partition: p.key.partition, File: p.relative(from), From: from, To: to - 1, What: "the first segment is gone",
	})
}

// take checks one segment, adds it to the partition, and returns the offset behind its last record.
// expect is the offset at which the segment should begin. known is the segment in the state; nil if
// the state does not have it. x is the segment's index file.
func (p *partition) take(s *segment, f file, expect int64, known *SegmentState, x index) int64 {
	p.bytes += int64(len(s.data))
	c := checked{file: f}
	pieces := s.scan(expect)
	damaged := false
	for i := range pieces {
		piece := &pieces[i]
		if piece.kind == torn && (known != nil && known.Size > piece.pos || x.entries > c.batches) {
			// The state or the index proves that the batch was whole once.
			*piece = asLost(*piece, s, expect)
		}
		switch piece.kind {
		case whole:
			if from, to, ok := marked(s.data[piece.pos : piece.pos+piece.size]); ok {
				p.lost = append(p.lost, LostRange{p.key.topic, p.key.partition, from, to})
				c.read = true
			}
		case torn:
			p.notices = append(p.notices, fmt.Sprintf("%s: the last %d bytes are part of a batch that a crash cut off; they are dropped", p.relative(f.base), piece.size))
			continue
		default:
			damaged = true
			p.damages = append(p.damages, p.damageOf(f.base, piece))
		}
		switch piece.kind {
		case whole, header, flipped: // a good batch, or one that can be corrected
			c.batches++
			c.size = piece.pos + piece.size
			if c.firstTime == 0 {
				c.firstTime = piece.batch.firstTime
			}
			c.oldest = older(c.oldest, piece.batch.maxTime)
			c.maxTime, c.lastTime = max(c.maxTime, piece.batch.maxTime), piece.batch.maxTime
			expect = piece.batch.next()
			c.read = c.read || piece.batch.empty
			if piece.batch.empty && piece.batch.base == p.start { // keepEnd wrote it
				p.start = expect
			}
		default: // no batch: go on behind the offsets that are lost
			expect = max(expect, piece.to+1)
		}
	}
	if damaged {
		c.pieces = pieces
	}
	c.index = !x.plain || x.entries != c.batches
	c.end = expect
	p.segments = append(p.segments, c)
	return expect
}

// asLost turns a torn piece, which was whole once, into a lost one. Its last offset is not known.
// So it is taken to be expect + margin, or the end that the hint gives if that is higher.
func asLost(p piece, s *segment, expect int64) piece {
	p.kind, p.from = lost, expect
	p.to = max(s.hint-1, expect+margin)
	return p
}

// damageOf returns the damage of a piece that is not whole.
func (p *partition) damageOf(base int64, piece *piece) Damage {
	d := Damage{
		Topic: p.key.topic, Partition: p.key.partition, File: p.relative(base), Position: piece.pos, Bytes: piece.size, From: piece.from, To: piece.to,
	}
	switch piece.kind {
	case header:
		d.Kind, d.From, d.To, d.What = KindHeader, 0, -1, "the header of a record batch is wrong, its records are sound"
	case flipped:
		d.Kind, d.From, d.To, d.What = KindBit, 0, -1, "one bit of a record batch is wrong"
	case missing:
		d.Kind, d.What = KindMissing, "records are gone before this place"
	default:
		d.Kind, d.What = KindBatch, "the checksum of a record batch does not hold"
		d.EndUnknown = piece.to-piece.from >= margin
	}
	return d
}

// checkEnd adds a damage if records are gone from the end of the partition. It sets p.end to the
// offset where the next record may be written. If all segments are gone and can have expired, that
// is no damage: the partition is empty at the end that the state has.
func (p *partition) checkEnd(files []file, indexes map[int64]index, state *PartitionState, snapshot *snapshot) {
	if len(p.damages) > 0 && p.damages[len(p.damages)-1].EndUnknown {
		return
	}
	base, at := p.start, int64(0)
	if n := len(p.segments); n > 0 {
		base, at = p.segments[n-1].file.base, p.segments[n-1].size
	}
	cut := Damage{ // Bytes is 1, so that String shows the position
		Kind: KindCut, Topic: p.key.topic, Partition: p.key.partition, File: p.relative(base), Position: at, Bytes: 1, From: p.end, What: "the end of the log is gone",
	}
	emptied := len(files) == 0 && state != nil && p.topic != nil && !p.topic.forever() && p.expired(nil, state)
	switch known := p.knownEnd(files, indexes, state, snapshot); {
	case emptied:
		p.start, p.end = state.End, state.End
	case known == endUnknown:
		cut.To, cut.EndUnknown = p.end+margin, true
		p.damages = append(p.damages, cut)
	case known > p.end:
		cut.To = known - 1
		p.damages = append(p.damages, cut)
	}
	if n := len(p.damages); n > 0 && p.damages[n-1].Kind == KindCut {
		p.end = p.damages[n-1].To + 1
	}
}

// endUnknown is a result of knownEnd: there were records behind p.end, and their number is not
// known.
const endUnknown = -1

// knownEnd returns the offset at which the log ended at least, according to the state, the snapshot
// and the indexes. It returns endUnknown if state and snapshot show no end beyond p.end, but an
// index has more entries than its segment has batches.
func (p *partition) knownEnd(files []file, indexes map[int64]index, state *PartitionState, snapshot *snapshot) int64 {
	end := int64(0)
	if state != nil {
		end = state.End
	} else if snapshot != nil && snapshot.longerThan(files) {
		end = snapshot.HighWatermark
	}
	if n := len(p.segments); n > 0 && p.segments[n-1].pieces != nil {
		return end // the last segment is damaged: its batches cannot be counted
	}
	for base, x := range indexes {
		// An index without a segment proves nothing if records expire: a kill may have come between
		// the removal of the two files.
		batches, there := p.batchesOf(base)
		if base >= p.lastBase() && x.entries > batches && (there || p.topic == nil || p.topic.forever()) && end <= p.end {
			return endUnknown
		}
	}
	return end
}

// batchesOf returns the number of batches in the segment with this base; false if there is no such
// segment.
func (p *partition) batchesOf(base int64) (batches int, there bool) {
	for i := range p.segments {
		if p.segments[i].file.base == base {
			return p.segments[i].batches, true
		}
	}
	return 0, false
}

// lastBase returns the base of the last segment; 0 if there is none.
func (p *partition) lastBase() int64 {
	if n := len(p.segments); n > 0 {
		return p.segments[n-1].file.base
	}
	return 0
}

// times sets After and Before of each damage with lost records.
func (p *partition) times() {
	for i := range p.damages {
		d := &p.damages[i]
		if !d.Loses() {
			continue
		}
		highest := int64(0)
		for _, c := range p.segments {
			after, before := c.around(d, &highest)
			if after > 0 {
				d.After = timeOf(after)
			}
			if before > 0 && d.Before.IsZero() {
				d.Before = timeOf(before)
			}
		}
		d.highest = timeOf(highest)
	}
}

// around returns the times of two good records of the segment: the last one before the damage
// (after) and the first one behind it (before); 0 if there is none. It raises highest to the
// highest time of the records before the damage.
func (c *checked) around(d *Damage, highest *int64) (after, before int64) {
	if c.pieces == nil {
		if c.file.base < d.From {
			*highest = max(*highest, c.maxTime)
			return c.lastTime, 0
		}
		return 0, c.firstTime
	}
	for _, piece := range c.pieces {
		switch {
		case piece.kind == lost || piece.kind == missing || piece.kind == torn:
		case piece.batch.base < d.From:
			after, *highest = piece.batch.maxTime, max(*highest, piece.batch.maxTime)
		case before == 0:
			before = piece.batch.firstTime
		}
	}
	return after, before
}
