// Package admin is the HTTP API by which an operator manages API keys. Commands such as `mintlake
// keys create` call it.
//
// In: requests with the admin token. Out: changes on the topic gateway.keys.v1, through
// keys.Issuer; descriptions of keys.
// Guarantees: it listens on loopback only, and accepts only loopback host names and those that the
// operator lists. The token is compared in constant time, and wrong tokens are throttled. Bodies,
// connections and times are bounded. A key in clear text is only in the answer to the request that
// made it, and in no log.
package admin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/access/hosts"
	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/listen"
	"github.com/mintlake/mintlake/internal/framing"
)

// MinToken is the shortest admin token, in bytes. Wrong tokens are throttled to one a second, so
// nobody can guess a random token of this length.
const MinToken = 16

// Config of the API.
type Config struct {
	// Addr to listen on, host:port; the host must be a loopback address. Required.
	Addr string
	// Token that requests carry. Required, at least MinToken bytes.
	Token string
	// AllowedHosts are the names that the Host header of a request may have besides loopback names:
	// see access/hosts. An operator needs them behind a proxy that passes the client's Host header
	// on.
	AllowedHosts []string
	// wrongTokens is the number of wrong tokens that use up the token bucket, default 10. While it
	// is empty, each request that presents a token gets status 429. The bucket allows one more
	// token each wrongTokenEvery, default 1 s.
	wrongTokens     int
	wrongTokenEvery time.Duration
}

// Issuer changes keys. *keys.Issuer implements it. actor names who asks for the change, for the log
// of changes. changed is false if there was nothing to change.
type Issuer interface {
	Create(ctx context.Context, actor string, product keys.Product, name, environment string, rules keys.Rules) (string, *keys.Key, error)
	Restrict(ctx context.Context, actor string, product keys.Product, name string, edit func(keys.Rules) (keys.Rules, error)) (key *keys.Key, changed bool, err error)
	Rotate(ctx context.Context, actor string, product keys.Product, name string, grace time.Duration) (string, *keys.Key, error)
	Revoke(ctx context.Context, actor string, product keys.Product, name, reason string) (key *keys.Key, changed bool, err error)
}

// Deps are the collaborators.
type Deps struct {
	// Issuer, Live and Configured are required. Live has the issued keys, Configured the keys of
	// the configuration.
	Issuer     Issuer
	Live       *keys.Live
	Configured *keys.Static
	// DeadLetters is required.
	DeadLetters DeadLetters
	// Usage may be nil if no ClickHouse is configured.
	Usage Usage
	// Pages serves the dashboard, at / and /dashboard/. It may be nil.
	Pages http.Handler
	// Gatherer has the metrics of the process. Streams describes the transaction stream that the
	// process serves; it returns nil if the process serves none. Both may be nil.
	Gatherer prometheus.Gatherer
	Streams  func() *StreamAnswer
	// Logger may be nil.
	Logger *slog.Logger
}

// Server is the API.
type Server struct {
	*listen.Bound
	cfg   Config
	deps  Deps
	token [sha256.Size]byte // hash of Config.Token
	tries *tryBucket
	// reading lets only one request at a time read the whole log of changes.
	reading *semaphore.Weighted
	guard   *hosts.Guard // set by Run, once the address is known
	// sessions of browsers
	sessions *sessions
	handler  http.Handler
}

// maxBody bounds a request body in bytes, maxConnections the open connections. stopPatience is how
// long requests in flight may take when Run ends.
const (
	maxBody        = 64 << 10
	maxConnections = 64
	stopPatience   = 5 * time.Second
)

// New checks the configuration; it does no I/O.
func New(cfg Config, deps Deps) (*Server, error) {
	if deps.Issuer == nil || deps.Live == nil || deps.Configured == nil || deps.DeadLetters == nil {
		return nil, errors.New("admin API: an issuer, the stores of keys and dead letters are required")
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil || !keys.LoopbackHost(host) {
		return nil, fmt.Errorf("admin API: address %q: must be host:port of a loopback address, like 127.0.0.1:8090", cfg.Addr)
	}
	if len(cfg.Token) < MinToken {
		return nil, fmt.Errorf("admin API: the token must have at least %d characters", MinToken)
	}
	cfg.wrongTokens = cmp.Or(max(cfg.wrongTokens, 0), 10)
	cfg.wrongTokenEvery = cmp.Or(max(cfg.wrongTokenEvery, 0), time.Second)
	s := &Server{
		cfg: cfg, deps: deps, token: sha256.Sum256([]byte(cfg.Token)), Bound: listen.NewBound(), reading: semaphore.NewWeighted(1), sessions: newSessions(),
		tries: &tryBucket{most: float64(cfg.wrongTokens), left: float64(cfg.wrongTokens), every: cfg.wrongTokenEvery},
	}
	s.handler = s.routes()
	return s, nil
}

// Run listens and serves until ctx ends. If the address is in use, the error says so in one line.
// Run may be called once.
func (s *Server) Run(ctx context.Context) error {
	listener, err := listen.TCP(ctx, s.cfg.Addr, "--admin-addr")
	if err != nil {
		return fmt.Errorf("admin API: %w", err)
	}
	s.guard = hosts.New(listener.Addr(), s.cfg.Addr, s.cfg.AllowedHosts)
	server := &http.Server{
		Handler: s.guard.Wrap(s.handler), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(s.deps.Logger.Handler(), slog.LevelDebug),
	}
	s.Announce(listener.Addr())
	s.deps.Logger.Info("admin api listens", "addr", s.Addr())
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
		defer cancel()
		if server.Shutdown(grace) != nil {
			_ = server.Close()
		}
	})
	bounded := listen.Limited(framing.Listener(listener), listen.Limits{Most: maxConnections, MostOfOne: maxConnections})
	if err := server.Serve(bounded); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("admin API: serve: %w", err)
	}
	<-stopped
	return nil
}
