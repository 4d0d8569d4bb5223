// Package logos decides the status of every token's logo, by fetching it.
//
// In: the topic registry.enrichments.v1 from its beginning: documents and token lists that name a
// logo, operators' decisions, the results of earlier checks. Out: the same topic: one Logo fact a
// check. Guarantees: the topic is all the state there is, so a kill at any moment loses at most the
// fetches under way, and they are made again; a check is written once it is done, and what it says
// holds against what earlier ones said, in whatever order they are read. A failure keeps what is
// known of the bytes that were last good. No host has more requests under way than its limit, and
// one that asks for time gets it.
//
// One process of a cluster runs it (`enrich.logos`): two would converge on the same statuses, and
// fetch everything twice.
package logos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/hostqueue"
	"github.com/mintlake/mintlake/internal/imageload"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Offsets tells where the topic ends. *kafka.Admin is one.
type Offsets interface {
	EndOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error)
}

// Loader fetches and judges images; its errors have a fetch.Class. *imageload.Loader is one.
type Loader interface {
	Load(ctx context.Context, request imageload.Request) (*imageload.Image, error)
}

// Config of a Machine. Zero values take the default.
type Config struct {
	// Workers is how many images are fetched at once. Default 64.
	Workers int
	// PerHost and PerGateway are how many of them from one host, and from IPFS and Arweave each.
	// Default 4 and 16.
	PerHost, perGateway int
	// attempts before a logo is broken, when the failure may pass. Default 3.
	attempts int
	// attemptDelay before the second attempt; four times as long before each next one. Default 2 s.
	attemptDelay time.Duration
	// downPatience is how long a host may be down before that costs its logos attempts. Default 30
	// s.
	downPatience time.Duration
	// Retry is when a broken logo is checked again; twice as long after each further failure, up to
	// MaxRetry. Failures that do not pass by themselves begin at six times as long. Default 10 min
	// and 7 days.
	Retry, MaxRetry time.Duration
	// Recheck is when a good logo is looked at again, four times as long for content that is
	// addressed by its hash. Default 7 days.
	Recheck time.Duration
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 64)
	c.PerHost = cmp.Or(c.PerHost, 4)
	c.perGateway = cmp.Or(c.perGateway, 16)
	c.attempts = cmp.Or(c.attempts, 3)
	c.attemptDelay = cmp.Or(c.attemptDelay, 2*time.Second)
	c.downPatience = cmp.Or(c.downPatience, 30*time.Second)
	c.Retry = cmp.Or(c.Retry, 10*time.Minute)
	c.MaxRetry = cmp.Or(c.MaxRetry, 7*24*time.Hour)
	c.Recheck = cmp.Or(c.Recheck, 7*24*time.Hour)
	return c
}

// Deps are the collaborators of a Machine.
type Deps struct {
	Offsets Offsets
	// OpenTail starts to read schemas.TopicEnrichments at its first record.
	OpenTail func() (kafka.TailReader, error)
	Producer kafka.RecordProducer
	Loader   Loader
	// Host names what a URL is fetched from; URLs of one host share its limit. It is
	// (*fetch.Fetcher).Host.
	Host func(url string) string
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now may be nil: then it is time.Now. It decides when to check, and no fact's order.
	Now func() time.Time
}

// Machine keeps the statuses of all logos.
type Machine struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	table   *table
	queue   *hostqueue.Queue[job]
	// wake says that something may have become due.
	wake chan struct{}
}

// job is one check to make.
type job struct {
	mint pubkey.Key
	due  time.Time
}

// New checks configuration and collaborators and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Machine, error) {
	cfg = cfg.withDefaults()
	if deps.Offsets == nil || deps.OpenTail == nil || deps.Producer == nil || deps.Loader == nil || deps.Host == nil {
		return nil, errors.New("logos: offsets, tail, producer, loader and host are required")
	}
	for key, ok := range map[string]bool{
		"workers": cfg.Workers > 0, "per_host": cfg.PerHost > 0, "per_gateway": cfg.perGateway > 0, "attempts": cfg.attempts > 0,
		"attempt_delay": cfg.attemptDelay > 0, "retry": cfg.Retry > 0, "max_retry": cfg.MaxRetry >= cfg.Retry, "recheck": cfg.Recheck > 0,
	} {
		if !ok {
			return nil, fmt.Errorf("logos: %s must be positive, and max_retry no less than retry", key)
		}
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	m := &Machine{cfg: cfg, deps: deps, table: newTable(), wake: make(chan struct{}, 1)}
	m.queue = hostqueue.New[job](func(host string) int {
		if host == "ipfs" || host == "ar" {
			return cfg.perGateway
		}
		return cfg.PerHost
	})
	var err error
	m.metrics, err = newMetrics(deps.Registerer, m)
	return m, err
}

