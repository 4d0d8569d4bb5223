// Package jsonrpc is the public JSON-RPC endpoint: it checks a caller's key and forwards calls to
// JSON-RPC servers of the chain.
//
// In: POST / with a JSON-RPC 2.0 call or batch; the key in the query (apiKey) or in the header
// X-API-KEY. WebSocket handshakes on /, here and at the port after it, where Solana's clients look
// for them.
// Out: the upstream's answer, streamed; the answer of one of Deps.Local; or a JSON-RPC error with a
// fitting HTTP status. WebSockets whose host, origin and key were checked are passed to
// Deps.Subscriptions.
// Guarantees: each call is encoded anew from what was checked, so no key, header or unknown member
// of the client's request reaches an upstream. Bodies, batches, time, connections and calls in
// flight are bounded. A call that fails at one upstream is tried at the others, unless its method
// must not be executed twice: if the answer to such a call is lost, its outcome is reported as
// unknown, never as failed. Within a session no answer is from a lower slot than an earlier one,
// whichever upstream it comes from. Neither keys nor upstream URLs are logged or sent to clients.
//
// It uses net/http and not fiber, the project's HTTP library, for two reasons. An answer can be
// hundreds of megabytes (getProgramAccounts) and must be streamed. A client that hangs up must end
// the call at the upstream, and fasthttp does not report when that happens.
package jsonrpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/access/origins"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/access/shares"
	"github.com/mintlake/mintlake/gateway/message"
	"github.com/mintlake/mintlake/internal/framing"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/solana/slottime"
)

// rebroadcastInterval is the time between two sends of a transaction that is sent again.
const rebroadcastInterval = 2 * time.Second

// Config of the endpoint. Zero values take the defaults named at each field.
type Config struct {
	// Addr to listen on, host:port; port 0 takes a free one. Required.
	Addr string
	// WebSocketAddr is a second address, for WebSockets alone. If it is in use, Run fails. If
	// WebSocketAddr is empty, the second address is the port after Addr's on the same host. If that
	// port is in use, Run only logs a warning and there is no second address. With port 0 in Addr
	// there is none, either. WebSocketsOff turns the second address off.
	WebSocketAddr string
	// Upstreams are http(s) URLs of JSON-RPC servers, the preferred one first. Without any, every
	// call is answered with an error that says what to set.
	Upstreams []string
	// AllowedOrigins are the web origins whose pages may call: see origins.Parse. Default none:
	// keys belong on servers.
	AllowedOrigins []string
	// TrustedProxies are the proxies whose X-Forwarded-For is believed. It is needed for keys that
	// only certain addresses may use. Default none.
	TrustedProxies proxies.List
	// maxBodyBytes bounds a request body. Default 256 KiB.
	maxBodyBytes int64
	// maxBatch bounds the calls of one batch. Default 100.
	maxBatch int
	// maxConcurrent bounds the requests in flight, default 512. One more request is refused with
	// status 503. A client may have as many in flight as places are left free, so a client alone
	// gets half of them. One more request of that client is refused with status 429.
	maxConcurrent int
	// maxConnections bounds the open client connections of each of the two addresses that it
	// listens on, maxConnectionsPerAddress those of one client address; any more are refused. Only
	// maxConnections applies to trusted proxies. Defaults 4,096 and 1,000.
	maxConnections, maxConnectionsPerAddress int
	// maxAnswerBytes bounds an upstream's answer. Default 1 GiB.
	maxAnswerBytes int64
	// attemptTimeout is how long one upstream may take to begin its answer. Default 15 s.
	attemptTimeout time.Duration
	// timeout bounds a request as a whole, the answer's transfer included. Default 60 s.
	timeout time.Duration
	// probeInterval is how long a circuit breaker stays open before its upstream is polled again,
	// and how often all upstreams are polled while there are no calls. Default 5 s.
	probeInterval time.Duration
	// PollInterval is how often each upstream is polled for its health and slots while there are
	// calls. Default slottime.Default, a slot.
	PollInterval time.Duration
	// pollTimeout bounds a poll. Default 2 s.
	pollTimeout time.Duration
	// MaxLagSlots is how many slots an upstream may be below the median slot of all upstreams. An
	// upstream that is further below is tried only after the others. Default: the slots of ten
	// seconds, at the slot time that is measured from the upstreams' slots.
	MaxLagSlots int
	// HedgeShare is the part of all reads that may also be sent to a second upstream because the
	// first is slow. 0 means none.
	HedgeShare float64
	// SendUpstreams is how many upstreams a transaction is sent to at once. Default 1.
	SendUpstreams int
	// ShareReads lets identical reads in flight share an upstream's answer.
	ShareReads bool
	// CacheBytes bounds the cache of answers that cannot change. 0 means no cache.
	CacheBytes int
	// stopTimeout is how long requests in flight may take when the endpoint stops. Default 10 s.
	stopTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.attemptTimeout = cmp.Or(max(c.attemptTimeout, 0), 15*time.Second)
	c.timeout = cmp.Or(max(c.timeout, 0), 60*time.Second)
	c.probeInterval = cmp.Or(max(c.probeInterval, 0), 5*time.Second)
	c.stopTimeout = cmp.Or(max(c.stopTimeout, 0), 10*time.Second)
	c.maxBatch = cmp.Or(max(c.maxBatch, 0), 100)
	c.maxConcurrent = cmp.Or(max(c.maxConcurrent, 0), 512)
	c.maxConnections = cmp.Or(max(c.maxConnections, 0), 4096)
	c.maxConnectionsPerAddress = cmp.Or(max(c.maxConnectionsPerAddress, 0), 1000)
	c.maxBodyBytes = cmp.Or(max(c.maxBodyBytes, 0), 256<<10)
	c.maxAnswerBytes = cmp.Or(max(c.maxAnswerBytes, 0), 1<<30)
	c.PollInterval = cmp.Or(max(c.PollInterval, 0), slottime.Default)
	c.pollTimeout = cmp.Or(max(c.pollTimeout, 0), 2*time.Second)
	c.MaxLagSlots = max(c.MaxLagSlots, 0)
	c.SendUpstreams = cmp.Or(max(c.SendUpstreams, 0), 1)
	return c
}

