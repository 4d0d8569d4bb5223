package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/programs"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/ingest/source/geyser"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/ingest/standby"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/backup"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
)

// ingestRoom is ingest with what runs beside it.
type ingestRoom struct {
	s          *system
	producer   kafka.RecordProducer
	registerer prometheus.Registerer

	runner     *runner.Runner
	publisher  *transactions.Publisher // nil when nothing is passed on to the stream
	recordings *file.Recordings        // nil when nothing is recorded
	programs   *programs.Watch         // nil without an upstream
	finite     bool                    // the sources end by themselves, so progress is shown
}

// newIngestRoom makes the room. It writes nothing to Kafka.
func (s *system) newIngestRoom(producer kafka.RecordProducer, registerer prometheus.Registerer) (*ingestRoom, error) {
	r := &ingestRoom{s: s, producer: producer, registerer: registerer}
	sources, err := r.sources()
	if err != nil {
		return nil, err
	}
	mints, err := runner.NewMintLog(runner.MintLogConfig{Brokers: s.backends.brokers}, s.kafka)
	if err != nil {
		return nil, err
	}
	deps := runner.Deps{Producer: producer, Ledger: s.eventlog().Slots(), Mints: mints, Logger: s.logger, Registerer: registerer, Tracer: s.tracer, Unknowns: s.unknowns,
		Bounds: s.chainBounds}
	if s.cfg.Stream.Publish && len(sources) > 0 {
		if r.publisher, err = transactions.New(transactions.Config{Folder: filepath.Join(s.cfg.DataDir, backup.SpillFolder), SpillBytes: s.cfg.Stream.SpillBytes},
			transactions.Deps{Producer: producer, Logger: s.logger, Registerer: registerer}); err != nil {
			return nil, err
		}
		deps.Stream = r.publisher
	}
	if deps.Balances, err = s.balances(); err != nil {
		return nil, err
	}
	r.runner, err = runner.New(runner.Config{Sources: sources, CheckLinks: s.cfg.CheckLinks, AllTransactions: s.cfg.allTransactions()}, deps)
	s.reads.Store(r.runner)
	if len(sources) > 0 {
		s.readiness.add("versions", false, func(context.Context) error { return s.reads.Load().CheckVersions() })
	}
	if err == nil && s.rpc != nil {
		r.programs, err = s.watchPrograms()
	}
	r.finite = len(sources) > 0 && sources[0].Kind() == source.KindFile
	return r, err
}

// balances returns what makes records of balances; nil when they are off.
func (s *system) balances() (*balances.Maker, error) {
	mints, on, err := s.balanceMints()
	if err != nil || !on {
		return nil, err
	}
	return balances.New(mints), nil
}

// balanceMints returns the mints whose balances are kept; nil means all mints. on is false if no
// balances are kept.
func (s *system) balanceMints() (mints map[pubkey.Key]struct{}, on bool, err error) {
	cfg := &s.cfg.Balances
	if on = cfg.On(slices.ContainsFunc(s.cfg.Source, isDemo)); on && cfg.Mode == balances.ModeList {
		mints, err = balances.ReadList(cfg.Mints)
	}
	return mints, on, err
}

// followed returns a function that reports whether the balances of a mint are kept; nil if no
// balances are kept. all is true if those of all mints are kept.
func (s *system) followed() (follow func(mint pubkey.Key) bool, all bool, err error) {
	mints, on, err := s.balanceMints()
	if err != nil || !on {
		return nil, false, err
	}
	return func(mint pubkey.Key) bool {
		_, listed := mints[mint]
		return mints == nil || listed
	}, mints == nil, nil
}

// programsFile is the file, in the data folder, that remembers how programs were deployed.
const programsFile = "programs.json"

// watchPrograms notices new builds of the programs that ingest decodes. If the data folder cannot
// be used, what is deployed while nothing runs goes unnoticed.
func (s *system) watchPrograms() (*programs.Watch, error) {
	name, err := s.cfg.dataPath(programsFile)
	if err != nil {
		s.logger.Warn("builds of programs are not remembered", "err", err)
		name = ""
	}
	return programs.New(programs.Config{Every: s.cfg.Ingest.ProgramCheck, File: name}, programs.Deps{RPC: s.rpc, Unknowns: s.unknowns, Logger: s.logger})
}

// reader returns how the sources read transactions.
func (s *system) reader() parse.Reader {
	return parse.UpTo(txwire.Version(s.cfg.Ingest.MaxTransactionVersion)).Noting(s.unknowns).Within(s.chainBounds)
}