// Run reads the topic to its end, then checks what is due, until ctx ends; then it returns nil. It
// returns an error when Kafka refuses for good to be written.
func (m *Machine) Run(ctx context.Context) error {
	ends, err := m.ends(ctx)
	if err != nil {
		return stopped(ctx, err)
	}
	group, ctx := errgroup.WithContext(ctx)
	loaded := make(chan struct{})
	group.Go(func() error { return m.follow(ctx, ends, loaded) })
	group.Go(func() error {
		select {
		case <-loaded:
		case <-ctx.Done():
			return ctx.Err()
		}
		m.deps.Logger.Info("logos are loaded", "mints", m.table.size())
		return m.schedule(ctx)
	})
	for range m.cfg.Workers {
		group.Go(func() error { return m.work(ctx) })
	}
	return stopped(ctx, group.Wait())
}

// stopped makes a clean stop no error. The group's context ends with the first error too, so the
// error itself is asked.
func stopped(_ context.Context, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

const retryDelay = 2 * time.Second

func (m *Machine) ends(ctx context.Context) (map[kafka.TopicPartition]int64, error) {
	for {
		ends, err := m.deps.Offsets.EndOffsets(ctx, []string{schemas.TopicEnrichments})
		if err == nil || ctx.Err() != nil {
			return ends, err
		}
		m.deps.Logger.Warn("the end of the enrichments is not known yet", "err", err)
		if err := pause.For(ctx, retryDelay); err != nil {
			return nil, err
		}
	}
}

const (
	batchRecords = 5_000
	batchWait    = 20 * time.Millisecond
)

// follow folds the topic into the table. loaded is closed when all that was there at the start is
// folded.
func (m *Machine) follow(ctx context.Context, ends map[kafka.TopicPartition]int64, loaded chan struct{}) error {
	for tp, end := range ends {
		if end == 0 {
			delete(ends, tp)
		}
	}
	ready := false
	for {
		if len(ends) == 0 && !ready {
			ready = true
			close(loaded)
		}
		tailer, err := m.deps.OpenTail()
		for err == nil {
			if err = m.take(ctx, tailer, ends); err == nil && len(ends) == 0 && !ready {
				ready = true
				close(loaded)
			}
		}
		if tailer != nil {
			tailer.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// Everything is read again then: facts forget repeats.
		m.deps.Logger.Warn("tail of enrichments ended, opening it again", "err", err)
		if err := pause.For(ctx, retryDelay); err != nil {
			return err
		}
	}
}

func (m *Machine) take(ctx context.Context, tailer kafka.TailReader, ends map[kafka.TopicPartition]int64) error {
	records, err := tailer.FetchBatch(ctx, batchRecords, batchWait)
	if err != nil {
		return err
	}
	for i := range records {
		record := &records[i]
		m.fold(record)
		tp := kafka.TopicPartition{Topic: record.Topic, Partition: record.Partition}
		if end, ok := ends[tp]; ok && record.Offset+1 >= end {
			delete(ends, tp)
		}
	}
	m.awaken()
	if len(records) == batchRecords {
		runtime.Gosched()
	}
	return nil
}

// fold takes what a record says about a logo. One that does not parse became a dead letter in the
// projector.
func (m *Machine) fold(record *kafka.Record) {
	if !mayConcernLogos(record) {
		return
	}
	enrichment := &eventspb.Enrichment{}
	if proto.Unmarshal(record.Value, enrichment) == nil {
		m.table.apply(enrichment, m.plan)
	}
}

// mayConcernLogos goes by the record's type, so that most records need not be decoded.
func mayConcernLogos(record *kafka.Record) bool {
	for _, header := range record.Headers {
		if header.Key != schemas.HeaderType {
			continue
		}
		switch string(header.Value) {
		case "enrichment.mint_account", "enrichment.metaplex_account", "enrichment.not_a_mint":
			return false
		}
	}
	return true
}

func (m *Machine) awaken() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// schedule hands what is due to the workers.
func (m *Machine) schedule(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		case <-m.wake:
		}
		now := m.deps.Now()
		wait := time.Minute
		for {
			j, url, left := m.table.next(now)
			if url == "" {
				wait = min(wait, left)
				break
			}
			m.queue.Push(m.deps.Host(url), j)
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}