// WebSocketsOff is the WebSocketAddr of an endpoint without a second address.
const WebSocketsOff = "off"

// Subscriptions serves a WebSocket whose host, origin and key were checked. *subscriptions.Server
// implements it. client identifies the client. lease says which calls the key may make, and when it
// ends.
type Subscriptions interface {
	Serve(w http.ResponseWriter, r *http.Request, client string, lease *keys.Lease)
}

// Deps are the collaborators.
type Deps struct {
	// Keys are the valid keys; those of the product rpc open the endpoint. Required. With an empty
	// store the endpoint is open to all, but only on loopback (see keys.NewGate).
	Keys keys.Store
	// Subscriptions serves WebSockets. If it is nil, handshakes are refused and there is no second
	// address.
	Subscriptions Subscriptions
	// Local answers methods from Mintlake's own data, before any upstream is asked. If several
	// elements have a method, the first of them answers it.
	Local []Local
	// Transport sends the requests to upstreams. Default: a connection pool of the endpoint's own.
	Transport http.RoundTripper
	// OtherChain reports whether the upstream with this URL serves another chain than Mintlake's
	// data is from. Such an upstream gets no calls. If OtherChain is nil, every upstream gets
	// calls.
	OtherChain func(url string) bool
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Tracer may be nil: then there are no spans.
	Tracer *tracing.Tracer
}

