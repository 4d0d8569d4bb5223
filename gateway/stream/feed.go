package stream

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
)

const (
	// batchRecords and batchWait bound a fetch. A longer wait would only add delay.
	batchRecords = 2048
	batchWait    = 5 * time.Millisecond
	// reopenPause is the time before the topic is opened again after it failed for good.
	reopenPause = time.Second
)

// primed is how many records before the topic's end the feed reads first, without delivering them.
// From them it learns the latest blocks, and which transactions it must recognize as repeats.
const primed = repeatsKept / 2

// feed reads the topic until ctx ends. It publishes the records that lie behind the end that the
// topic had when feed began. If reading fails for good, it opens the topic again and goes on where
// it stopped. If the offsets of the topic go back, it goes on behind what was delivered.
func (s *Server) feed(ctx context.Context) error {
	topics := []string{theLog.Topic}
	var at map[kafka.TopicPartition]int64
	s.stalls.lastRecords = time.Now()
	for ctx.Err() == nil {
		var err error
		if at == nil {
			at, err = s.beginning(ctx, topics)
		}
		if err == nil {
			err = s.tail(ctx, topics, at)
		}
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errAnew) {
			s.forgetLog()
			at = nil
		}
		s.checkStall(ctx, at[theLog])
		s.metrics.feedRestarts.Inc()
		s.deps.Logger.Warn("stream lost its topic, opening it again", "topic", schemas.TopicTransactions, "err", err)
		_ = pause.For(ctx, reopenPause) // the loop ends with ctx
	}
	return nil
}

// beginning returns the offset at which the feed begins to read. It sets s.live, the first offset
// that is delivered, and passes it to the hub: at the start the log's end, after forgetLog what
// resume returns. If there is nothing to read before s.live, it closes s.fed.
func (s *Server) beginning(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	begins, ends, err := kafka.Bounds(ctx, s.deps.Offsets, topics...)
	if err != nil {
		return nil, err
	}
	var from int64
	if s.log.torn {
		if s.live, err = s.resume(ctx, begins[theLog], ends[theLog]); err != nil {
			return nil, err
		}
		from = s.live
	} else {
		s.live = ends[theLog]
		s.hub.begin(s.live)
		from = max(begins[theLog], s.live-primed)
	}
	if from == s.live {
		s.fedOnce.Do(func() { close(s.fed) })
	}
	return map[kafka.TopicPartition]int64{theLog: from}, nil
}

// tail reads and publishes records until reading fails. It begins at the offsets in at and advances
// them. Whenever no records come for stallAfter, it calls checkStall and reads on. When offsets go
// back, it returns errAnew.
func (s *Server) tail(ctx context.Context, topics []string, at map[kafka.TopicPartition]int64) error {
	tailer, err := s.deps.OpenTail(topics, maps.Clone(at))
	if err != nil {
		return err
	}
	defer tailer.Close()
	for {
		records, err := kafka.FetchWithin(ctx, tailer, batchRecords, batchWait, s.cfg.stallAfter)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			s.checkStall(ctx, at[theLog])
			continue
		}
		s.endStall(ctx)
		going := following(records, at[theLog])
		s.publish(ctx, records[:going])
		if going < len(records) {
			return errAnew
		}
		at[theLog] = records[going-1].Offset + 1
	}
}

// publish delivers what the records contain to the subscribers, in order. Records that cannot be
// read are counted and left out. Records before s.live are not delivered: from them it learns the
// latest blocks, the repeats and where slots begin. When it has read all of these, it closes s.fed.
func (s *Server) publish(ctx context.Context, records []kafka.Record) {
	list := make([]*transaction, 0, len(records))
	var notes []placedNote
	for _, r := range records {
		record, err := decodeRecord(r)
		if err != nil {
			s.metrics.badRecords.Inc()
			s.deps.Logger.Debug("record left out", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
		}
		s.marks.add(record.tip, r.Offset)
		for _, item := range s.log.read(record) {
			if item.note != nil {
				s.recent.take(item.note)
				s.processed.handNote(ctx, item.note, r.Offset >= s.live)
			}
			switch {
			case r.Offset < s.live:
			case item.note != nil:
				notes = append(notes, placedNote{len(list), item.note})
				if item.note.kind == noteGap {
					s.metrics.gaps.Inc()
				}
			default:
				list = append(list, item.tx)
			}
		}
	}
	s.metrics.records.Add(float64(len(list)))
	if len(list)+len(notes) > 0 {
		s.hub.publish(ctx, list, notes...)
	}
	if last := len(records) - 1; last >= 0 && records[last].Offset >= s.live-1 {
		s.fedOnce.Do(func() { close(s.fed) })
	}
}

// published is the hub's finished: it counts the deliveries of a batch, and observes the delay of
// each transaction.
func (s *Server) published(b *batch) {
	s.metrics.delivered.Add(float64(b.delivered.Load()))
	if b.at != levelLog { // the histogram is about the way through the log
		return
	}
	for _, t := range b.list {
		if delay, ok := t.delay(); ok {
			s.metrics.delay.Observe(delay.Seconds())
		}
	}
}
