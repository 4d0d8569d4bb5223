package segments

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ends returns for each topic the offset behind the last record of each partition. A topic that is
// not in the list of topics is left out.
func (r *Report) Ends(topics []string) map[string][]int64 {
	ends := make(map[string][]int64)
	for _, name := range topics {
		topic := topicNamed(r.topics, name)
		if topic == nil {
			continue
		}
		for n := range topic.Partitions {
			end := int64(0)
			if p := r.partitions[key{name, n}]; p != nil {
				end = p.end
			}
			ends[name] = append(ends[name], end)
		}
	}
	return ends
}

// Records returns how many records the topics have. Lost records count, too.
func (r *Report) Records(topics []string) (records int64) {
	for _, p := range r.partitions {
		if slices.Contains(topics, p.key.topic) {
			records += max(0, p.end-p.start)
		}
	}
	return records
}

// Read calls visit for each record of the topics. The records of one partition come in the order of
// their offsets. Read takes only batches that Check found good, leaves out the markers of lost
// records, and writes nothing. visit must not keep the record.
func (r *Report) Read(ctx context.Context, root string, topics []string, visit func(*Record)) error {
	broker := filepath.Join(root, brokerDir)
	var buf []byte
	for _, name := range topics {
		for _, p := range r.sorted() {
			if p.key.topic != name {
				continue
			}
			for _, c := range p.segments {
				if err := ctx.Err(); err != nil {
					return err
				}
				var err error
				if buf, err = readSegment(p.key.path(broker, c.file.base, dataSuffix), buf); err != nil {
					return err
				}
				if err := p.visitSegment(&c, buf, visit); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// visitSegment calls visit for each record in the whole batches of a segment. It skips control
// batches, and the batches that repair has put in the place of lost records.
func (p *partition) visitSegment(c *checked, data []byte, visit func(*Record)) error {
	s := segment{data: data}
	batches := make([]batch, 0, c.batches)
	if c.pieces != nil { // the segment is damaged
		for _, piece := range c.pieces {
			if piece.kind == whole {
				batches = append(batches, piece.batch)
			}
		}
	} else {
		for pos := int64(0); pos < min(c.size, int64(len(data))); {
			b, ok := s.sound(pos)
			if !ok {
				return fmt.Errorf("%s at byte %d: a batch cannot be read: the file changed meanwhile", p.relative(c.file.base), pos)
			}
			batches = append(batches, b)
			pos += b.size
		}
	}
	for i := range batches {
		b := &batches[i]
		raw := data[b.pos : b.pos+b.size]
		if raw[posAttributes+1]&controlBatch != 0 {
			continue
		}
		if _, _, lost := marked(raw); lost {
			continue
		}
		err := eachRecord(raw, func(in *kmsg.Record) {
			record := recordOf(b, in)
			record.Topic, record.Partition = p.key.topic, int32(p.key.partition)
			visit(&record)
		})
		if err != nil {
			return fmt.Errorf("%s at byte %d: %w", p.relative(c.file.base), b.pos, err)
		}
	}
	return nil
}
