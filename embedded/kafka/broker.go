package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/meter"
)

// Config of the embedded broker.
type Config struct {
	// DataDir is the folder of this broker's data. It is created if it is missing, and must belong
	// to this broker alone. Required.
	DataDir string
	// Addr is host:port to listen on. The host must be a loopback address or "localhost"; port 0
	// takes a free one. Default "127.0.0.1:9092".
	Addr string
	// retentionInterval is the time between two rounds of deleting expired records. Default five
	// minutes, as Apache Kafka's log.retention.check.interval.ms.
	retentionInterval time.Duration
	// stateInterval is the time between two updates of the state file (see segments.Tracker). If
	// bytes are missing at the end of the log at the next start, the state shows whether they were
	// on disk before. If they were, the log is damaged; otherwise a kill came before they were
	// written. Default 5 s.
	stateInterval time.Duration
	// Repairing lets the broker start although a repair is not done, so that the repair can write
	// records.
	Repairing bool
}

// Deps are the broker's collaborators.
type Deps struct {
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: then the metrics go nowhere.
	Registerer prometheus.Registerer
	// Meter shows how far the check of the log is, before the broker serves. It may be nil.
	Meter meter.Meter
}

// Broker is one embedded broker. Run starts it; it can run only once.
type Broker struct {
	cfg     Config
	logger  *slog.Logger
	metrics *metrics
	meter   meter.Meter

	ready   chan struct{}
	stopped chan struct{}

	syncFile func(path string) error // replaces syncPath in tests; else nil

	mu   sync.Mutex
	ran  bool
	addr string
	err  error

	warn struct {
		sync.Mutex
		last       time.Time // when the last warning was logged
		suppressed int       // warnings since then that were not logged
	}
}

// offsetsRetentionMinutes keeps committed offsets for ten years. Apache Kafka's seven days would
// make a machine that was switched off for longer read every topic from its start.
const offsetsRetentionMinutes = "5256000"

// New checks the configuration and registers the metrics. It returns a *StartError with
// ErrNotLoopback for an address that other machines could reach.
func New(cfg Config, deps Deps) (*Broker, error) {
	if cfg.DataDir == "" {
		return nil, errors.New("embedded kafka: data folder is required")
	}
	cfg.Addr = cmp.Or(cfg.Addr, "127.0.0.1:9092")
	cfg.retentionInterval = cmp.Or(max(cfg.retentionInterval, 0), 5*time.Minute)
	cfg.stateInterval = cmp.Or(max(cfg.stateInterval, 0), 5*time.Second)
	if err := checkLoopback(cfg.Addr); err != nil {
		return nil, err
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, err
	}
	return &Broker{cfg: cfg, logger: deps.Logger, metrics: m, meter: deps.Meter, ready: make(chan struct{}), stopped: make(chan struct{})}, nil
}

// checkLoopback returns an error unless addr is host:port with a loopback address.
func checkLoopback(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("embedded kafka: address %q: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if host == "localhost" || (ip != nil && ip.IsLoopback()) {
		return nil
	}
	return &StartError{Reason: ErrNotLoopback, Where: addr,
		Do: "the embedded broker has no authentication: listen on 127.0.0.1, or run a Kafka cluster and name it with --kafka-brokers"}
}

// Run serves until ctx ends, then closes the data cleanly and returns nil. It returns an error if
// the broker cannot start, if a sync fails, or if a closed segment is damaged. If the operator can
// remove the cause, the error is a *StartError. A Broker runs once.
func (b *Broker) Run(ctx context.Context) error {
	b.mu.Lock()
	if b.ran {
		b.mu.Unlock()
		return errors.New("embedded kafka: run: already ran")
	}
	b.ran = true
	b.mu.Unlock()

	err := b.run(ctx)
	b.mu.Lock()
	b.err = err
	b.mu.Unlock()
	close(b.stopped)
	return err
}

// run owns the data folder, checks the log, and serves until ctx ends, a sync fails, or
// verifyClosed finds damage.
func (b *Broker) run(ctx context.Context) error {
	dir, err := openDataDir(b.cfg.DataDir)
	if err != nil {
		return err
	}
	defer dir.close()
	tracker, report, err := b.checkLog(dir)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	durable := newSyncer(dir.broker())
	durable.broken = func(err error) { stop(fmt.Errorf("embedded kafka: %w: %w", errSync, err)) }
	if b.syncFile != nil {
		durable.sync = b.syncFile
	}
	listener, err := b.listen(ctx, durable)
	if err != nil {
		return err
	}
	cluster, err := b.newCluster(dir, listener, tracker)
	if err != nil {
		_ = listener.Close()
		return err
	}
	var tracking sync.WaitGroup
	tracking.Go(func() { b.trackLog(ctx, tracker) })
	tracking.Go(func() {
		if err := b.verifyClosed(ctx, dir, report, tracker); err != nil {
			stop(fmt.Errorf("%w: %w", errVerify, err))
		}
	})
	defer func() {
		cluster.Close()
		tracking.Wait()
		if err := b.reportDeleted(tracker.Stop()); err != nil {
			b.logger.Warn("embedded kafka notes what is on disk", "ok", false, "err", err)
		}
	}()

	cluster.ApplyRetention() // removes what expired while no broker ran, before Ready is closed
	b.mu.Lock()
	b.addr = listener.Addr().String()
	b.mu.Unlock()
	close(b.ready)
	b.metrics.up.Set(1)
	defer b.metrics.up.Set(0)
	b.logger.Info("embedded kafka serves", "addr", listener.Addr().String(), "data_dir", b.cfg.DataDir)

	b.keepRetention(ctx, cluster)
	if err := context.Cause(ctx); errors.Is(err, errSync) || errors.Is(err, errVerify) {
		return err
	}
	return nil
}

