package replica

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// tail applies records from r.applied on, until ctx ends or the reader fails for good. It calls
// progress after each batch that it has read. The copy becomes ready when it is applied up to ends;
// begin is when the load began.
func (r *Replica) tail(ctx context.Context, ends map[kafka.TopicPartition]int64, begin time.Time, progress func()) error {
	r.becomeReady(ends, begin)
	tailer, err := r.deps.OpenTail(allTopics, r.Applied())
	if err != nil {
		return fmt.Errorf("open tail: %w", err)
	}
	defer tailer.Close()
	for wait := r.cfg.batchWait; ; {
		asked := time.Now()
		records, err := tailer.FetchBatch(ctx, batchRecords, wait)
		if err != nil {
			return err
		}
		wait = r.nextWait(len(records), time.Since(asked))
		progress()
		r.applyBatch(records)
		r.becomeReady(ends, begin)
	}
}

const (
	// busyRate is the number of records a second above which batches gather longer.
	busyRate = 3_000
	// busyWaits is how many times as long they gather then.
	busyWaits = 3
)

// nextWait returns how long the next batch gathers, after one that brought so many records in the
// time took. Each batch copies parts of the index, however small it is. When many records come,
// fewer batches leave more of the cores to requests.
func (r *Replica) nextWait(records int, took time.Duration) time.Duration {
	if float64(records) > busyRate*took.Seconds() {
		return busyWaits * r.cfg.batchWait
	}
	return r.cfg.batchWait
}

// becomeReady makes the copy live and ready once every topic is applied up to ends.
func (r *Replica) becomeReady(ends map[kafka.TopicPartition]int64, begin time.Time) {
	if r.ready.Load() {
		return
	}
	r.mu.Lock()
	for tp, end := range ends {
		if r.applied[tp] < end {
			r.mu.Unlock()
			return
		}
	}
	r.mu.Unlock()
	r.store.goLive()
	r.ready.Store(true)
	seconds := r.deps.Now().Sub(begin).Seconds()
	r.metrics.loadSeconds.Set(seconds)
	r.deps.Logger.Info("copy of the registry is ready", "tokens", r.Tokens(), "seconds", seconds)
}

// applyBatch makes the records visible, and only then moves Applied: what Applied covers is in the
// copy.
func (r *Replica) applyBatch(records []kafka.Record) {
	batch := &r.batch
	batch.reset()
	length := r.turnFor(records)
	turn := pause.NewTurn(length)
	for i := range records {
		record := &records[i]
		if err := batch.add(record); err != nil {
			// The projector writes the dead letter. Here the record is counted and skipped; only
			// the first bad record of a batch is logged.
			if batch.bad == 0 {
				r.deps.Logger.Warn("record skipped", "topic", record.Topic, "partition", record.Partition, "offset", record.Offset, "err", err)
			}
			batch.bad++
			r.metrics.badRecords.WithLabelValues(record.Topic).Inc()
		}
		batch.applied[record.TopicPartition()] = record.Offset + 1
		r.metrics.records.WithLabelValues(record.Topic).Inc()
		turn.Next()
	}
	r.store.setTurn(length)
	r.fold(batch)
	for _, mint := range batch.notMints {
		r.deps.NotAMint(mint)
	}
	r.observe(records)
}

// fold applies the content of a batch.
func (r *Replica) fold(batch *batch) {
	r.cut.Lock()
	defer r.cut.Unlock()
	takenFrom := r.store.apply(batch.facts)
	r.mu.Lock()
	maps.Copy(r.applied, batch.applied)
	for _, slot := range batch.slots {
		r.slots.ledger.Apply(slot)
	}
	if batch.source != nil {
		r.source = batch.source
	}
	r.mu.Unlock()
	r.queueRefold(takenFrom)
}

const (
	// foldTurn is how long a fold that keeps up runs before it yields the processor to waiting
	// requests. It is shorter than most requests.
	foldTurn = 300 * time.Microsecond
	// lateAfter is the age of a record from which on the fold is late and does not yield: requests
	// must not delay it for ever.
	lateAfter = 250 * time.Millisecond
)

// turnFor returns how long the fold of these records runs before it yields the processor: foldTurn,
// or 0 for old records, which means that it does not yield. The first record with a receive time
// stands for the batch, as it is about the oldest. Records without one are history.
func (r *Replica) turnFor(records []kafka.Record) time.Duration {
	for i := range records {
		if received, ok := receivedAt(&records[i]); ok {
			if r.deps.Now().Sub(received) < lateAfter {
				return foldTurn
			}
			return 0
		}
	}
	return 0
}

// observe measures how long records took to become visible. It leaves out those received before
// this process started, which are history that is read again.
func (r *Replica) observe(records []kafka.Record) {
	now := r.deps.Now()
	for i := range records {
		received, ok := receivedAt(&records[i])
		if !ok || received.Before(r.started) || records[i].Topic == schemas.TopicSlots {
			continue
		}
		age := max(now.Sub(received), 0)
		r.metrics.freshness.WithLabelValues(records[i].Topic).Observe(age.Seconds())
		if records[i].Topic == schemas.TopicTokenEvents {
			r.freshness.observe(now, age)
		}
	}
}

// receivedAt returns when the source received what the record is about; false if the record has no
// such header.
func receivedAt(record *kafka.Record) (time.Time, bool) {
	ms, err := strconv.ParseInt(string(record.Header(schemas.HeaderReceivedAt)), 10, 64)
	return time.UnixMilli(ms), err == nil
}

// batch is the decoded content of some records.
type batch struct {
	facts    []registry.Fact
	slots    []*eventspb.SlotRecord
	source   *eventspb.SourceStatus
	notMints []pubkey.Key
	applied  map[kafka.TopicPartition]int64
	bad      int
}

// reset empties the batch, and keeps its memory.
func (b *batch) reset() {
	clear(b.facts)
	clear(b.applied)
	*b = batch{facts: b.facts[:0], applied: b.applied}
}

// add decodes a record. An error says that the record is malformed, and leaves the batch as it was.
func (b *batch) add(record *kafka.Record) error {
	switch record.Topic {
	case schemas.TopicTokenEvents:
		event := &eventspb.TokenEvent{}
		if err := proto.Unmarshal(record.Value, event); err != nil {
			return fmt.Errorf("decode token event: %w", err)
		}
		b.facts = registry.AppendFactsOfEvent(b.facts, event)
	case schemas.TopicEnrichments:
		enrichment := &eventspb.Enrichment{}
		if err := proto.Unmarshal(record.Value, enrichment); err != nil {
			return fmt.Errorf("decode enrichment: %w", err)
		}
		if enrichment.GetNotAMint() != nil && len(enrichment.GetMint()) == pubkey.Size {
			b.notMints = append(b.notMints, pubkey.Key(enrichment.GetMint()))
		}
		b.facts = append(b.facts, registry.FactsOfEnrichment(enrichment)...)
	case schemas.TopicSlots:
		return b.addSlot(record)
	}
	return nil
}

// addSlot decodes a record of the slot ledger: a slot, or the source's report about itself.
func (b *batch) addSlot(record *kafka.Record) error {
	if string(record.Key) == schemas.SourceStatusKey {
		status := &eventspb.SourceStatus{}
		if err := proto.Unmarshal(record.Value, status); err != nil {
			return fmt.Errorf("decode source status: %w", err)
		}
		b.source = status
		return nil
	}
	slot := &eventspb.SlotRecord{}
	if err := proto.Unmarshal(record.Value, slot); err != nil {
		return fmt.Errorf("decode slot: %w", err)
	}
	b.slots = append(b.slots, slot)
	return nil
}
