// Package stream is the public transaction stream: the Yellowstone gRPC service geyser.Geyser and a
// WebSocket form on one address.
//
// In: raw transactions from the topic chain.transactions.v2 and, for the commitment processed, from
// a Geyser server; subscriptions with transaction filters, with a key.
// Out: each matching transaction to every subscriber that keeps up, in the order of its source;
// ends of slots, statuses, gaps.
// Guarantees: a subscription begins live, or at a slot that the log still has. Then it goes on
// live, and at the change no transaction is lost or sent twice. Gaps of the log are reported. A
// subscriber that falls behind is cut off with a reason: its buffer is bounded, and it never slows
// the others. Keys are neither logged nor sent.
//
// gRPC and WebSocket, plain and within TLS, share a port: a connection's first bytes show which it
// is (split.go). gRPC has its own transport, because net/http's lacks flow control settings and
// keepalive.
package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/shares"
	"github.com/mintlake/mintlake/gateway/socket"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/internal/tlsserver"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// maxAllAddresses bounds the addresses in the filters of all subscribers: about 130 bytes of memory
// each.
const maxAllAddresses = 5_000_000

// Config of the stream. Zero values take the defaults named at each field.
type Config struct {
	// Addr to listen on, host:port; port 0 takes a free one. Required.
	Addr string
	// AllowedOrigins are the web origins whose pages may open WebSockets: see origins.Parse.
	// Default none besides pages of the stream's own host.
	AllowedOrigins []string
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. It is needed for keys that
	// only certain addresses may use. Default none.
	TrustedProxies proxies.List
	// Commitment of the transactions on the topic: confirmed or finalized. Default confirmed. On a
	// confirmed stream, a subscriber that asks for finalized gets a transaction when its slot is
	// finalized.
	Commitment string
	// buffer is how many deliveries may wait for a subscriber. Default 4,096.
	buffer int
	// MaxSubscribers bounds the subscribers of all clients: their open gRPC subscriptions and
	// WebSockets. Default 1,000.
	MaxSubscribers int
	// maxFilters bounds the filters of one subscriber; default 16. maxAddresses bounds the
	// addresses in all filters of one subscriber together; default 50,000.
	maxFilters, maxAddresses int
	// MaxReplays bounds the readers of the log that serve replays. Replays at about the same offset
	// share a reader. At most a quarter of the readers serve a single key alone. Default 16.
	MaxReplays int
	// maxReplaying bounds the replays that run at one time. Each takes up to 6 MB of memory. A
	// replay of finalized transactions also holds those that are not finalized yet. At most a
	// quarter of the replays belong to one key. Default 256.
	maxReplaying int
	// replayBuffer bounds the records that one reader keeps for the replays that share it, in
	// bytes. Default 16 MiB.
	replayBuffer int
	// replayPatience is how long a new replay waits, while there are too many others, before it is
	// refused. After an outage all clients come back at the same time. Default 5 s.
	replayPatience time.Duration
	// stallAfter is how long no record may come before subscribers are told that the stream is
	// stalled. Default 5 s.
	stallAfter time.Duration
	// replayStall is how long a replay may wait for its client in total while the client takes 256
	// deliveries. Default 30 s.
	replayStall time.Duration
	// MaxConnections bounds the open client connections, MaxConnectionsPerAddress those of one
	// address; any more are refused. Only MaxConnections applies to trusted proxies. Defaults 4,096
	// and 1,000.
	MaxConnections, MaxConnectionsPerAddress int
	// idleTimeout is how long a gRPC connection may stay open without a call, even if it answers
	// pings. Default 2 min.
	idleTimeout time.Duration
	// beginTimeout is how long a new connection may take to send its first bytes, TLS handshake
	// included. Default 10 s.
	beginTimeout time.Duration
	// stopTimeout is how long clients have to disconnect when the stream stops. Default 5 s.
	stopTimeout time.Duration
	// Transactions says which of the source's transactions are on the topic: programs (those that
	// touch the programs that ingest subscribes to) or all (all but votes). Default programs.
	Transactions string
	// Processed is the Geyser server that serves subscribers at the commitment processed. Default
	// none: its Endpoint is empty, and these subscribers are refused.
	Processed ProcessedConfig
	// CertFile and KeyFile are the certificate, with its chain, and the private key for TLS
	// connections, in PEM. Both or neither; default neither. Plain connections are accepted in
	// either case.
	CertFile, KeyFile string
	// Version is the version that GetVersion reports. Default "dev".
	Version string
}