// Gateway is the endpoint.
type Gateway struct {
	*listen.Bound
	cfg   Config
	gate  *keys.Gate
	pool  *pool
	local map[string]Local // by method
	// localBytes bounds the long answers of local that clients have not read yet.
	localBytes *semaphore.Weighted
	transport  http.RoundTripper // to the upstreams
	calls      *shares.Counts    // requests in flight
	origins    *origins.Set
	log        *slog.Logger
	metrics    *metrics
	tracer     *tracing.Tracer
	// sockets serves WebSockets; nil if they are not served. socketsAt is the second address, where
	// only WebSockets are served; empty if there is none. It is set before Ready is closed.
	sockets   Subscriptions
	socketsAt string

	// afterwards bounds the transactions that are still sent to other upstreams after one has
	// accepted them.
	afterwards *semaphore.Weighted
	// lastCall is when upstreams were last needed, for a request or a rebroadcast, in Unix
	// nanoseconds.
	lastCall     atomic.Int64
	sessions     *sessions
	rebroadcasts *rebroadcasts
	hedges       budget
	// latencies has a window of the times of recent reads for each known method. Unknown methods
	// share the window of other.
	latencies map[string]*window
	flights   flights
	cache     *cache // nil if there is none
	// stopped is canceled when Run ends.
	stopped context.Context
	stop    context.CancelFunc
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Gateway, error) {
	cfg = cfg.withDefaults()
	if deps.Keys == nil {
		return nil, errors.New("rpc gateway: a key store is required")
	}
	gate, err := newGate(cfg, deps)
	if err != nil {
		return nil, fmt.Errorf("rpc gateway: %w", err)
	}
	g := &Gateway{
		cfg: cfg, gate: gate, log: deps.Logger, Bound: listen.NewBound(), sockets: deps.Subscriptions, tracer: deps.Tracer,
		calls: shares.New(shares.Dynamic(cfg.maxConcurrent, errBusy, errBusyClient)), afterwards: semaphore.NewWeighted(int64(cfg.maxConcurrent)),
		sessions: newSessions(), rebroadcasts: newRebroadcasts(), hedges: budget{share: cfg.HedgeShare}, latencies: newLatencies(), flights: flights{all: map[string]*flight{}},
	}
	g.log = cmp.Or(g.log, slog.New(slog.DiscardHandler))
	g.local, g.localBytes = byMethod(deps.Local), semaphore.NewWeighted(localBytes)
	g.stopped, g.stop = context.WithCancel(context.Background())
	if cfg.CacheBytes > 0 {
		g.cache = newCache(cfg.CacheBytes)
	}
	if g.pool, err = newPool(cfg, deps.OtherChain, g.log); err != nil {
		return nil, fmt.Errorf("rpc gateway: %w", err)
	}
	if g.origins, err = origins.Parse(cfg.AllowedOrigins); err != nil {
		return nil, fmt.Errorf("rpc gateway: allowed origin %w", err)
	}
	g.transport = deps.Transport
	if g.transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost, transport.MaxIdleConns = cfg.maxConcurrent, 0
		g.transport = transport
	}
	if g.metrics, err = newMetrics(deps.Registerer, g); err != nil {
		return nil, fmt.Errorf("rpc gateway: %w", err)
	}
	return g, nil
}

// Run listens and serves until ctx ends, then gives requests in flight stopTimeout to finish. If
// the address is in use, the error says so in one line. Run may be called once.
func (g *Gateway) Run(ctx context.Context) error {
	listener, err := listen.TCP(ctx, g.cfg.Addr, "--rpc-addr")
	if err != nil {
		return fmt.Errorf("rpc gateway: %w", err)
	}
	second, err := g.listenWebSockets(ctx, listener.Addr())
	if err != nil {
		_ = listener.Close()
		return fmt.Errorf("rpc gateway: %w", err)
	}
	g.Announce(listener.Addr())
	g.log.Info("rpc gateway listens", "addr", g.Addr(), "websockets", g.WebSocketAddr(), "upstreams", len(g.pool.upstreams), "open", g.gate.Open())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { g.poll(ctx); return nil })
	group.Go(func() error { g.rebroadcastAll(ctx); return nil })
	group.Go(func() error { g.gate.Run(ctx); return nil })
	g.serveOn(ctx, group, listener, g)
	if second != nil {
		g.serveOn(ctx, group, second, http.HandlerFunc(g.serveWebSocketsOnly))
	}
	err = group.Wait()
	g.stop()
	if pooled, ok := g.transport.(interface{ CloseIdleConnections() }); ok {
		pooled.CloseIdleConnections()
	}
	return err
}

// tooManyConnections returns the body of the answer to a connection that is refused.
func tooManyConnections(status int, text string) []byte {
	code := message.CodeUnavailable
	if status == http.StatusTooManyRequests {
		code = codeTooMany
	}
	return message.Failure(nil, &message.Error{Code: code, Message: text})
}

// serveOn serves one listener until ctx ends, then gives its requests stopTimeout to finish.
func (g *Gateway) serveOn(ctx context.Context, group *errgroup.Group, listener net.Listener, handler http.Handler) {
	// WriteTimeout runs from the end of the headers, cfg.timeout from the end of the body, up to 15
	// s later. So WriteTimeout must be longer.
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, IdleTimeout: 75 * time.Second,
		WriteTimeout: g.cfg.timeout + 20*time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
	}
	listener = listen.Limited(framing.Listener(listener), listen.Limits{
		Most: g.cfg.maxConnections, MostOfOne: g.cfg.maxConnectionsPerAddress, Proxies: g.cfg.TrustedProxies, Body: tooManyConnections,
		Refused: func(int) { g.metrics.requests.WithLabelValues("connections").Inc() },
	})
	group.Go(func() error {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("rpc gateway: serve: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.cfg.stopTimeout)
		defer cancel()
		if err := server.Shutdown(grace); err != nil {
			_ = server.Close()
		}
		return nil
	})
}
