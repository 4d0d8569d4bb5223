package kafka

import (
	"context"
	"time"
)

// delivery holds the records of one fetch.
type delivery struct {
	generation int64
	records    []Record
}

// intake gathers deliveries into batches for the caller of FetchBatch, one caller at a time.
type intake struct {
	ch      chan delivery
	pending delivery
	// current reports whether a delivery's generation is the present one. If it is not, the records
	// are dropped: the member that has the partition now reads them too.
	current func(generation int64) bool
	// ended is closed when no more deliveries come; why returns the reason.
	ended chan struct{}
	why   func() error
}

// maxBatchBytes bounds the keys and values of a batch. Only its last record may go beyond. A room
// that processes a batch needs several times as much memory.
const maxBatchBytes = 16 << 20

// Full reports whether a batch that was fetched with a limit ended because it has that many
// records, or as many bytes as a batch may have. Then more records may be waiting.
func Full(batch []Record, limit int) bool {
	room := maxBatchBytes
	for i := range batch {
		room -= batch[i].size()
	}
	return len(batch) >= limit || room <= 0
}

// size is the number of bytes of key and value.
func (r *Record) size() int { return len(r.Key) + len(r.Value) }

// collect waits for one record. Then it takes more until wait has passed, it has limit records or
// maxBatchBytes, or ctx or the consumer ends. It returns an error only if it has no record.
func (in *intake) collect(ctx context.Context, limit int, wait time.Duration) ([]Record, error) {
	limit = max(limit, 1)
	var batch []Record
	room := maxBatchBytes
	var timeout <-chan time.Time
	for {
		batch, room = in.take(batch, limit, room)
		if len(batch) >= limit || room <= 0 {
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

// take moves pending records to batch, until batch has limit records or room bytes are used up. It
// drops pending records of an old generation. It returns the batch and the room that is left.
func (in *intake) take(batch []Record, limit, room int) ([]Record, int) {
	if len(in.pending.records) == 0 {
		return batch, room
	}
	if !in.current(in.pending.generation) {
		in.pending.records = nil
		return batch, room
	}
	n := 0
	for most := min(limit-len(batch), len(in.pending.records)); n < most && room > 0; n++ {
		room -= in.pending.records[n].size()
	}
	if batch == nil && n == len(in.pending.records) {
		batch = in.pending.records[:n:n]
	} else {
		batch = append(batch, in.pending.records[:n]...)
	}
	in.pending.records = in.pending.records[n:]
	return batch, room
}

// count adds the records that are returned to the caller to the metrics.
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
