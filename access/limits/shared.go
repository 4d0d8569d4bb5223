package limits

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/pause"
)

//go:embed window.lua
var windowScript string

// probeMax bounds the pause between two attempts to reach Redis.
const probeMax = 10 * time.Second

// SharedConfig is the configuration of Shared.
type SharedConfig struct {
	// URL is read by ParseRedis. A Valkey server will do, too.
	URL string
	// CAFile is a PEM file of the authorities that sign the servers' certificates; if it is empty,
	// those of the system are used. Only for rediss://.
	CAFile string
	// Timeout bounds how long asking Redis may delay a request. After that Redis counts as down.
	Timeout time.Duration
	// Retry is the first pause before Redis is tried again; it doubles up to 10 s.
	Retry time.Duration
}

// SharedDeps are the collaborators. Logger and Registerer may be nil.
type SharedDeps struct {
	// Local decides while Redis is down. It also counts each request that Redis let pass, so that
	// it knows this node's part when Redis goes down.
	Local      *Limiter
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Shared keeps the windows of all clients in Redis, for all nodes that use the same one. The
// windows are as exact as Limiter's, by Redis's clock.
//
// Redis is asked once for each request, unless this node already knows that a window is full: by
// its own count, which is a part of Redis's count, or because Redis said until when. So a client
// that is refused costs Redis nothing. If Redis fails or is slower than Timeout, Local decides at
// once, and Run tries Redis until it answers again. Meanwhile, and for one window after, limits
// apply per node.
type Shared struct {
	cfg    SharedConfig
	deps   SharedDeps
	client redis.UniversalClient
	script *redis.Script
	up     atomic.Bool
	down   chan struct{} // has an element after Redis was lost

	upGauge prometheus.Gauge
	errors  prometheus.Counter
	seconds prometheus.Histogram
}

// silent is a logger that keeps go-redis from writing to stderr: Shared logs and counts errors
// itself.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

var silenceOnce sync.Once

// NewShared checks configuration, reads the CA file and registers metrics. It does not wait for
// Redis: until Run has reached it, Local decides.
func NewShared(cfg SharedConfig, deps SharedDeps) (*Shared, error) {
	target, err := ParseRedis(cfg.URL, cfg.CAFile)
	if err != nil {
		return nil, err
	}
	if cfg.Timeout <= 0 || cfg.Retry <= 0 || deps.Local == nil {
		return nil, errors.New("shared rate limits: timeout, retry and a local limiter are required")
	}
	silenceOnce.Do(func() { redis.SetLogger(silent{}) })
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	s := &Shared{cfg: cfg, deps: deps, client: target.open(cfg.Timeout), script: redis.NewScript(windowScript), down: make(chan struct{}, 1)}
	return s, s.register()
}

func (s *Shared) register() error {
	s.upGauge = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_api_shared_limits_up", Help: "1 while rate limits are shared through Redis, 0 while this node counts alone.",
	})
	s.errors = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "mintlake_api_shared_limits_errors_total", Help: "Requests that Redis did not decide in time, so that the node did.",
	})
	s.seconds = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "mintlake_api_shared_limits_seconds", Help: "Time that asking Redis took.",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1},
	})
	return counters.Register(s.deps.Registerer, s.upGauge, s.errors, s.seconds)
}

// Up returns whether Redis decides.
func (s *Shared) Up() bool { return s.up.Load() }

// Take is like Limiter.Take, for all nodes.
func (s *Shared) Take(client string, now time.Time, windows ...int) Decision {
	if !s.up.Load() {
		return s.deps.Local.Take(client, now, windows...)
	}
	if decision, refused := s.deps.Local.refused(client, now, windows); refused {
		return decision
	}
	scopes, count := s.deps.Local.networks.Scopes(client)
	begin := time.Now()
	reply, err := s.ask(scopes[:count], windows)
	s.seconds.Observe(time.Since(begin).Seconds())
	if err != nil {
		s.lost(err)
		return s.deps.Local.Take(client, now, windows...)
	}
	decision := Decision{Allowed: reply.allowed, Remaining: -1}
	for i, state := range reply.windows {
		scope, w := scopes[i/len(windows)], windows[i%len(windows)]
		rule := s.deps.Local.rules[scope.level][w]
		decision.tighten(scope, rule, state)
		if !reply.allowed && state.count >= rule.Limit {
			s.deps.Local.markFull(scope, scopes[count-1].Key, now, w, now.Add(state.reset))
		}
	}
	if reply.allowed {
		s.deps.Local.Take(client, now, windows...)
	}
	return decision
}

