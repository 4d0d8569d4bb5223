package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/listen"
	"github.com/mintlake/mintlake/internal/solana"
)

// system is what the rooms of one process share: clients, metrics, the order of start and stop.
type system struct {
	cfg        *Config
	logger     *slog.Logger
	registerer *prometheus.Registry
	lifecycle  *lifecycle
	backends   *backends
	producer   *kafka.Producer
	admin      *kafka.Admin
	rpc        *solana.Client // nil without an upstream
	addresses  addresses
	closers    []func()
	demoGeyser string // source of the demo chain when it runs in this process
	ingest     *runner.Runner
	publisher  *transactions.Publisher // nil when nothing is passed on to the stream
	images     *images                 // nil until somebody needs them
	together   bool                    // the API runs in this process too
	recordings *file.Recordings        // nil when nothing is recorded
	finite     bool                    // ingest ends by itself, so its progress is worth telling
}

// addresses are what `up` prints, in this order.
type addresses []address

type address struct{ name, url string }

func (a *addresses) add(name, url string) { *a = append(*a, address{name, url}) }

func newSystem(cfg *Config, logger *slog.Logger) *system {
	registerer := prometheus.NewRegistry()
	registerer.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return &system{cfg: cfg, logger: logger, registerer: registerer, lifecycle: newLifecycle(logger, cfg.StopTimeout)}
}

// connect opens the clients that most rooms need. The backends must serve.
func (s *system) connect() error {
	deps := kafka.Deps{Logger: s.logger, Registerer: s.registerer}
	var err error
	if s.producer, err = kafka.NewProducer(kafka.ProducerConfig{Brokers: s.backends.brokers}, deps); err != nil {
		return err
	}
	s.closers = append(s.closers, s.producer.Close)
	if s.admin, err = kafka.NewAdmin(kafka.AdminConfig{Brokers: s.backends.brokers}, deps); err != nil {
		return err
	}
	s.closers = append(s.closers, s.admin.Close)
	return s.connectUpstream()
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
	return openClickHouse(ctx, s.backends.clickhouseDSN)
}

// startMetrics serves Prometheus metrics.
func (s *system) startMetrics(ctx context.Context) error {
	listener, err := listen.TCP(ctx, s.cfg.Metrics.Addr, "--metrics-addr")
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(s.registerer, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	s.addresses.add("metrics", "http://"+listener.Addr().String()+"/metrics")
	s.lifecycle.start("metrics", func(ctx context.Context) error {
		context.AfterFunc(ctx, func() { _ = server.Close() })
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// stop ends every component, the youngest first, and closes the clients.
func (s *system) stop() error {
	err := s.lifecycle.stop()
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i]()
	}
	return err
}
