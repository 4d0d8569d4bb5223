// Package subscriptions serves Solana's WebSocket subscriptions that clients confirm transactions with: signatureSubscribe,
// slotSubscribe and rootSubscribe, in the shape and with the error codes of Agave's PubSub.
//
// In: WebSocket requests whose host, origin and key were checked already; the topics chain.slots.v1 and chain.transactions.v1; the
// JSON-RPC upstream. Out: notifications.
// Guarantees: a signature that landed before its subscription is answered at once, because the upstream is asked after the
// subscription is known. A signature is answered once. Connections, subscriptions, messages and what a slow client may be behind are
// bounded; a client that exceeds a bound is told why.
//
// What ingest sees comes first, because it costs no call. Ingest reads confirmed blocks only, so the upstream is asked for what
// that cannot tell: processed, finalized, and everything while ingest is behind or absent.
package subscriptions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/keys"
	"github.com/mintlake/mintlake/internal/solana"
)

// Config of the subscriptions. Zero values take the defaults named at each field.
type Config struct {
	// Commitment of the blocks that ingest reads: confirmed or finalized. Default confirmed.
	Commitment string
	// MaxConnections bounds all connections; default 1,000. MaxConnectionsPerClient bounds those of one key, or of one address where no
	// key is needed; default 100.
	MaxConnections, MaxConnectionsPerClient int
	// MaxSubscriptions bounds the subscriptions of one connection; default 1,000. MaxSubscriptionsTotal bounds those of all; default 20,000.
	MaxSubscriptions, MaxSubscriptionsTotal int
	// Buffer is how many messages a client may be behind. Default 2,048.
	Buffer int
	// PollInterval is the time between two questions to the upstream about the same thing. Default 500 ms.
	PollInterval time.Duration
	// FeedPatience is how long ingest may bring no new slot before the upstream is asked for slots. Default 3 s.
	FeedPatience time.Duration
	// RefusalsPerSecond is how often one connection gets an error answer. The first 10 are free; later ones wait. Default 1.
	RefusalsPerSecond float64
	// PingInterval is the time between pings to clients. Default 15 s.
	PingInterval time.Duration
	// WriteTimeout is how long a client may take to accept a message. Default 10 s.
	WriteTimeout time.Duration
	// GoodbyeTimeout is how long a client may take to accept the reason why its connection ends. Default 1 s.
	GoodbyeTimeout time.Duration
	// StopTimeout is how long all clients together may take to go once the server is told to stop. Default 5 s.
	StopTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Commitment = cmp.Or(c.Commitment, string(solana.Confirmed))
	c.RefusalsPerSecond = cmp.Or(max(c.RefusalsPerSecond, 0), 1)
	c.MaxConnections = cmp.Or(max(c.MaxConnections, 0), 1000)
	c.MaxConnectionsPerClient = cmp.Or(max(c.MaxConnectionsPerClient, 0), 100)
	c.MaxSubscriptions = cmp.Or(max(c.MaxSubscriptions, 0), 1000)
	c.MaxSubscriptionsTotal = cmp.Or(max(c.MaxSubscriptionsTotal, 0), 20_000)
	c.Buffer = cmp.Or(max(c.Buffer, 0), 2048)
	c.PollInterval = cmp.Or(max(c.PollInterval, 0), 500*time.Millisecond)
	c.FeedPatience = cmp.Or(max(c.FeedPatience, 0), 3*time.Second)
	c.PingInterval = cmp.Or(max(c.PingInterval, 0), 15*time.Second)
	c.WriteTimeout = cmp.Or(max(c.WriteTimeout, 0), 10*time.Second)
	c.GoodbyeTimeout = cmp.Or(max(c.GoodbyeTimeout, 0), time.Second)
	c.StopTimeout = cmp.Or(max(c.StopTimeout, 0), 5*time.Second)
	return c
}

// Offsets tells where topics end: *kafka.Admin.
type Offsets interface {
	EndOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error)
}

// RPC asks the upstream: *solana.Client.
type RPC interface {
	Call(ctx context.Context, method string, params []any, result any) error
}

// Deps are the collaborators.
type Deps struct {
	// Offsets and OpenTail reach the topics. Required.
	Offsets  Offsets
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	// RPC is the upstream. Nil: subscriptions that only an upstream can answer are refused.
	RPC RPC
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Server holds the subscriptions.
type Server struct {
	cfg     Config
	deps    Deps
	hub     *hub
	fed     level // of what ingest reads
	metrics *metrics
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg = cfg.withDefaults()
	if deps.Offsets == nil || deps.OpenTail == nil {
		return nil, errors.New("subscriptions: offsets and a tailer are required")
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	fed, ok := parseLevel(cfg.Commitment)
	if !ok || fed == processed {
		return nil, fmt.Errorf("subscriptions: commitment %q: must be confirmed or finalized", cfg.Commitment)
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	s := &Server{cfg: cfg, deps: deps, fed: fed, metrics: m, hub: newHub(cfg, m)}
	if err := m.registerGauges(deps.Registerer, s.hub); err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	return s, nil
}

// Run reads the topics and asks the upstream until ctx ends, then says goodbye to all clients. Run may be called once.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range s.feeds() {
		group.Go(func() error { f.run(ctx); return nil })
	}
	if s.deps.RPC != nil {
		group.Go(func() error { s.pollSignatures(ctx); return nil })
		group.Go(func() error { s.pollSlots(ctx); return nil })
	}
	group.Go(func() error {
		<-ctx.Done()
		s.hub.close()
		gone := make(chan struct{})
		go func() {
			s.hub.gone.Wait()
			close(gone)
		}()
		select {
		case <-gone:
		case <-time.After(s.cfg.StopTimeout):
		}
		return nil
	})
	return group.Wait()
}

// Serve makes a WebSocket of the request and serves it until it ends. The caller has checked host, origin and key; client names who it
// is, for the bound on connections: a key's id, or an address. lease says when the client's key ends, and which calls it may make; nil is no
// restriction.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, client string, lease *keys.Lease) {
	s.serve(w, r, client, lease)
}
