// Package swap is the swap quote API: what one token gives for another, and the transaction that
// makes the exchange.
//
// In: HTTP requests with a key; the chain's accounts over JSON-RPC. Out: quotes; transactions that
// a wallet signs; signed transactions, to a JSON-RPC server. Guarantees: a quote is the venue's own
// integer arithmetic on the state of each pool at one slot; the answer names the oldest of these
// slots; nothing is signed, and nothing is sent but the signed transactions that clients post to
// /api/v2/send; every response that is not a success has the body {statusCode, error, message}.
// Keys are never in a log or an answer.
//
// venue has the common interfaces, each package below it knows one venue, market finds and reads
// pools, state holds pools from a stream, mint reads mints, trust compares our quotes with swaps on
// the chain, router chooses pools and routes, lookup reads lookup tables, txn builds transactions.
// This package answers requests. It needs no Kafka and no ClickHouse.
package swap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/shares"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas/openapi"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/solana/unknowns"
	"github.com/mintlake/mintlake/swap/lookup"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/trust"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/all"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// Config of the API. Zero values take the defaults named at each field.
type Config struct {
	// Addr to listen on, host:port; port 0 takes a free one. Required.
	Addr string
	// AllowedOrigins are the web origins whose pages may call: see origins.Parse. Default none:
	// keys belong on servers.
	AllowedOrigins []string
	// TrustedProxies are the proxies whose X-Forwarded-For names the client's address: for keys
	// that only certain addresses may use, and for what one address may have without a key.
	// Default none.
	TrustedProxies proxies.List
	// State says which stream the pools' state comes from. Default none: pools are read when a
	// request needs them. It needs RPC too.
	State state.Config
	// Trust says which builds of venues are accepted, and where that is recorded. Endpoint and
	// Token are taken from State.
	Trust trust.Config
	// LookupTables are address lookup tables that transactions may use, at most
	// lookup.MaxTables. Default none.
	LookupTables []pubkey.Key
	// unitPrice is the priority fee of built transactions, in millionths of a lamport per compute
	// unit. Default 10,000: about 0.0000015 SOL a swap.
	unitPrice uint64
	// maxInFlight bounds the requests being answered; one more is refused with 503. Default 512.
	// One client may have as many in flight as are free besides: half of them if it is alone.
	maxInFlight int
	// timeout bounds one request. Default 10 s.
	timeout time.Duration
	// stopTimeout is how long requests in flight may take after the API is told to stop. Default 10
	// s.
	stopTimeout time.Duration
	// slot is how often a stream of quotes computes its quote again. Default slottime.Default, a
	// slot.
	slot time.Duration
	// heartbeat is how often a stream without events sends a comment. It keeps the connection open,
	// and shows when the client is gone. Default 10 s.
	heartbeat time.Duration
	// routing bounds the search for a route. When it is over, the best route found so far is the
	// answer. Default 50 ms.
	routing time.Duration
	// Hubs are the mints that a route may go through, besides those in which pump quotes its
	// tokens. For each hub a quote reads two more pairs. Default nil: wrapped SOL, and up to three
	// mints that are computed from the depth of the held pools; as long as there are none, USDC.
	Hubs []pubkey.Key
	// Market says how long what was read over JSON-RPC is used.
	Market market.Config
	// venues that are quoted. Default all.
	venues venue.List
	// terms of trust.
	terms trust.Terms
}

func (c Config) withDefaults() Config {
	c.unitPrice = cmp.Or(c.unitPrice, 10_000)
	c.maxInFlight = cmp.Or(max(c.maxInFlight, 0), 512)
	c.timeout = cmp.Or(max(c.timeout, 0), 10*time.Second)
	c.stopTimeout = cmp.Or(max(c.stopTimeout, 0), 10*time.Second)
	c.slot = cmp.Or(max(c.slot, 0), slottime.Default)
	c.heartbeat = cmp.Or(max(c.heartbeat, 0), 10*time.Second)
	c.routing = cmp.Or(max(c.routing, 0), 50*time.Millisecond)
	if c.venues == nil {
		c.venues = all.Venues()
	}
	return c
}

// RPC is what the API asks of a node: *solana.Client.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (uint64, []*solana.Account, error)
	Call(ctx context.Context, method string, params []any, result any) error
}

// Sender sends transactions: *solana.Client.
type Sender interface {
	Call(ctx context.Context, method string, params []any, result any) error
}

