// Package standby lets several processes that follow a stream ingest in turns: Kafka elects one
// that writes, and the others read what it writes until they lead. See
// docs/decisions/0015-one-ingest-leads.md.
//
// In: a candidate, and a function that makes ingest. Out: what that ingest writes.
// Guarantees: nothing is written without a valid lease. A process becomes a candidate only after it
// has read everything that was in the log when it began to stand by.
package standby

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
)

// LeaderGauge registers the gauge that is 1 while this process ingests and 0 while it is a standby.
func LeaderGauge(registerer prometheus.Registerer) (prometheus.Gauge, error) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_ingest_leader", Help: "1 while this process ingests, 0 while it stands by for another one.",
	})
	return gauge, counters.Register(registerer, gauge)
}

// Room is ingest for one term as leader. Run runs Runner, and whatever must run beside it, until
// ctx ends.
type Room struct {
	Runner *runner.Runner
	Run    func(ctx context.Context) error
}

// Ingest ingests while this process leads. While another process leads, it reads what the leader
// writes. All fields are required.
type Ingest struct {
	Candidate *kafka.Candidate
	// Producer writes what is ingested.
	Producer kafka.RecordProducer
	// NewRoom makes ingest for one term. The room must write with the given producer, which writes
	// by Producer while this process leads.
	NewRoom func(kafka.RecordProducer, prometheus.Registerer) (Room, error)
	// Leader is the gauge that LeaderGauge returns.
	Leader     prometheus.Gauge
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Run stands by and leads in turn. It returns nil when ctx or the source ends.
func (e *Ingest) Run(ctx context.Context) error {
	for {
		again, err := e.term(ctx)
		if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, kafka.ErrNotLeader)) {
			return nil
		}
		if err != nil || !again {
			return err
		}
	}
}

// term waits until this process leads, and then ingests until the lease or the source ends. again
// is true if the lease ended: another process leads, or may lead.
func (e *Ingest) term(ctx context.Context) (again bool, err error) {
	metrics := &termMetrics{Registerer: e.Registerer}
	defer metrics.release()
	writer := &leaseWriter{producer: e.Producer}
	room, err := e.NewRoom(writer, metrics)
	if err != nil {
		return false, err
	}
	term, err := e.standBy(ctx, room.Runner)
	if err != nil {
		return false, err
	}
	writer.term = term
	leading, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-term.Done():
			stop()
		case <-leading.Done():
		}
	}()
	e.Leader.Set(1)
	e.Logger.Info("ingest leads", "slot", room.Runner.Coverage().ToSlot)
	err = room.Run(leading)
	e.Leader.Set(0)
	if ctx.Err() == nil && (errors.Is(err, kafka.ErrNotLeader) || leading.Err() != nil) {
		e.Logger.Warn("ingest leads no longer: another process does, or may; this one stands by")
		return true, nil
	}
	return false, err
}

// standBy reads what the leader writes until this process leads. The process becomes a candidate
// only after it has read everything that was in the log when standBy began.
func (e *Ingest) standBy(ctx context.Context, room *runner.Runner) (*kafka.Term, error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	group, inner := errgroup.WithContext(following)
	ready := make(chan struct{})
	group.Go(func() error { return room.Follow(inner, func() { close(ready) }) })
	var term *kafka.Term
	group.Go(func() error {
		select {
		case <-ready:
		case <-inner.Done():
			return inner.Err()
		}
		e.Logger.Info("ingest stands by", "slot", room.Coverage().ToSlot)
		var err error
		if term, err = e.Candidate.Lead(inner); err == nil {
			stop() // ends Follow
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("ingest: stand by: %w", err)
	}
	return term, nil
}

// leaseWriter is a producer that writes only while the lease of its term is valid.
type leaseWriter struct {
	producer kafka.RecordProducer
	term     *kafka.Term // set before the first write
}

// Produce implements kafka.RecordProducer.
func (w *leaseWriter) Produce(ctx context.Context, records ...kafka.Record) error {
	if err := w.term.Await(ctx); err != nil {
		return err
	}
	return w.producer.Produce(ctx, records...)
}

// termMetrics registers the metrics of one term. They are unregistered at its end, because the next
// term registers them again.
type termMetrics struct {
	prometheus.Registerer

	registered []prometheus.Collector
}

// Register implements prometheus.Registerer.
func (m *termMetrics) Register(c prometheus.Collector) error {
	err := m.Registerer.Register(c)
	if err == nil {
		m.registered = append(m.registered, c)
	}
	return err
}

func (m *termMetrics) release() {
	for _, c := range m.registered {
		m.Unregister(c)
	}
}
