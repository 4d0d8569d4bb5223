package stream

import (
	"context"
	"maps"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
)

const (
	// batchRecords and batchWait bound a fetch; waiting longer would only delay.
	batchRecords = 2048
	batchWait    = 5 * time.Millisecond
	// reopenPause is the time before the topic is opened again after it failed for good.
	reopenPause = time.Second
)

// feed reads the topic from its end and publishes until ctx ends. A topic that failed for good is
// opened again where it was left.
func (s *Server) feed(ctx context.Context) error {
	topics := []string{schemas.TopicTransactions}
	var at map[kafka.TopicPartition]int64
	for ctx.Err() == nil {
		var err error
		if at == nil {
			at, err = s.deps.Offsets.EndOffsets(ctx, topics)
		}
		if err == nil {
			s.fedOnce.Do(func() { close(s.fed) })
			err = s.tail(ctx, topics, at)
		}
		if ctx.Err() != nil {
			break
		}
		s.metrics.feedRestarts.Inc()
		s.deps.Logger.Warn("stream lost its topic, opening it again", "topic", schemas.TopicTransactions, "err", err)
		_ = pause.For(ctx, reopenPause) // the loop ends with ctx
	}
	return nil
}

// tail publishes from at on, and keeps at where reading is.
func (s *Server) tail(ctx context.Context, topics []string, at map[kafka.TopicPartition]int64) error {
	tailer, err := s.deps.OpenTail(topics, maps.Clone(at))
	if err != nil {
		return err
	}
	defer tailer.Close()
	for {
		records, err := tailer.FetchBatch(ctx, batchRecords, batchWait)
		if err != nil {
			return err
		}
		s.publish(ctx, records)
		for i := range records {
			at[kafka.TopicPartition{Topic: records[i].Topic, Partition: records[i].Partition}] = records[i].Offset + 1
		}
	}
}

// publish hands records to the subscribers, in their order. One that is no transaction, or came
// before, is counted and left out.
func (s *Server) publish(ctx context.Context, records []kafka.Record) {
	list := make([]*transaction, 0, len(records))
	for _, r := range records {
		if typeOf(r) != schemas.TypeTransaction {
			continue
		}
		t, err := parseRecord(r)
		if err != nil {
			s.metrics.badRecords.Inc()
			s.deps.Logger.Debug("record left out", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
			continue
		}
		if s.repeats.add(t.slot, t.signature) {
			s.metrics.repeated.Inc()
			continue
		}
		list = append(list, t)
	}
	s.metrics.records.Add(float64(len(list)))
	s.hub.publish(ctx, list)
}

// typeOf is the record's kind.
func typeOf(r kafka.Record) string {
	for _, h := range r.Headers {
		if h.Key == schemas.HeaderType {
			return string(h.Value)
		}
	}
	return ""
}

// published is called when the subscribers have been handed a batch.
func (s *Server) published(list []*transaction, delivered int) {
	s.metrics.delivered.Add(float64(delivered))
	for _, t := range list {
		if delay, ok := t.delay(); ok {
			s.metrics.delay.Observe(delay.Seconds())
		}
	}
}
