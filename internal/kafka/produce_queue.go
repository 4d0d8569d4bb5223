package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	kafkago "github.com/segmentio/kafka-go"
)

// call is one call of Produce.
type call struct {
	ctx  context.Context // the caller's
	open atomic.Int64    // chunks without a result
	done chan struct{}   // closed when open is 0

	mu      sync.Mutex
	err     error // first failure; later chunks of the call are not sent
	trouble error // last retryable error: if ctx ends, it says what was failing
}

func (c *call) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

func (c *call) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *call) noteTrouble(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trouble = err
}

func (c *call) lastTrouble() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trouble
}

// ended reports whether the caller waits no longer, or one of the call's chunks has failed.
func (c *call) ended() bool { return c.ctx.Err() != nil || c.failure() != nil }

// chunk is a part of a call: records for one partition that are sent in one request.
type chunk struct {
	call    *call
	tp      TopicPartition
	records []*Record
	bytes   int
}

// finish records the chunk's result. When all chunks of a call are finished, the call ends.
func (ch *chunk) finish(err error) {
	if err != nil {
		ch.call.fail(err)
	}
	if ch.call.open.Add(-1) == 0 {
		close(ch.call.done)
	}
}

// produceQueue holds the chunks of one partition in order. At most one goroutine works on it, so
// this producer has at most one request under way for a partition, and the order holds.
type produceQueue struct {
	tp      TopicPartition
	waiting []*chunk // guarded by Producer.mu
	running bool     // guarded by Producer.mu
}

// work sends the chunks in q until q is empty.
func (p *Producer) work(q *produceQueue) {
	for {
		batch := p.take(q)
		if batch == nil {
			return
		}
		p.deliver(batch)
	}
}

// take removes the next chunks that fit into one request. It returns nil if there are none; then
// the worker must end.
func (p *Producer) take(q *produceQueue) []*chunk {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(q.waiting) == 0 {
		q.running = false
		q.waiting = nil
		return nil
	}
	n, bytes, records := 0, 0, 0
	for _, ch := range q.waiting {
		if n > 0 && (bytes+ch.bytes > p.cfg.maxRecordBytes || records+len(ch.records) > maxBatchRecords) {
			break
		}
		n++
		bytes += ch.bytes
		records += len(ch.records)
	}
	batch := append([]*chunk(nil), q.waiting[:n]...)
	clear(q.waiting[:n])
	q.waiting = q.waiting[n:]
	return batch
}

// deliver sends batch until it is acknowledged, it fails permanently, nobody waits for it any more,
// or the producer is closed. If a request with several chunks fails permanently, each chunk is sent
// on its own: one caller's bad record must not fail the others.
func (p *Producer) deliver(batch []*chunk) {
	var b backoff
	for {
		if batch = dropEnded(batch); len(batch) == 0 {
			return
		}
		err := p.send(batch)
		switch {
		case err == nil:
			for _, ch := range batch {
				ch.finish(nil)
			}
			return
		case p.base.Err() != nil:
			for _, ch := range batch {
				ch.finish(ErrClosed)
			}
			return
		case !Retryable(err) && len(batch) > 1:
			for _, ch := range batch {
				p.deliver([]*chunk{ch})
			}
			return
		case !Retryable(err):
			batch[0].finish(fmt.Errorf("write %d records to %s: %w", len(batch[0].records), batch[0].tp, err))
			return
		}
		for _, ch := range batch {
			ch.call.noteTrouble(err)
		}
		b.wait(p.base)
	}
}

// dropEnded returns the chunks of batch that somebody still waits for, in the memory of batch, and
// finishes the others.
func dropEnded(batch []*chunk) []*chunk {
	kept := batch[:0]
	for _, ch := range batch {
		if ch.call.ended() {
			ch.finish(nil) // Produce returns the call's own error
			continue
		}
		kept = append(kept, ch)
	}
	return kept
}

// send sends the chunks in one request.
func (p *Producer) send(batch []*chunk) error {
	tp := batch[0].tp
	var records []kafkago.Record
	bytes := 0
	for _, ch := range batch {
		for _, r := range ch.records {
			records = append(records, toWire(r))
		}
		bytes += ch.bytes - recordOverhead*len(ch.records)
	}
	start := time.Now()
	// The request ends with the producer, not with the caller: it may carry the records of several.
	resp, err := p.client.Produce(p.base, &kafkago.ProduceRequest{
		Topic: tp.Topic, Partition: tp.Partition, RequiredAcks: kafkago.RequireAll, Compression: p.codec, Records: kafkago.NewRecordReader(records...),
	})
	p.metrics.produceSeconds.WithLabelValues(tp.Topic).Observe(since(start))
	if err == nil {
		err = resp.Error
	}
	if err == nil && len(resp.RecordErrors) > 0 {
		// Brokers send an error code with these. If one does not, an error is better than a silent
		// loss.
		err = errors.New("broker refused some records without a code")
	}
	if err != nil {
		if p.base.Err() == nil {
			p.metrics.produceErrors.WithLabelValues(tp.Topic, errorKind(err)).Inc()
			p.log.trouble(err, "kafka produce failed", "topic", tp.Topic, "partition", tp.Partition)
		}
		return err
	}
	p.metrics.producedRecords.WithLabelValues(tp.Topic).Add(float64(len(records)))
	p.metrics.producedBytes.WithLabelValues(tp.Topic).Add(float64(bytes))
	return nil
}