// errSync ends the broker after a failed fsync: it must not acknowledge what is not on disk.
var errSync = errors.New("the disk refused to keep what was written; look at its state before the next start")

// errVerify ends the broker when a closed segment is damaged or cannot be read: then the log is not
// whole, and only a start after a repair may serve it.
var errVerify = errors.New("the check of closed segments ended the broker")

// keepRetention deletes expired records every retentionInterval until ctx ends. kfake's own timer
// starts only when a topic is created or altered, so after a restart nothing would ever expire.
func (b *Broker) keepRetention(ctx context.Context, cluster *kfake.Cluster) {
	ticker := time.NewTicker(b.cfg.retentionInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			cluster.ApplyRetention()
		}
	}
}

// listen opens the listener with the guard. The guard lets no connection in yet.
func (b *Broker) listen(ctx context.Context, durable *syncer) (*guardListener, error) {
	var lc net.ListenConfig
	inner, err := lc.Listen(ctx, "tcp", b.cfg.Addr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, &StartError{Reason: ErrAddrInUse, Where: b.cfg.Addr, Cause: err,
				Do: "stop the program that listens there, or choose another --kafka-addr (port 0 takes a free one)"}
		}
		return nil, fmt.Errorf("embedded kafka: listen: %w", err)
	}
	return newGuardListener(inner, guardRules{
		maxFrame: maxFrameBytes, rejected: b.reject, unsupported: b.unsupported, durable: durable,
	}), nil
}

func (b *Broker) unsupported(key int16, remote net.Addr) {
	b.metrics.unsupported.Inc()
	b.logger.Debug("kafka request is not supported", "key", key, "remote", remote.String())
}

func (b *Broker) reject(reason error, remote net.Addr) {
	b.metrics.rejected.WithLabelValues(reasonLabel(reason)).Inc()
	b.logger.Warn("kafka request refused", "err", reason, "remote", remote.String())
}

// newCluster opens the data folder with kfake, sets up the rules for topics, and lets connections
// in.
func (b *Broker) newCluster(dir *dataDir, listener *guardListener, tracker *segments.Tracker) (*kfake.Cluster, error) {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID(segments.ClusterID(dir.path)),
		kfake.DataDir(dir.broker()),
		// Without SyncWrites: kfake would sync in the loop that serves all requests. The guard
		// holds answers back instead, see syncer.
		kfake.MaxVersions(allowedVersions()),
		kfake.ListenFn(func(string, string) (net.Listener, error) { return listener, nil }),
		// kfake allows session timeouts from 6 s on by default. With 1 s a group member in another
		// process can ask for a faster takeover. Members in this process end with the broker, so
		// they need no takeover.
		kfake.GroupMinSessionTimeout(time.Second),
		kfake.BrokerConfigs(map[string]string{
			"offsets.retention.minutes": offsetsRetentionMinutes,
			"log.retention.ms":          "-1",
			"log.retention.bytes":       "-1",
		}),
		kfake.WithLogger(kfakeLogger{b}),
	)
	if err != nil {
		return nil, fmt.Errorf("embedded kafka: open %s: %w", dir.path, err)
	}
	b.control(cluster, tracker)
	listener.open()
	return cluster, nil
}

// Ready is closed as soon as the broker serves.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// WaitReady returns nil as soon as the broker serves, Run's error if it failed before that, or
// ctx's error.
func (b *Broker) WaitReady(ctx context.Context) error {
	// If the broker was ready and has stopped since, select would choose one of the two at random.
	select {
	case <-b.ready:
		return nil
	default:
	}
	select {
	case <-b.ready:
		return nil
	case <-b.stopped:
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.err == nil {
			return errors.New("embedded kafka: stopped before it was ready")
		}
		return b.err
	case <-ctx.Done():
		return fmt.Errorf("embedded kafka: wait until ready: %w", ctx.Err())
	}
}

// Addr is the host:port that the broker serves on; empty before it is ready.
func (b *Broker) Addr() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.addr
}

// kfakeLogger logs kfake's warnings and errors. Its other messages are for kfake's developers.
type kfakeLogger struct{ b *Broker }

// Logf implements kfake.Logger.
func (l kfakeLogger) Logf(level kfake.LogLevel, format string, args ...any) {
	if level == kfake.LogLevelNone || level > kfake.LogLevelWarn {
		return
	}
	l.b.metrics.warnings.Inc()
	// On a full disk kfake warns at each write, some dozens a second, and our log may be on that
	// disk. So at most one warning is logged every warnEvery.
	l.b.warn.Lock()
	defer l.b.warn.Unlock()
	if time.Since(l.b.warn.last) < warnEvery {
		l.b.warn.suppressed++
		return
	}
	l.b.logger.Warn("embedded kafka warns", "err", fmt.Sprintf(format, args...), "suppressed", l.b.warn.suppressed)
	l.b.warn.last, l.b.warn.suppressed = time.Now(), 0
}

// warnEvery is the least time between two logged warnings of kfake. The metric counts all warnings.
const warnEvery = 10 * time.Second
