package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
)

// startIngestAlone starts ingest in a process of its own. If several processes follow a stream,
// they elect one that writes, see docs/decisions/0015-one-ingest-leads.md. There is no election for
// files and other finite sources.
func (s *system) startIngestAlone(ctx context.Context) error {
	endless, err := s.followsStream()
	if err != nil {
		return err
	}
	if !s.cfg.Ingest.Standby || !endless {
		return s.startIngest(ctx)
	}
	candidate, err := kafka.NewCandidate(kafka.CandidateConfig{
		Brokers: s.backends.brokers, ClientID: candidateName(), Group: schemas.GroupIngest, Topic: schemas.TopicSlots,
		SessionTimeout: s.cfg.Ingest.Session,
	}, s.kafka)
	if err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	leader, err := s.leaderGauge()
	if err != nil {
		return err
	}
	elected := &electedIngest{s: s, candidate: candidate, leader: leader}
	s.lifecycle.start("ingest", func(ctx context.Context) error {
		defer candidate.Close() // after the last write, so that the next leader sees it
		return elected.run(ctx)
	})
	return nil
}

// followsStream reports whether the source never ends: a Geyser stream, or RPC without a last slot.
func (s *system) followsStream() (bool, error) {
	for _, text := range s.cfg.Source {
		spec, err := source.ParseSpec(text)
		if err != nil {
			return false, fmt.Errorf("ingest: %w", err)
		}
		if spec.Kind == source.KindGeyser || spec.Kind == source.KindRPC && spec.To == nil {
			return true, nil
		}
	}
	return false, nil
}

// leaderGauge registers the gauge that is 1 while this process ingests and 0 while it is a standby.
func (s *system) leaderGauge() (prometheus.Gauge, error) {
	gauge := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_ingest_leader", Help: "1 while this process ingests, 0 while it stands by for another one.",
	})
	if err := s.registerer.Register(gauge); err != nil {
		return nil, fmt.Errorf("register ingest metrics: %w", err)
	}
	return gauge, nil
}

// electedIngest ingests while this process leads. While another process leads, it reads what the
// leader writes.
type electedIngest struct {
	s         *system
	candidate *kafka.Candidate
	leader    prometheus.Gauge
}

// run is a standby and a leader in turn. It returns nil when ctx or the source ends.
func (e *electedIngest) run(ctx context.Context) error {
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

// term waits until this process leads, and then ingests until another one does. again is true if
// the ingesting ended because another process leads, or may.
func (e *electedIngest) term(ctx context.Context) (again bool, err error) {
	metrics := &termMetrics{Registerer: e.s.registerer}
	defer metrics.release()
	writer := &leaseWriter{producer: e.s.writers.For("ingest")}
	room, err := e.s.newIngestRoom(writer, metrics)
	if err != nil {
		return false, err
	}
	term, err := e.standBy(ctx, room.runner)
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
	e.leader.Set(1)
	e.s.logger.Info("ingest leads", "slot", room.runner.Coverage().ToSlot)
	err = room.run(leading)
	e.leader.Set(0)
	if ctx.Err() == nil && (errors.Is(err, kafka.ErrNotLeader) || leading.Err() != nil) {
		e.s.logger.Warn("ingest leads no longer: another process does, or may; this one stands by")
		return true, nil
	}
	return false, err
}

// standBy reads what the leader writes until this process leads. The process becomes a candidate
// only after it has read everything that was in the log when standBy began.
func (e *electedIngest) standBy(ctx context.Context, room *runner.Runner) (*kafka.Term, error) {
	following, stop := context.WithCancel(ctx)
	defer stop()
	group, both := errgroup.WithContext(following)
	ready := make(chan struct{})
	group.Go(func() error { return room.Follow(both, func() { close(ready) }) })
	var term *kafka.Term
	group.Go(func() error {
		select {
		case <-ready:
		case <-both.Done():
			return both.Err()
		}
		e.s.logger.Info("ingest stands by", "slot", room.Coverage().ToSlot)
		var err error
		if term, err = e.candidate.Lead(both); err == nil {
			stop()
		}
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("ingest: stand by: %w", err)
	}
	return term, nil
}

// run ingests until ctx ends, the source ends, or the publisher fails.
func (r *ingestRoom) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The publisher and the recording stop after ingest.
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var group errgroup.Group
	run := func(component func(context.Context) error) {
		group.Go(func() error {
			err := component(beside)
			if err != nil {
				cancel(err)
			}
			return err
		})
	}
	if r.publisher != nil {
		run(r.publisher.Run)
	}
	if r.recordings != nil {
		run(r.keepRecording)
	}
	if r.programs != nil {
		run(r.programs.Run)
	}
	err := r.runner.Announce(ctx)
	if err == nil {
		err = r.runner.Run(ctx)
	}
	stop()
	return errors.Join(err, group.Wait())
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

// candidateName returns a client ID with this machine's name (under Docker and Kubernetes the
// container's). The group's list of members shows it, and so who leads.
func candidateName() string {
	host, err := os.Hostname()
	if err != nil {
		return "mintlake"
	}
	return "mintlake-" + host
}