// Deps are the collaborators.
type Deps struct {
	// Keys are the valid keys, of which those for the product swap count. Required. An empty store
	// opens the API on loopback (see keys.NewGate).
	Keys keys.Store
	// RPC may be nil: then every quote is answered with 503 and how to configure one. The client
	// should give up after some seconds: a late quote is worthless. For none pass a true nil, not a
	// nil pointer in the interface.
	RPC RPC
	// Sender sends the transactions of POST /api/v2/send; nil: RPC does.
	Sender Sender
	// Lister lists all pools of all venues at the start; it must give a call minutes. It needs a
	// stream. Nil: each pair is listed when somebody asks for it.
	Lister market.Lister
	// Logger and Registerer may be nil. Now is the wall clock; default time.Now.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Tracer may be nil: then there are no spans.
	Tracer *tracing.Tracer
	Now    func() time.Time
	// Unknowns counts fields and statuses from the stream of pools that our code does not know; may
	// be nil.
	Unknowns *unknowns.Book
}

// Server is the API.
type Server struct {
	*listen.Bound
	cfg    Config
	deps   Deps
	gate   *keys.Gate
	market *market.Market // nil without RPC
	held   *state.Feed    // the pools' state from the stream; nil without one
	guard  *guard.Guard
	trust  *trust.Trust // nil without RPC
	tables *lookup.Book // nil without RPC
	// quotedIn tells the mints in which pump's coins are quoted; nil without RPC.
	quotedIn *quotedIn
	lastRent atomic.Pointer[venue.Rent]
	// computed are the hubs if none are configured.
	computed atomic.Pointer[[]venue.Key]
	app      *fiber.App
	turns    *turns
	origins  *origins.Set
	metrics  *metrics
	// covered are the names of the venues that are quoted.
	covered map[string]bool
	// arrayed are the names of the covered venues whose pools keep their liquidity in arrays.
	arrayed map[string]bool
	openapi []byte
	// requests counts the requests in flight of each client, streams the open streams.
	requests, streams *shares.Counts
	// stopping is closed when the API is told to stop.
	stopping chan struct{}
}

// Limits of a request's head and body. A query with all parameters has some 1,000 bytes; a whole
// quote, which a client may post to /api/v2/swap, has some 6,000.
const (
	readBuffer = 8 << 10
	bodyLimit  = 32 << 10
)

// maxConnectionsOfOne bounds the open connections of one client address.
const maxConnectionsOfOne = 1000

// maxConnections bounds the open connections of all clients: most of them wait for their next
// request.
func (c Config) maxConnections() int { return 8 * c.maxInFlight }

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	cfg = cfg.withDefaults()
	if deps.Keys == nil {
		return nil, errors.New("swap: a key store is required")
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	gate, err := keys.NewGate(deps.Keys, keys.Swap, cfg.Addr, "--swap-keys")
	if err != nil {
		return nil, fmt.Errorf("swap: %w", err)
	}
	s := &Server{
		cfg: cfg, deps: deps, gate: gate, requests: shares.New(shares.Dynamic(cfg.maxInFlight, tooMany(), tooManyOfOne())), streams: shares.New(streamLimit),
		turns: newTurns(runtime.GOMAXPROCS(0)), Bound: listen.NewBound(), covered: map[string]bool{}, arrayed: map[string]bool{}, stopping: make(chan struct{}),
	}
	s.computed.Store(&[]venue.Key{mint.WrappedSOL, usdc})
	for _, v := range cfg.venues {
		s.covered[v.Name()] = true
		_, s.arrayed[v.Name()] = v.(venue.Arrayed)
	}
	if s.guard, err = guard.New(cfg.venues, guard.Deps{Logger: deps.Logger, Registerer: deps.Registerer, Now: deps.Now}); err != nil {
		return nil, fmt.Errorf("swap: %w", err)
	}
	if s.openapi, err = openapi.SwapJSON(); err != nil {
		return nil, fmt.Errorf("swap: %w", err)
	}
	if s.origins, err = origins.Parse(cfg.AllowedOrigins); err != nil {
		return nil, fmt.Errorf("swap: allowed origin %w", err)
	}
	if deps.RPC != nil {
		if err := s.openMarket(); err != nil {
			return nil, fmt.Errorf("swap: %w", err)
		}
	}
	// newMetrics comes after guard and trust, because its gauges read them.
	if s.metrics, err = newMetrics(deps.Registerer, s); err != nil {
		return nil, fmt.Errorf("swap: %w", err)
	}
	s.app = fiber.New(fiber.Config{
		AppName: "mintlake-swap", DisableStartupMessage: true, Immutable: true, CaseSensitive: true, StrictRouting: true,
		BodyLimit: bodyLimit, ReadBufferSize: readBuffer, Concurrency: cfg.maxConnections() + listen.Reserved,
		ReadTimeout: 10 * time.Second, WriteTimeout: cfg.timeout + 10*time.Second, IdleTimeout: 75 * time.Second,
		// Fiber would answer a method that it does not know with a text of its own. QUERY is a
		// standard method that is missing in DefaultMethods.
		RequestMethods: slices.Concat(fiber.DefaultMethods, []string{"QUERY"}),
		ErrorHandler: func(c *fiber.Ctx, err error) error {
			// The client may still send what was refused. If the connection were closed at once, it
			// might not get the answer.
			if open, ok := c.Context().Conn().(*listen.LingeringConn); ok {
				open.Linger()
			}
			s.writeError(c, routeOther, err)
			return nil
		},
	})
	s.addRoutes()
	return s, nil
}

