// Package subscriptions serves the WebSocket subscriptions by which Solana's clients confirm
// transactions: signatureSubscribe, slotSubscribe and rootSubscribe, in the shape and with the
// error codes of Agave's PubSub. It passes accountSubscribe, programSubscribe and logsSubscribe on
// to upstreams that have WebSockets.
//
// In: WebSocket requests whose host, origin and key were checked already; the topics chain.slots.v1
// and chain.transactions.v2; the JSON-RPC upstream. Out: notifications.
// Guarantees: a signature that landed before its subscription is notified at once, because the
// upstream is asked after the subscription is registered. A signature is notified once.
// Connections, subscriptions, messages and buffers are bounded; a client that exceeds a bound is
// told why.
//
// What ingest reads is used first, because it costs no call. Ingest reads no block before it is
// confirmed, so the upstream is asked for the rest: processed, finalized, and everything while
// ingest is behind or absent.
package subscriptions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/solana"
)

// Config of the subscriptions. Zero values take the defaults named at each field.
type Config struct {
	// Commitment of the blocks that ingest reads: confirmed or finalized. Default confirmed.
	Commitment string
	// maxConnections bounds all connections; default 1,000. maxConnectionsPerClient bounds those of
	// one key, or of one address if no key is needed; default 100.
	maxConnections, maxConnectionsPerClient int
	// maxSubscriptions bounds the subscriptions of one connection; default 1,000.
	// maxSubscriptionsTotal bounds those of all connections; default 20,000.
	maxSubscriptions, maxSubscriptionsTotal int
	// WebSockets are ws(s) URLs of upstreams that serve accounts, programs and logs, the preferred
	// one first. Without any these subscriptions are refused.
	WebSockets []string
	// maxRelayed bounds the different subscriptions at upstreams; identical subscriptions of
	// clients are one there. Default 1,000.
	maxRelayed int
	// relayTimeout is how long an upstream's WebSocket may take to open, to answer and to accept a
	// message. Default 10 s.
	relayTimeout time.Duration
	// relayPatience is how long all upstreams may be unreachable before clients are cut off.
	// Default 30 s.
	relayPatience time.Duration
	// relayPause is about the first pause after a round through all upstreams in which none served
	// for long. Later pauses grow to 30 s. Default 1 s.
	relayPause time.Duration
	// relayLag is how long after a change of upstream notifications about an account are dropped
	// whose slot is below the slot that clients know: the new upstream may be behind. After that
	// they are passed on, because the chain may have begun anew, as a test validator's does.
	// Default 1 min.
	relayLag time.Duration
	// buffer is how many messages may wait for a client. Default 2,048.
	buffer int
	// bufferBytes is how many bytes may wait for a client, bufferBytesTotal for all clients
	// together. Defaults 32 MiB and 512 MiB.
	bufferBytes, bufferBytesTotal int64
	// pollInterval is the time between two questions to the upstream about the same thing. Default
	// 500 ms.
	pollInterval time.Duration
	// feedPatience is how long ingest may bring no new slot before the upstream is asked for slots.
	// Default 3 s.
	feedPatience time.Duration
	// stopTimeout is how long Run waits for all clients to disconnect when it stops. Default 5 s.
	stopTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Commitment = cmp.Or(c.Commitment, string(solana.Confirmed))
	c.maxConnections = cmp.Or(max(c.maxConnections, 0), 1000)
	c.maxConnectionsPerClient = cmp.Or(max(c.maxConnectionsPerClient, 0), 100)
	c.maxSubscriptions = cmp.Or(max(c.maxSubscriptions, 0), 1000)
	c.maxSubscriptionsTotal = cmp.Or(max(c.maxSubscriptionsTotal, 0), 20_000)
	c.buffer = cmp.Or(max(c.buffer, 0), 2048)
	c.bufferBytes = cmp.Or(max(c.bufferBytes, 0), 32<<20)
	c.bufferBytesTotal = cmp.Or(max(c.bufferBytesTotal, 0), 512<<20)
	c.maxRelayed = cmp.Or(max(c.maxRelayed, 0), 1000)
	c.relayTimeout = cmp.Or(max(c.relayTimeout, 0), 10*time.Second)
	c.relayPatience = cmp.Or(max(c.relayPatience, 0), 30*time.Second)
	c.relayPause = cmp.Or(max(c.relayPause, 0), time.Second)
	c.relayLag = cmp.Or(max(c.relayLag, 0), time.Minute)
	c.pollInterval = cmp.Or(max(c.pollInterval, 0), 500*time.Millisecond)
	c.feedPatience = cmp.Or(max(c.feedPatience, 0), 3*time.Second)
	c.stopTimeout = cmp.Or(max(c.stopTimeout, 0), 5*time.Second)
	return c
}