// The values of Config.Transactions.
const transactionsPrograms, transactionsAll = "programs", "all"

func (c Config) withDefaults() Config {
	c.beginTimeout = cmp.Or(max(c.beginTimeout, 0), 10*time.Second)
	c.stopTimeout = cmp.Or(max(c.stopTimeout, 0), 5*time.Second)
	c.buffer = cmp.Or(max(c.buffer, 0), 4096)
	c.MaxSubscribers = cmp.Or(max(c.MaxSubscribers, 0), 1000)
	c.maxFilters = cmp.Or(max(c.maxFilters, 0), 16)
	c.maxAddresses = cmp.Or(max(c.maxAddresses, 0), 50_000)
	c.MaxReplays = cmp.Or(max(c.MaxReplays, 0), 16)
	c.maxReplaying = cmp.Or(max(c.maxReplaying, 0), 256)
	c.replayBuffer = cmp.Or(max(c.replayBuffer, 0), 16<<20)
	c.replayPatience = cmp.Or(max(c.replayPatience, 0), 5*time.Second)
	c.stallAfter = cmp.Or(max(c.stallAfter, 0), 5*time.Second)
	c.replayStall = cmp.Or(max(c.replayStall, 0), 30*time.Second)
	c.MaxConnections = cmp.Or(max(c.MaxConnections, 0), 4096)
	c.MaxConnectionsPerAddress = cmp.Or(max(c.MaxConnectionsPerAddress, 0), 1000)
	c.idleTimeout = cmp.Or(max(c.idleTimeout, 0), 2*time.Minute)
	c.Commitment = cmp.Or(c.Commitment, "confirmed")
	c.Transactions = cmp.Or(c.Transactions, transactionsPrograms)
	c.Version = cmp.Or(c.Version, "dev")
	return c
}

// Deps are the collaborators.
type Deps struct {
	// Keys are the valid keys; those of the product rpc open the stream. Required. With an empty
	// store the stream is open to all, but only on loopback (see keys.NewGate).
	Keys keys.Store
	// Offsets and OpenTail give access to the topic. Required.
	Offsets  kafka.Offsets
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Unknowns counts what the node of Config.Processed sends and this version does not know. May
	// be nil.
	Unknowns *unknowns.Book
}

// Server is the stream.
type Server struct {
	*listen.Bound
	timings socket.Timings // socket.Usual; tests change them before Run
	cfg     Config
	deps    Deps
	gate    *keys.Gate
	hub     *hub
	log     *logReader // for feed only
	live    int64      // for feed only: the first offset that is delivered
	marks   marks
	stalls  stalls // for feed only
	recent  recent
	// readers read the log for replays. running bounds the replays that run at one time, shares
	// those of each key. locating bounds the replays that search the log for their slot. Through
	// looking, all who ask for the log's extent at the same time share one call.
	readers           replayReaders
	shares            *shares.Places
	running, locating *semaphore.Weighted
	looking           sharedcall.Group[logExtent]
	// processed serves the commitment processed; nil without Config.Processed.
	processed *processed
	rank      int // of cfg.Commitment: processed 0, confirmed 1, finalized 2
	origins   *origins.Set
	metrics   *metrics
	// certificate is nil if connections are plain only.
	certificate *tlsserver.Certificate
	// open counts the accepted connections. refusals counts the refused connections whose clients
	// were not told the reason yet.
	open, refusals *bounds
	// fed is closed when live delivery begins: what is written to the topic from then on is
	// delivered.
	fed     chan struct{}
	fedOnce sync.Once
}

// about is what the stream says about itself.
type about struct {
	Package string `json:"package"`
	Version string `json:"version"`
	// Commitment is the default commitment of a request.
	Commitment string `json:"commitment"`
	// Processed says whether the commitment processed is served as well.
	Processed bool `json:"processed"`
	// Transactions is Config.Transactions.
	Transactions string `json:"transactions"`
}

// statusBody is the body of GET /status.
type statusBody struct {
	about
	Slot          uint64 `json:"slot"`
	FinalizedSlot uint64 `json:"finalized_slot"` // 0 while none is known
	// ProcessedSlot is the highest processed slot; 0 while none is known.
	ProcessedSlot uint64 `json:"processed_slot,omitempty"`
}

func (s *Server) status() statusBody {
	return statusBody{s.about(), s.hub.slot.Load(), s.recent.root(), s.processed.slot()}
}

