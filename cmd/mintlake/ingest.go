package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/ingest/source/geyser"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/solana"
)

// prepareIngest makes the room and lets it announce itself. It comes before the API, which would show an earlier run's status.
func (s *system) prepareIngest(ctx context.Context) error {
	sources, err := s.sources()
	if err != nil {
		return err
	}
	deps := kafka.Deps{Logger: s.logger, Registerer: s.registerer}
	mints, err := runner.NewMintLog(runner.MintLogConfig{Brokers: s.backends.brokers}, deps)
	if err != nil {
		return err
	}
	s.ingest, err = runner.New(runner.Config{Sources: sources}, runner.Deps{
		Producer: s.producer,
		Ledger:   &slotLog{brokers: s.backends.brokers, admin: s.admin, deps: deps},
		Mints:    mints,
		Logger:   s.logger, Registerer: s.registerer,
	})
	if err != nil {
		return err
	}
	s.finite = len(sources) > 0 && sources[0].Kind() == source.KindFile
	return s.ingest.Announce(ctx)
}

// startIngest reads the configured sources.
func (s *system) startIngest(ctx context.Context) error {
	if s.ingest == nil {
		if err := s.prepareIngest(ctx); err != nil {
			return err
		}
	}
	if s.publisher != nil {
		s.lifecycle.start("transaction publisher", s.publisher.Run)
	}
	if s.recordings != nil { // before ingest, so that it stops after it
		s.lifecycle.start("recording", s.keepRecording)
	}
	s.lifecycle.start("ingest", s.ingest.Run)
	if s.finite {
		s.lifecycle.start("progress", func(ctx context.Context) error {
			showProgress(ctx, s.ingest, s.lag)
			return nil
		})
	}
	return nil
}

// sources makes the sources that the configuration names. All files are one source; anything else stands alone.
func (s *system) sources() ([]source.Source, error) {
	var specs []source.Spec
	var paths []string
	var speed *float64
	for _, text := range s.cfg.Source {
		spec, err := source.ParseSpec(text)
		if err != nil {
			return nil, err
		}
		switch spec.Kind {
		case source.KindFile:
			if speed != nil && *speed != spec.Speed {
				return nil, errors.New("source: all files are replayed at one speed: give each the same ?speed=")
			}
			paths, speed = append(paths, spec.Path), &spec.Speed
		case source.KindNone:
		default:
			specs = append(specs, spec)
		}
	}
	if len(specs) > 1 || len(specs) == 1 && len(paths) > 0 {
		return nil, fmt.Errorf("source: %d are named: name one stream, or any number of files", len(specs)+len(paths))
	}
	if s.cfg.Record != "" && (len(specs) == 0 || specs[0].Kind == source.KindRPC) {
		return nil, errors.New("record: only a geyser+https://host:port stream can be recorded while it is ingested")
	}
	if len(paths) > 0 {
		files, err := file.New(file.Config{Paths: paths, Speed: *speed}, file.Deps{Logger: s.logger, Registerer: s.registerer})
		return []source.Source{files}, err
	}
	if len(specs) == 0 {
		return nil, nil
	}
	stream, err := s.stream(specs[0])
	return []source.Source{stream}, err
}

func (s *system) stream(spec source.Spec) (source.Source, error) {
	switch spec.Kind {
	case source.KindRPC:
		return s.rpcSource(spec)
	case source.KindDemo:
		demoSpec, err := source.ParseSpec(s.demoGeyser)
		if err != nil {
			return nil, fmt.Errorf("source demo: %w", err)
		}
		return s.geyserSource(demoSpec, source.KindDemo)
	default:
		return s.geyserSource(spec, source.KindGeyser)
	}
}

func (s *system) rpcSource(spec source.Spec) (source.Source, error) {
	client, err := solana.NewClient(solana.Config{Endpoints: []string{spec.Endpoint}}, solana.Deps{Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return nil, err
	}
	return rpc.New(rpc.Config{From: spec.From, To: spec.To, Commitment: solana.Commitment(spec.Commitment)},
		rpc.Deps{Client: client, Logger: s.logger, Registerer: s.registerer})
}

// geyserSource follows a Yellowstone server; what it can no longer replay is fetched from the upstream, when there is one.
func (s *system) geyserSource(spec source.Spec, kind string) (source.Source, error) {
	commitment := spec.Commitment
	if commitment == "" {
		commitment = s.cfg.Geyser.Commitment
	}
	deps := geyser.Deps{Logger: s.logger, Registerer: s.registerer}
	var err error
	if s.rpc != nil {
		filler, err := rpc.New(rpc.Config{Commitment: solana.Commitment(commitment)}, rpc.Deps{Client: s.rpc, Logger: s.logger, Registerer: s.registerer})
		if err != nil {
			return nil, err
		}
		deps.Filler = filler
	}
	if s.cfg.Stream.Publish {
		if s.publisher, err = transactions.New(transactions.Deps{Producer: s.producer, Logger: s.logger, Registerer: s.registerer}); err != nil {
			return nil, err
		}
		deps.Tap = s.publisher.Tap
	}
	if s.cfg.Record != "" {
		if deps.Tap, err = s.recordBeside(deps.Tap); err != nil {
			return nil, err
		}
	}
	return geyser.New(geyser.Config{
		Endpoint: spec.Endpoint, Token: s.cfg.Geyser.Token, Commitment: commitment, Kind: kind,
		NoAccountUpdates: !s.cfg.Geyser.Accounts, BlocksMeta: s.cfg.Record != "",
	}, deps)
}
