// Package api is the public token API: search, lookup, batch and images, and the endpoints by which
// operators watch an API node.
//
// In: HTTP requests; the registry through package replica. Out: the responses of
// schemas/openapi/openapi.yaml; requests for enrichment.
// Guarantees: answers come from memory, so they go on while ClickHouse or Kafka is unavailable.
// Only history, candles, pools, liquidity, trades, venues and balances are read from ClickHouse.
// Every response that is not a success has the body {statusCode, error, message}. Any number of
// nodes can run side by side.
//
// Each route has a file of its own. route.go has what all routes share: recovery, CORS, rate
// limits, metrics.
package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/access/internaltoken"
	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/api/balances"
	"github.com/mintlake/mintlake/api/feed"
	"github.com/mintlake/mintlake/api/history"
	"github.com/mintlake/mintlake/api/logos"
	"github.com/mintlake/mintlake/api/market"
	"github.com/mintlake/mintlake/api/requests"
	"github.com/mintlake/mintlake/api/status"
	"github.com/mintlake/mintlake/api/trades"
	"github.com/mintlake/mintlake/internal/clickhouse/parts"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/replica/evidence"
	"github.com/mintlake/mintlake/schemas/openapi"
)

// readBufferSize bounds the request line and the headers together, in bytes, and so a query, too.
const readBufferSize = 16 << 10

// Deps are the collaborators.
type Deps struct {
	// Offsets is *kafka.Admin.
	Offsets replica.Offsets
	// OpenTail makes a *kafka.Tailer.
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	// Producer is *kafka.Producer.
	Producer kafka.RecordProducer
	// Snapshot is replica.NewClickHouse. If it is nil, the registry is folded from the topics.
	Snapshot replica.Snapshot
	// CheckpointFolder is the folder in which the copy of the registry is kept for the next start,
	// see replica.Config. If it is empty, the copy is not kept.
	CheckpointFolder string
	// History is history.NewClickHouse. If it is nil, requests for history are answered 503.
	History history.Reader
	// Damage lists the damaged parts of ClickHouse's tables; known is false before the first look
	// for them. Damage is nil if this process does not look for them.
	Damage func() (damage []parts.Damage, known bool)
	// Images fetches logos into ImageStore. If both are nil, every logo is the fallback.
	Images     logos.Loader
	ImageStore logos.Store
	// Market is market.NewClickHouse. If it is nil, there are no daily volumes, and candles, pools,
	// liquidity and venues are answered 503.
	Market market.Reader
	// Trades is trades.NewClickHouse. If it is nil, trades are answered 503.
	Trades trades.Reader
	// Balances is balances.NewClickHouse. If it is nil, this node keeps no balances: holders, what
	// wallets hold and transfers are answered 404.
	Balances balances.Reader
	// Explorer serves the pages for people; nil if there are none.
	Explorer http.Handler
	// Docs serves /docs; if it is nil, /docs is a page without scripts.
	Docs http.Handler
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Tracer may be nil: then there are no spans.
	Tracer *tracing.Tracer
	// Now is the wall clock of rate limits and freshness. Default time.Now.
	Now func() time.Time
}

// Server is an API node.
type Server struct {
	cfg      Config
	deps     Deps
	app      *fiber.App
	metrics  *metrics
	replica  *replica.Replica
	requests *requests.Queue
	evidence *evidence.Index
	feed     *feed.Feed
	trades   *trades.Hub
	logos    *logos.Service // nil without images
	status   *status.Collector
	history  *history.History // nil when there is no reader
	limiter  taker            // nil when limits are off
	hosts    *hosts.Guard     // nil until Run listens
	local    *limits.Limiter  // this node's own windows; nil when limits are off
	shared   *limits.Shared   // nil if this node counts alone
	proxies  limits.Proxies
	internal internaltoken.Check
	routes   []*route
	explorer fiber.Handler // nil without Deps.Explorer
	openapi  []byte
	docs     []byte
	llms     []byte
	codings  []*coding
	rows     *rowCache
	bodies   sync.Pool // of *pooledBody, for whole bodies
	bufs     sync.Pool // of *pooledBody, for rows
	draining atomic.Bool
	listener atomic.Pointer[listener]
	// maxWait bounds wait_ms of a batch.
	maxWait time.Duration

	historyLog sampler // of warnings that ClickHouse does not answer

	bound chan struct{} // closed when addr is set
	once  sync.Once
	addr  string
}

// New checks configuration and collaborators and registers the metrics. It does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Now == nil {
		deps.Now = time.Now
	}
	s := &Server{cfg: cfg, deps: deps, bound: make(chan struct{}), codings: newCodings(), maxWait: defaultMaxWait, rows: newRowCache(), internal: internaltoken.NewCheck(cfg.InternalToken)}
	if err := s.build(); err != nil {
		return nil, err
	}
	s.app = fiber.New(fiber.Config{
		AppName: "mintlake", DisableStartupMessage: true, Immutable: true, CaseSensitive: true,
		// No route takes forms, and parsing them would write files.
		JSONEncoder: encodeJSON, DisablePreParseMultipartForm: true,
		// Concurrency is higher than MaxConnections: connections that the listener has closed take
		// a moment to end, and it holds some more in reserve, for probes.
		BodyLimit: cfg.BodyLimit, Concurrency: cfg.MaxConnections + cfg.MaxConnections/8 + 1024,
		ReadBufferSize: readBufferSize,
		ReadTimeout:    cfg.ReadTimeout, WriteTimeout: cfg.WriteTimeout, IdleTimeout: cfg.IdleTimeout,
		ErrorHandler: s.handleServerError,
	})
	s.addRoutes()
	s.metrics.preset(s.routes)
	return s, nil
}

