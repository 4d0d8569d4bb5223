package usage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// flushRecords is how many records one call of Produce writes at most.
const flushRecords = 1000

// Run writes the totals every flushEvery, and once more when ctx ends; then it returns nil.
func (m *Meter) Run(ctx context.Context) error {
	for {
		now := time.Now()
		// The timer fires at multiples of the interval, so that the bytes of a minute are collected
		// when the minute ends.
		timer := time.NewTimer(now.Truncate(flushEvery).Add(flushEvery).Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			m.collectAll()
			m.flush(context.WithoutCancel(ctx))
			return nil
		case <-timer.C:
			m.collectAll()
			m.flush(ctx)
		}
	}
}

// flush writes the totals that changed. If that fails, the next flush tries again.
func (m *Meter) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushEvery)
	defer cancel()
	keys, records := m.changed()
	for len(keys) > 0 {
		n := min(len(keys), flushRecords)
		if err := m.deps.Producer.Produce(ctx, records[:n]...); err != nil {
			m.unwritten(keys)
			m.metrics.writeErrors.Inc()
			m.deps.Logger.Warn("usage cannot be written: it is tried again", "totals", len(keys), "err", err)
			return
		}
		m.metrics.records.Add(float64(n))
		keys, records = keys[n:], records[n:]
	}
	m.forget()
}

// changed makes records of the totals that changed, the earliest minute first, and marks the totals
// as written.
func (m *Meter) changed() ([]totalKey, []kafka.Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var keys []totalKey
	for key, t := range m.totals {
		if t.changed {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b totalKey) int {
		return cmp.Or(cmp.Compare(a.minute, b.minute), cmp.Compare(a.product, b.product), cmp.Compare(a.key, b.key), cmp.Compare(a.method, b.method))
	})
	records := make([]kafka.Record, len(keys))
	for i, key := range keys {
		m.sequence++
		m.totals[key].changed = false
		records[i] = m.record(key, m.totals[key])
	}
	return keys, records
}

// record makes the record of a total. The bytes of streams become units only here.
func (m *Meter) record(key totalKey, t *total) kafka.Record {
	// Only a text of invalid UTF-8 could make Marshal fail, and all texts here are valid.
	value, _ := proto.MarshalOptions{Deterministic: true}.Marshal(&eventspb.Usage{
		Node: m.cfg.Node, Epoch: m.cfg.Epoch, Sequence: m.sequence, Minute: key.minute,
		Product: key.product, Key: key.key, Method: key.method,
		Requests: t.Requests, Refused: t.Refused, Bytes: t.Bytes, Units: t.Units + t.streamed/BytesPerUnit,
		Streams: t.streams, Addresses: t.addresses,
	})
	return kafka.Record{
		Topic: schemas.TopicGatewayUsage, Key: []byte(key.product + "/" + key.key), Value: value,
		Headers: []kafka.Header{
			{Key: schemas.HeaderType, Value: []byte(schemas.TypeUsage)},
			{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		},
	}
}

// unwritten marks totals as changed again, after a write that failed.
func (m *Meter) unwritten(keys []totalKey) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		m.totals[key].changed = true
	}
}

// forget removes totals of past minutes that are written.
func (m *Meter) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, t := range m.totals {
		if key.minute < m.minute && !t.changed {
			delete(m.totals, key)
		}
	}
}