// prepareIngest makes the room and lets it announce its status. It must be called before the API
// starts, which would otherwise show the status of an earlier run.
func (s *system) prepareIngest(ctx context.Context) error {
	var err error
	if s.ingest, err = s.newIngestRoom(s.writers.For("ingest"), s.registerer); err != nil {
		return err
	}
	leader, err := standby.LeaderGauge(s.registerer)
	if err != nil {
		return err
	}
	leader.Set(1) // nobody else is elected
	return s.ingest.runner.Announce(ctx)
}

// startIngest reads the configured sources.
func (s *system) startIngest(ctx context.Context) error {
	if s.ingest == nil {
		if err := s.prepareIngest(ctx); err != nil {
			return err
		}
	}
	if s.ingest.publisher != nil {
		s.lifecycle.start("transaction publisher", s.ingest.publisher.Run)
	}
	if s.ingest.recordings != nil { // started before ingest, so that recording stops after ingest
		s.lifecycle.start("recording", s.ingest.keepRecording)
	}
	if s.ingest.programs != nil {
		s.lifecycle.start("programs", s.ingest.programs.Run)
	}
	s.lifecycle.start("ingest", s.ingest.runner.Run)
	if s.ingest.finite {
		s.lifecycle.start("progress", func(ctx context.Context) error {
			showProgress(ctx, s.ingest.runner, s.lag, &s.refilling)
			return nil
		})
	}
	return nil
}

// sources makes the configured sources. All files are one source; any other source must be the only
// one.
func (r *ingestRoom) sources() ([]source.Source, error) {
	var specs []source.Spec
	var paths []string
	var speed *float64
	for _, text := range r.s.cfg.Source {
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
	if r.s.cfg.Record != "" && (len(specs) == 0 || specs[0].Kind == source.KindRPC) {
		return nil, errors.New("record: only a geyser+https://host:port stream can be recorded while it is ingested")
	}
	if len(paths) > 0 {
		files, err := file.New(file.Config{Paths: paths, Speed: *speed, Reader: r.s.reader()}, file.Deps{Logger: r.s.logger, Registerer: r.registerer})
		return []source.Source{files}, err
	}
	if len(specs) == 0 {
		return nil, nil
	}
	stream, err := r.stream(specs[0])
	return []source.Source{stream}, err
}

// stream makes the source of a spec that is no file.
func (r *ingestRoom) stream(spec source.Spec) (source.Source, error) {
	switch spec.Kind {
	case source.KindRPC:
		return r.rpcSource(spec)
	case source.KindDemo:
		demoSpec, err := source.ParseSpec(r.s.demoGeyser)
		if err != nil {
			return nil, fmt.Errorf("source demo: %w", err)
		}
		demoSpec.From = r.s.demoFrom
		return r.geyserSource(demoSpec, source.KindDemo)
	default:
		return r.geyserSource(spec, source.KindGeyser)
	}
}

func (r *ingestRoom) rpcSource(spec source.Spec) (source.Source, error) {
	client, err := solana.NewClient(solana.Config{Endpoints: []string{spec.Endpoint}}, r.s.solanaDeps())
	if err != nil {
		return nil, err
	}
	return rpc.New(rpc.Config{From: spec.From, To: spec.To, Commitment: solana.Commitment(r.s.cfg.commitmentOf(spec)), Reader: r.s.reader()},
		rpc.Deps{Client: client, Bounds: r.s.chainBounds, Logger: r.s.logger, Registerer: r.registerer})
}

// geyserSource makes a source that follows a Yellowstone server. Slots that the server can no
// longer replay are fetched from the RPC upstream, if there is one.
func (r *ingestRoom) geyserSource(spec source.Spec, kind string) (source.Source, error) {
	commitment := r.s.cfg.commitmentOf(spec)
	deps := geyser.Deps{Logger: r.s.logger, Registerer: r.registerer}
	var err error
	if r.s.rpc != nil {
		filler, err := rpc.New(rpc.Config{Commitment: solana.Commitment(commitment), Reader: r.s.reader()},
			rpc.Deps{Client: r.s.rpc, Bounds: r.s.chainBounds, Logger: r.s.logger, Registerer: r.registerer})
		if err != nil {
			return nil, err
		}
		deps.Filler = filler
	}
	if r.s.cfg.Record != "" {
		if deps.Tap, err = r.recordBeside(); err != nil {
			return nil, err
		}
	}
	return geyser.New(geyser.Config{
		Endpoint: spec.Endpoint, Token: r.s.cfg.Geyser.Token, Commitment: commitment, Kind: kind,
		NoAccountUpdates: !r.s.cfg.Geyser.Accounts, BlocksMeta: r.s.cfg.Record != "",
		From: spec.From, AllTransactions: r.s.cfg.allTransactions(), Silence: r.s.cfg.Geyser.Silence, MaxPause: r.s.cfg.Geyser.MaxPause,
		Reader: r.s.reader(),
	}, deps)
}
