package main

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/mintlake/mintlake/gateway/stream"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// system is what the rooms of one process share: clients, metrics, and the order of start and stop.
type system struct {
	cfg        *Config
	logger     *slog.Logger
	registerer *prometheus.Registry
	lifecycle  *lifecycle
	readiness  *readiness
	tracer     *tracing.Tracer // nil while tracing is off
	backends   *backends
	kafka      kafka.Deps // set by connect
	writers    *deadletter.Writers
	admin      *kafka.Admin
	conn       driver.Conn    // set by openStores, for commands that work on the tables
	rpc        *solana.Client // nil without an upstream
	addresses  addresses
	closers    []func()
	demoGeyser string         // the source, if the demo chain runs in this process
	demoRPC    string         // the URL of the demo chain's JSON-RPC
	demoFrom   *uint64        // the first slot of a demo chain that has a past; else nil
	demoList   demoList       // the demo chain's list of tokens; nil without one
	keys       *keyring       // nil until a surface needs it
	unknowns   *unknowns.Book // set by connect
	answers    *solana.Budget // bounds the answers of all JSON-RPC clients together
	exclusions *solana.Exclusions
	// chainBounds is set by connect.
	chainBounds *bounds.Bounds
	stream      atomic.Pointer[stream.Server]
	// administers is true if this process may serve the admin API: up and the gateway.
	administers bool
	// ingest is nil if this process does not ingest, or elects a leader.
	ingest   *ingestRoom
	reads    atomic.Pointer[runner.Runner] // the runner of the room that ingests now, or did last
	images   *images                       // nil until a room needs them
	together bool                          // the API runs in this process too
	apiURL   string                        // of the API in this process; empty without one
	// gatewayURL is the URL of this process's JSON-RPC gateway, if it is on loopback.
	gatewayURL string
	swapURL    atomic.Value // string: the URL of this process's swap API, if it is on loopback
	// refilling is true while the tables are far behind the log. Their progress line then replaces
	// the live line.
	refilling atomic.Bool
	damage    func() ([]parts.Damage, bool) // nil if nothing checks the tables
}

// addresses are the addresses that `up` prints, in this order.
type addresses []address

type address struct{ name, url string }

func (a *addresses) add(name, url string) { *a = append(*a, address{name, url}) }

func newSystem(cfg *Config, logger *slog.Logger) *system {
	registerer := prometheus.NewRegistry()
	registerer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerer.MustRegister(processMetrics(cfg)...)
	return &system{
		cfg: cfg, logger: logger, registerer: registerer, lifecycle: newLifecycle(logger, cfg.StopTimeout), readiness: newReadiness(registerer), answers: solana.NewBudget(),
		exclusions: solana.NewExclusions(registerer),
	}
}

// connect opens the clients that most rooms need. The backends must serve.
func (s *system) connect() error {
	deps, err := kafkaDeps(s.cfg, s.logger, s.registerer)
	if err != nil {
		return err
	}
	s.kafka = deps
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: s.backends.brokers, Compression: s.cfg.Kafka.Compression, Topics: topicNames()}, deps)
	if err != nil {
		return err
	}
	s.closers = append(s.closers, producer.Close)
	if s.writers, err = deadletter.NewWriters(producer, s.logger, s.registerer); err != nil {
		return err
	}
	if s.admin, err = kafka.NewAdmin(kafka.AdminConfig{Brokers: s.backends.brokers}, deps); err != nil {
		return err
	}
	s.closers = append(s.closers, s.admin.Close)
	s.needKafka()
	if s.unknowns, err = unknowns.New(s.logger, s.registerer); err != nil {
		return err
	}
	if s.chainBounds, err = bounds.New(bounds.Deps{Logger: s.logger, Registerer: s.registerer}); err != nil {
		return err
	}
	return s.connectUpstream()
}

// topicNames returns the names of all topics.
func topicNames() []string {
	topics := schemas.Topics()
	names := make([]string, len(topics))
	for i := range topics {
		names[i] = topics[i].Name
	}
	return names
}

func (s *system) connectUpstream() error {
	if len(s.cfg.RPC.Upstream) == 0 {
		return nil
	}
	client, err := solana.NewClient(solana.Config{Endpoints: s.cfg.RPC.Upstream}, s.solanaDeps())
	if err != nil {
		return err
	}
	s.rpc = client
	return nil
}

// tellUnknowns writes what the rooms of this process do not know to Kafka. It starts before the
// rooms, so that it stops after them.
func (s *system) tellUnknowns() {
	s.lifecycle.start("unknowns", func(ctx context.Context) error { return s.unknowns.Run(ctx, s.writers.For("unknowns")) })
}

// solanaDeps returns the collaborators of JSON-RPC clients.
func (s *system) solanaDeps() solana.Deps {
	return solana.Deps{Logger: s.logger, Registerer: s.registerer, Unknowns: s.unknowns, Exclusions: s.exclusions, Budget: s.answers}
}

func (s *system) openClickHouse(ctx context.Context) (driver.Conn, error) {
	return openClickHouse(ctx, s.backends)
}

// openForWrites is like openClickHouse, for rooms that write.
func (s *system) openForWrites(ctx context.Context) (driver.Conn, error) {
	return openClickHouse(ctx, s.backends, clickhouse.WithWriteLimit(s.cfg.ClickHouse.WriteLimit))
}

// stop stops every component, the last one started first, and closes the clients. After a component
// has failed, it waits at most brokenClose for the clients, which may wait for that component.
func (s *system) stop() error {
	s.readiness.setState("stopping")
	err := s.lifecycle.stop()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for i := len(s.closers) - 1; i >= 0; i-- {
			s.closers[i]()
		}
	}()
	var limit <-chan time.Time
	if s.lifecycle.broken {
		limit = time.After(brokenClose)
	}
	select {
	case <-closed:
	case <-limit:
	}
	return err
}

// brokenClose bounds how long clients may take to close after a component has failed.
const brokenClose = time.Second