// build makes all parts of the server.
func (s *Server) build() (err error) {
	if s.metrics, err = newMetrics(s.deps.Registerer, s); err != nil {
		return err
	}
	if s.requests, err = requests.New(s.cfg.requests(), requests.Deps{
		Producer: s.deps.Producer, Logger: s.deps.Logger, Registerer: s.deps.Registerer, Now: s.deps.Now,
	}); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if err = s.buildListeners(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if err = s.buildTrades(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if err = s.buildLogos(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if s.replica, err = replica.New(s.cfg.replica(s.deps.CheckpointFolder), replica.Deps{
		Snapshot: s.deps.Snapshot, Offsets: s.deps.Offsets, OpenTail: s.deps.OpenTail, NotAMint: s.requests.NotAMint,
		Listeners: []replica.Listener{s.rows, s.evidence, s.feed, s.requests},
		Logger:    s.deps.Logger, Registerer: s.deps.Registerer, Now: s.deps.Now,
	}); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if s.status, err = status.New(s.replica, s.deps.Offsets, s.deps.Logger, s.deps.Registerer); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if s.deps.History != nil {
		s.history = history.New(s.deps.History)
	}
	if err = s.buildLimits(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if s.openapi, err = openapi.JSON(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if s.llms, err = renderLLMs(s.openapi); err != nil {
		return err
	}
	s.docs, err = renderDocs(s.openapi)
	return err
}

// Run listens, loads the registry and serves until ctx ends; then it returns nil. If the port is in
// use, the error says so in one line.
func (s *Server) Run(ctx context.Context) error {
	bound, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("api: address %s is taken: stop what listens there, or choose another with --api-addr (HOST:0 takes a free port)", s.cfg.Addr)
	}
	if err != nil {
		return fmt.Errorf("api: listen: %w", err)
	}
	s.once.Do(func() {
		s.addr = bound.Addr().String()
		close(s.bound)
	})
	s.hosts = hosts.New(bound.Addr(), s.cfg.Addr, s.cfg.AllowedHosts)
	s.deps.Logger.Info("api listens", "addr", s.addr)
	// These parts run until the last request is answered, so that answers stay up to date.
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, inner := errgroup.WithContext(inner)
	group.Go(func() error {
		defer stop()
		return s.serve(ctx, inner, s.newListener(framing.Listener(bound)))
	})
	for _, run := range []func(context.Context) error{s.replica.Run, s.requests.Run, s.status.Run, s.sweep, s.share, s.failures().Run, s.readUnknowns, s.runLogos, s.runVolumes, s.runHolders} {
		group.Go(func() error { return run(inner) })
	}
	group.Go(func() error {
		defer s.requests.EndWaits()
		return s.feed.Run(ctx) // ends with ctx, because open streams would delay the stop
	})
	group.Go(func() error { return s.trades.Run(ctx) }) // ends with ctx, for the same reason
	if err := group.Wait(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	return nil
}

// readUnknowns reads registry.unknowns.v1 for GET /status: what processes met on the chain and do
// not know.
func (s *Server) readUnknowns(ctx context.Context) error {
	return s.status.ReadUnknowns(ctx, s.deps.OpenTail)
}

// runVolumes keeps the replica's daily volumes up to date.
func (s *Server) runVolumes(ctx context.Context) error {
	if s.deps.Market == nil {
		return nil
	}
	poller := &market.Poller{
		Reader: s.deps.Market, Ranking: market.Ranking(s.cfg.Ranking), Set: s.replica.SetVolumes, Ready: s.replica.Ready, Logger: s.deps.Logger,
	}
	return poller.Run(ctx)
}

// runHolders keeps the replica's counts of holders up to date.
func (s *Server) runHolders(ctx context.Context) error {
	if s.deps.Balances == nil {
		return nil
	}
	poller := &balances.Poller{
		Reader: s.deps.Balances, Set: s.replica.SetHolders, SetChanges: s.replica.SetHolderChanges, Ready: s.replica.Ready, Logger: s.deps.Logger,
	}
	return poller.Run(ctx)
}

// Addr returns the address that Run listens on, with the real port; empty until Bound is closed.
func (s *Server) Addr() string {
	select {
	case <-s.bound:
		return s.addr
	default:
		return ""
	}
}

// Bound returns a channel that is closed when Run listens.
func (s *Server) Bound() <-chan struct{} { return s.bound }

// Ready returns whether the registry is loaded and answers are complete, as GET /readyz does.
// Unlike there, a node that drains is still ready.
func (s *Server) Ready() bool {
	_, lost := s.status.Reasons()
	return s.replica.Ready() && !lost
}

// Status returns the document of GET /status.
func (s *Server) Status(ctx context.Context) status.Document { return s.status.Get(ctx) }
