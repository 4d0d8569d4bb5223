package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/mintlake/mintlake/gateway/stream"
	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas"
)

// system is what the rooms of one process share: clients, metrics, the order of start and stop.
type system struct {
	cfg        *Config
	logger     *slog.Logger
	registerer *prometheus.Registry
	lifecycle  *lifecycle
	readiness  *readiness
	tracer     *tracing.Tracer // nil while tracing is off
	backends   *backends
	kafka      kafka.Deps // since connect
	writers    *deadletter.Writers
	admin      *kafka.Admin
	rpc        *solana.Client // nil without an upstream
	addresses  addresses
	closers    []func()
	demoGeyser string // source of the demo chain when it runs in this process, and its JSON-RPC
	demoRPC    string
	keys       *keyring // nil until a surface needs it
	stream     atomic.Pointer[stream.Server]
	// administers says that this process serves the admin API: up and the gateway.
	administers bool
	// nil where no room ingests, and where a leader is elected
	ingest   *ingestRoom
	images   *images      // nil until somebody needs them
	together bool         // the API runs in this process too
	apiURL   string       // the API in this process; empty without one
	swapURL  atomic.Value // string: the swap API in this process, on loopback
	// refilling says that the tables are far behind the log, and a line of their own tells how far.
	refilling atomic.Bool
	damage    func() ([]parts.Damage, bool) // nil where nobody looks after ClickHouse's tables
}

// addresses are what `up` prints, in this order.
type addresses []address

type address struct{ name, url string }

func (a *addresses) add(name, url string) { *a = append(*a, address{name, url}) }

func newSystem(cfg *Config, logger *slog.Logger) *system {
	registerer := prometheus.NewRegistry()
	registerer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerer.MustRegister(processMetrics(cfg)...)
	return &system{
		cfg: cfg, logger: logger, registerer: registerer, lifecycle: newLifecycle(logger, cfg.StopTimeout), readiness: newReadiness(registerer),
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
	return s.connectUpstream()
}

// topicNames are the topics of the catalogue.
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
	client, err := solana.NewClient(solana.Config{Endpoints: s.cfg.RPC.Upstream}, solana.Deps{Logger: s.logger, Registerer: s.registerer})
	if err != nil {
		return err
	}
	s.rpc = client
	return nil
}

func (s *system) openClickHouse(ctx context.Context) (driver.Conn, error) {
	return openClickHouse(ctx, s.backends)
}

// openForWrites is openClickHouse for rooms that write.
func (s *system) openForWrites(ctx context.Context) (driver.Conn, error) {
	return openClickHouse(ctx, s.backends, clickhouse.WithWriteLimit(s.cfg.ClickHouse.WriteLimit))
}

// stop ends every component, the youngest first, and closes the clients.
func (s *system) stop() error {
	s.readiness.say("stopping")
	err := s.lifecycle.stop()
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	return err
}