// reply is the script's answer. windows are the windows of the first scope, then those of the next
// one, and so on.
type reply struct {
	allowed bool
	windows []windowState
}

// ask lets Redis count a request in the windows of all scopes.
func (s *Shared) ask(scopes []Scope, windows []int) (reply, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Timeout)
	defer cancel()
	var keys []string
	var rules []Rule
	for _, scope := range scopes {
		// The braces are a hash tag: it puts all windows of a client and of its networks on one
		// node of a Redis cluster.
		prefix := "mintlake:limits:{" + scopes[len(scopes)-1].Key + "}:"
		if len(scopes) > 1 {
			prefix += scope.Key + ":"
		}
		for _, w := range windows {
			keys, rules = append(keys, prefix+strconv.Itoa(w)), append(rules, s.deps.Local.rules[scope.level][w])
		}
	}
	return s.run(ctx, keys, rules)
}

// run calls the script in Redis. The script answers with 1 if the request is allowed (else 0),
// Redis's time in microseconds, and for each window the count and the time of the oldest request,
// or -1 if no request is counted.
func (s *Shared) run(ctx context.Context, keys []string, rules []Rule) (reply, error) {
	args := make([]any, 0, 2*len(rules))
	for _, rule := range rules {
		args = append(args, rule.Limit, max(rule.Window.Microseconds(), 1))
	}
	values, err := s.script.Run(ctx, s.client, keys, args...).Int64Slice()
	if err != nil {
		return reply{}, fmt.Errorf("ask redis: %w", err)
	}
	if len(values) != 2+2*len(rules) {
		return reply{}, fmt.Errorf("ask redis: %d numbers", len(values))
	}
	r := reply{allowed: values[0] == 1, windows: make([]windowState, len(rules))}
	for i, rule := range rules {
		count, oldest := values[2+2*i], values[3+2*i]
		r.windows[i].count = int(count)
		if oldest >= 0 {
			r.windows[i].reset = time.Duration(oldest-values[1])*time.Microsecond + rule.Window
		}
	}
	return r, nil
}

// lost switches to the local limiter, and wakes Run. If many requests fail at the same time, only
// the first one logs it.
func (s *Shared) lost(err error) {
	s.errors.Inc()
	if !s.up.CompareAndSwap(true, false) {
		return
	}
	s.upGauge.Set(0)
	s.deps.Logger.Warn("rate limits are not shared: redis does not answer in time", "err", err)
	select {
	case s.down <- struct{}{}:
	default:
	}
}

// Run connects to Redis, and again whenever it was lost, until ctx ends; then it returns nil and
// closes the connections.
func (s *Shared) Run(ctx context.Context) error {
	defer func() { _ = s.client.Close() }()
	for first := true; ctx.Err() == nil; first = false {
		if !s.reach(ctx, first) {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-s.down:
		}
	}
	return nil
}

// reach tries until Redis accepts a write and, in a cluster, each master answers. It returns false
// if ctx ended.
func (s *Shared) reach(ctx context.Context, first bool) bool {
	probe := []Rule{{Limit: 1, Window: time.Millisecond}}
	for wait := s.cfg.Retry; ctx.Err() == nil; wait = min(2*wait, probeMax) {
		attempt, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
		_, err := s.run(attempt, []string{"mintlake:limits:{probe}"}, probe)
		if err == nil {
			err = pingMasters(attempt, s.client)
		}
		cancel()
		if err == nil {
			s.up.Store(true)
			s.upGauge.Set(1)
			s.deps.Logger.Info("rate limits are shared through redis")
			return true
		}
		if first && ctx.Err() == nil { // after the first connection, lost has logged it
			s.deps.Logger.Warn("rate limits are not shared: redis does not answer in time", "err", err)
			first = false
		}
		_ = pause.For(ctx, wait) // the loop ends with ctx
	}
	return false
}