// RPC asks the upstream: *solana.Client.
type RPC interface {
	Call(ctx context.Context, method string, params []any, result any) error
}

// Fees gets the transactions of the topic, too, so that the process reads it only once:
// *fees.Server.
type Fees interface {
	Wanted() bool
	Take(r kafka.Record)
}

// Deps are the collaborators.
type Deps struct {
	// Offsets and OpenTail give access to the topics. Required.
	Offsets  kafka.Ends
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	// RPC is the upstream. If it is nil, subscriptions that only an upstream can serve are refused.
	RPC RPC
	// Accounts reads accounts after a change of upstream. It is a *solana.Client of its own, so
	// that these reads do not delay the questions about signatures. If it is nil, accounts are not
	// read.
	Accounts RPC
	// Fees gets the transactions while it wants them. May be nil.
	Fees Fees
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Server holds the subscriptions.
type Server struct {
	timings socket.Timings // socket.Usual; tests change them before Run
	cfg     Config
	deps    Deps
	hub     *hub
	fed     level // the commitment of what ingest reads
	metrics *metrics
	// queued counts the bytes in the buffers of all clients.
	queued atomic.Int64
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg = cfg.withDefaults()
	if deps.Offsets == nil || deps.OpenTail == nil {
		return nil, errors.New("subscriptions: offsets and a tailer are required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	fed, ok := parseLevel(cfg.Commitment)
	if !ok || fed == processed {
		return nil, fmt.Errorf("subscriptions: commitment %q: must be confirmed or finalized", cfg.Commitment)
	}
	for i, raw := range cfg.WebSockets {
		if u, err := url.Parse(raw); err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" {
			return nil, fmt.Errorf("subscriptions: upstream %d (%s): want ws(s)://host (--rpc-upstream-ws)", i+1, solana.Redact(raw))
		}
	}
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	s := &Server{timings: socket.Usual(), cfg: cfg, deps: deps, fed: fed, metrics: m, hub: newHub(cfg, m)}
	if err := m.registerGauges(deps.Registerer, s.hub); err != nil {
		return nil, fmt.Errorf("subscriptions: %w", err)
	}
	return s, nil
}

// Run reads the topics and asks the upstream until ctx ends, then ends all sessions. Run may be
// called once.
func (s *Server) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range s.feeds() {
		group.Go(func() error { f.run(ctx); return nil })
	}
	if s.deps.RPC != nil {
		group.Go(func() error { s.pollSignatures(ctx); return nil })
		group.Go(func() error { s.pollSlots(ctx); return nil })
	}
	if len(s.cfg.WebSockets) > 0 {
		group.Go(func() error { s.runRelay(ctx); return nil })
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
		case <-time.After(s.cfg.stopTimeout):
		}
		return nil
	})
	return group.Wait()
}

// Serve upgrades the request to a WebSocket and serves it until it ends. The caller has checked
// host, origin and key. client is a key's id or an address: the connections of one client are
// bounded. lease says which calls the key may make, and when it ends; nil restricts nothing.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, client string, lease *keys.Lease) {
	s.serve(w, r, client, lease)
}