func (s *Server) about() about {
	return about{"mintlake", s.cfg.Version, s.cfg.Commitment, s.processed != nil, s.cfg.Transactions}
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg = cfg.withDefaults()
	if deps.Keys == nil || deps.Offsets == nil || deps.OpenTail == nil {
		return nil, errors.New("stream: a key store, offsets and a tailer are required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	gate, err := keys.NewGate(deps.Keys, keys.RPC, cfg.Addr, "--rpc-keys")
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	rank, ok := commitmentRank(cfg.Commitment)
	if !ok {
		return nil, fmt.Errorf("stream: commitment %q: must be processed, confirmed or finalized", cfg.Commitment)
	}
	s := &Server{timings: socket.Usual(), cfg: cfg, deps: deps, gate: gate, rank: rank, Bound: listen.NewBound(), fed: make(chan struct{})}
	s.open = newBounds(cfg.MaxConnections, cfg.MaxConnectionsPerAddress, cfg.TrustedProxies)
	s.refusals = newBounds(refusalsOpen, refusalsOfOneOpen, cfg.TrustedProxies)
	if s.origins, err = origins.Parse(cfg.AllowedOrigins); err != nil {
		return nil, fmt.Errorf("stream: allowed origin %w", err)
	}
	if cfg.CertFile != "" || cfg.KeyFile != "" {
		if s.certificate, err = tlsserver.Load(cfg.CertFile, cfg.KeyFile, deps.Logger); err != nil {
			return nil, fmt.Errorf("stream.tls: %w", err)
		}
	}
	s.hub = newHub(cfg.MaxSubscribers, maxAllAddresses)
	s.running, s.locating = semaphore.NewWeighted(int64(cfg.maxReplaying)), semaphore.NewWeighted(int64(cfg.MaxReplays))
	s.shares = shares.NewPlaces(func(key string) int { return shareOf(key, cfg.maxReplaying) })
	s.hub.finished = s.published
	if s.processed, err = newProcessed(s); err != nil {
		return nil, fmt.Errorf("stream.processed: %w", err)
	}
	if s.metrics, err = newMetrics(deps.Registerer, s); err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	s.readers = newReplayReaders(s)
	s.log = newLogReader(s.metrics)
	if s.log.final = s.onlyFinal(); !s.log.final {
		s.log.finals = newFinals()
	}
	return s, nil
}

// onlyFinal returns whether all blocks of the log are finalized.
func (s *Server) onlyFinal() bool { return s.cfg.Commitment == "finalized" }

// Run listens, reads the topic and serves until ctx ends. If the address is in use, the error says
// so in one line. Run may be called once.
func (s *Server) Run(ctx context.Context) error {
	listener, err := listen.TCP(ctx, s.cfg.Addr, "--stream-addr")
	if err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	s.Announce(listener.Addr())
	s.deps.Logger.Info("stream listens", "addr", s.Addr(), "open", s.gate.Open())
	parts := s.newSplitter(listener)
	rpc := s.newGRPC()
	web := &http.Server{
		Handler: http.HandlerFunc(s.serveHTTP), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, IdleTimeout: 75 * time.Second,
		MaxHeaderBytes: 16 << 10, ConnContext: withRefusal, ErrorLog: slog.NewLogLogger(s.deps.Logger.Handler(), slog.LevelDebug),
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.hub.run(ctx) })
	group.Go(func() error { return s.feed(ctx) })
	if s.processed != nil {
		group.Go(func() error { return s.processed.run(ctx) })
	}
	group.Go(func() error { s.gate.Run(ctx); return nil })
	group.Go(func() error { return parts.run() })
	group.Go(func() error {
		if err := rpc.Serve(parts.http2); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		if err := web.Serve(framing.Listener(parts.http1)); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		s.stop(ctx, parts, rpc, web)
		return nil
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("stream: serve: %w", err)
	}
	return nil
}

// stop tells all subscribers that the server stops and waits until they have disconnected. After
// stopTimeout it closes the connections that are left.
func (s *Server) stop(ctx context.Context, parts *splitter, rpc *grpc.Server, web *http.Server) {
	s.hub.close()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.stopTimeout)
	defer cancel()
	gone := make(chan struct{})
	go func() {
		rpc.GracefulStop()
		s.hub.wait() // for the WebSockets: http.Server does not track hijacked connections
		close(gone)
	}()
	select {
	case <-gone:
	case <-grace.Done():
		rpc.Stop()
	}
	_ = web.Close()
	parts.close()
}
