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

// feed reads the topic from its end and publishes until ctx ends. A topic that failed for good is opened again where it was left.
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
		for i := range records {
			s.publish(records[i])
			at[kafka.TopicPartition{Topic: records[i].Topic, Partition: records[i].Partition}] = records[i].Offset + 1
		}
	}
}

// publish hands a record to the subscribers. One that is no transaction is counted and left out.
func (s *Server) publish(r kafka.Record) {
	t, err := parseRecord(r)
	if err != nil {
		s.metrics.badRecords.Inc()
		s.deps.Logger.Debug("record left out", "topic", r.Topic, "partition", r.Partition, "offset", r.Offset, "err", err)
		return
	}
	s.metrics.records.Inc()
	if !t.received.IsZero() {
		s.metrics.delay.Observe(time.Since(t.received).Seconds())
	}
	s.hub.seen(t.slot)
	s.metrics.delivered.Add(float64(s.hub.publish(t)))
}