// mostKnown is how many pools trust may choose from when it looks for swaps that no stream brings.
const mostKnown = 1024

// openMarket makes the trust and the market, and the feed if a stream is configured. Without a
// stream, all state is read by RPC.
func (s *Server) openMarket() (err error) {
	watch := s.cfg.Trust
	watch.Endpoint, watch.Token = s.cfg.State.Endpoint, s.cfg.State.Token
	if s.trust, err = trust.New(watch, trust.Deps{
		RPC: s.deps.RPC, Venues: s.guard.Venues(nil), Logger: s.deps.Logger, Registerer: s.deps.Registerer, Now: s.deps.Now, Terms: s.cfg.terms,
		Pools: func() []trust.Pool { return s.market.Known(mostKnown) },
	}); err != nil {
		return err
	}
	d := market.Deps{RPC: s.deps.RPC, Venues: s.guard.Venues(s.trust.Gate), Logger: s.deps.Logger, Registerer: s.deps.Registerer, Now: s.deps.Now}
	if s.cfg.State.Endpoint != "" {
		if s.deps.Lister != nil {
			d.Directory = &market.Directory{}
		}
		if s.held, err = state.New(s.cfg.State, state.Deps{
			RPC: d.RPC, Venues: d.Venues, Lister: s.deps.Lister, Directory: d.Directory, Logger: d.Logger, Registerer: d.Registerer, Now: d.Now, Unknowns: s.deps.Unknowns,
			Observe: func(slot uint64) { s.market.Observe(slot) },
			Steps:   s.trust.Step, Watched: s.trust.Watched(), Wrote: s.trust.Wrote, Live: s.trust.Live,
		}); err != nil {
			return err
		}
		d.Held = s.held
	}
	if s.quotedIn, err = newQuotedIn(d.RPC, d.Logger, d.Now); err != nil {
		return err
	}
	if s.tables, err = lookup.New(s.cfg.LookupTables, lookup.Deps{RPC: d.RPC, Logger: d.Logger, Registerer: d.Registerer, Now: d.Now}); err != nil {
		return err
	}
	s.market, err = market.New(s.cfg.Market, d)
	return err
}

// Run listens and serves until ctx ends, then lets requests in flight finish for
// Config.stopTimeout. A taken address is an error in one line. Run may be called once.
func (s *Server) Run(ctx context.Context) error {
	listener, err := listen.TCP(ctx, s.cfg.Addr, "--swap-addr")
	if err != nil {
		return fmt.Errorf("swap: %w", err)
	}
	s.Announce(listener.Addr())
	s.deps.Logger.Info("swap api listens", "addr", s.Addr(), "open", s.gate.Open())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { s.gate.Run(ctx); return nil })
	group.Go(func() error { return s.serve(ctx, listener) })
	if s.deps.RPC != nil {
		group.Go(func() error { s.readRents(ctx); return nil })
	}
	if s.held != nil {
		group.Go(func() error { return s.held.Run(ctx) })
		group.Go(func() error { s.findHubs(ctx); return nil })
	}
	if s.trust != nil {
		group.Go(func() error { return s.trust.Run(ctx) })
	}
	return group.Wait()
}

// serve answers requests until ctx ends, then waits for those in flight.
func (s *Server) serve(ctx context.Context, listener net.Listener) error {
	failed := make(chan error, 1)
	bounded := listen.Limited(framing.Listener(listener), listen.Limits{
		Most: s.cfg.maxConnections(), MostOfOne: maxConnectionsOfOne, Proxies: s.cfg.TrustedProxies, Body: tooManyConnections,
		Refused: func(status int) { s.metrics.requests.WithLabelValues(routeOther, strconv.Itoa(status)).Inc() },
	})
	go func() { failed <- s.app.Listener(listen.Lingering(bounded)) }()
	select {
	case err := <-failed:
		return fmt.Errorf("swap: serve: %w", err)
	case <-ctx.Done():
	}
	close(s.stopping)
	if err := s.app.ShutdownWithTimeout(s.cfg.stopTimeout); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		s.deps.Logger.Warn("swap api did not stop cleanly", "err", err)
	}
	_ = listener.Close() // a shutdown before the first accept leaves it open
	return nil
}
