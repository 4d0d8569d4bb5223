package kafka

import (
	"context"
	"time"
)

// delivery is what one fetch brought.
type delivery struct {
	generation int64
	records    []Record
}

// intake gathers deliveries into the caller's batches. It serves one caller at a time.
type intake struct {
	ch      chan delivery
	pending delivery
	// current says whether a delivery's generation still holds. Records of a lost one are dropped:
	// whoever has the partition now reads them again.
	current func(generation int64) bool
	// ended is closed when nothing more comes; why says the reason.
	ended chan struct{}
	why   func() error
}

// collect waits for one record, then takes what arrives within wait, up to limit records.
func (in *intake) collect(ctx context.Context, limit int, wait time.Duration) ([]Record, error) {
	limit = max(limit, 1)
	var batch []Record
	var timeout <-chan time.Time
	for {
		batch = in.take(batch, limit)
		if len(batch) >= limit {
			return batch, nil
		}
		if len(batch) > 0 && timeout == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case in.pending = <-in.ch:
		case <-timeout:
			return batch, nil
		case <-ctx.Done():
			if len(batch) > 0 {
				return batch, nil
			}
			return nil, context.Cause(ctx)
		case <-in.ended:
			if len(batch) > 0 {
				return batch, nil
			}
			return nil, in.why()
		}
	}
}

// take moves pending records to batch.
func (in *intake) take(batch []Record, limit int) []Record {
	if len(in.pending.records) == 0 {
		return batch
	}
	if !in.current(in.pending.generation) {
		in.pending.records = nil
		return batch
	}
	n := min(limit-len(batch), len(in.pending.records))
	if batch == nil && n == len(in.pending.records) {
		batch = in.pending.records[:n:n]
	} else {
		batch = append(batch, in.pending.records[:n]...)
	}
	in.pending.records = in.pending.records[n:]
	return batch
}

// count adds what is handed out to the metrics.
func (m *metrics) count(consumer string, records []Record) {
	topic, n, bytes := "", 0, 0
	flush := func() {
		if n > 0 {
			m.fetchedRecords.WithLabelValues(consumer, topic).Add(float64(n))
			m.fetchedBytes.WithLabelValues(consumer, topic).Add(float64(bytes))
		}
	}
	for i := range records {
		r := &records[i]
		if r.Topic != topic {
			flush()
			topic, n, bytes = r.Topic, 0, 0
		}
		n++
		bytes += len(r.Key) + len(r.Value)
		for _, h := range r.Headers {
			bytes += len(h.Key) + len(h.Value)
		}
	}
	flush()
}
