package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/standby"
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
	leader, err := standby.LeaderGauge(s.registerer)
	if err != nil {
		return err
	}
	elected := &standby.Ingest{
		Candidate: candidate, Producer: s.writers.For("ingest"), Leader: leader, Registerer: s.registerer, Logger: s.logger,
		NewRoom: func(producer kafka.RecordProducer, registerer prometheus.Registerer) (standby.Room, error) {
			room, err := s.newIngestRoom(producer, registerer)
			if err != nil {
				return standby.Room{}, err
			}
			return standby.Room{Runner: room.runner, Run: room.run}, nil
		},
	}
	s.lifecycle.start("ingest", func(ctx context.Context) error {
		defer candidate.Close() // after the last write, so that the next leader sees it
		return elected.Run(ctx)
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

// run ingests until ctx ends, the source ends, or the publisher or the watch of programs fails.
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

// candidateName returns a client ID with this machine's name (under Docker and Kubernetes the
// container's). The group's list of members shows it, and so who leads.
func candidateName() string {
	host, err := os.Hostname()
	if err != nil {
		return "mintlake"
	}
	return "mintlake-" + host
}
