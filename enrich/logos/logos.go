// Package logos decides the status of every token's logo, by fetching it. It also requests the
// documents again that could not be read, when their next try is due.
//
// In: the topic registry.enrichments.v1 from its beginning: documents and token lists that name a
// logo, operators' decisions, the results of earlier checks. Out: the same topic: one Logo fact for
// each check; requests for documents on registry.enrichment-requests.v1.
// Guarantees: the topic is the only state. A kill at any moment loses at most the fetches under
// way, and they are made again. A check is written when it is done. It replaces earlier checks, in
// whatever order the checks are read. A failed check keeps what is known of the last good picture.
// No host has more requests under way than its limit, and a host that asks for a pause gets it.
//
// Only one process of a cluster checks logos. Two would come to the same statuses, but fetch
// everything twice. Several processes may request documents: enrichment answers all requests for a
// document by one fetch.
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

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/logos/hostqueue"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Loader fetches and checks images. Its errors have a fetch.Class. *imageload.Loader is one.
type Loader interface {
	Load(ctx context.Context, request imageload.Request) (*imageload.Image, error)
}

const (
	// attempts is how often loading a logo may fail, for reasons that may pass, before the logo
	// counts as broken.
	attempts = 3
	// downPatience is how long a host may be down before its logos lose attempts.
	downPatience = 30 * time.Second
)

// Config configures a Machine. Zero values take the default.
type Config struct {
	// Workers is how many images are fetched at once. Default 64.
	Workers int
	// PerHost is how many of these images may be from one host, default 4. perGateway is how many
	// may be from IPFS, and as many from Arweave, default 16.
	PerHost, perGateway int
	// attemptDelay is the delay before the second attempt. Each further delay is four times as
	// long. Default 2 s.
	attemptDelay time.Duration
	// Retry is the time until a broken logo is checked again. It doubles after each further
	// failure, up to MaxRetry. It begins at six times Retry if the failure does not pass by itself.
	// But a picture that was fetched and refused is checked again after Recheck. Default 10 min and
	// 7 days.
	Retry, MaxRetry time.Duration
	// Recheck is the time until a good logo is checked again. It is four times as long for content
	// that is addressed by its hash. Default 7 days.
	Recheck time.Duration
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 64)
	c.PerHost = cmp.Or(c.PerHost, 4)
	c.perGateway = cmp.Or(c.perGateway, 16)
	c.attemptDelay = cmp.Or(c.attemptDelay, 2*time.Second)
	c.Retry = cmp.Or(c.Retry, 10*time.Minute)
	c.MaxRetry = cmp.Or(c.MaxRetry, 7*24*time.Hour)
	c.Recheck = cmp.Or(c.Recheck, 7*24*time.Hour)
	return c
}

// Deps are the collaborators of a Machine.
type Deps struct {
	Offsets kafka.Ends
	// OpenTail starts to read schemas.TopicEnrichments at its first record.
	OpenTail func() (kafka.TailReader, error)
	Producer kafka.RecordProducer
	// Loader may be nil: then no logo is checked.
	Loader Loader
	// Host returns the name of the host that serves a URL. URLs of one host share its limit. It is
	// (*fetch.Fetcher).Host.
	Host func(url string) string
	// Groups returns the groups that the host of a URL belongs to: its domain and its address.
	// While others wait, one group holds only a share of the workers, see package hostqueue. It is
	// (*fetch.Fetcher).Groups, and may be nil.
	Groups func(url string) []string
	// Logger and Registerer may be nil.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now may be nil: then it is time.Now. It decides when to check. The order of facts does not
	// depend on it.
	Now func() time.Time
}

// Machine checks all logos and keeps their statuses.
type Machine struct {
	cfg       Config
	deps      Deps
	metrics   *metrics
	table     *table
	documents *documents
	queue     *hostqueue.Queue[job]
	// wake signals that an entry may have become due.
	wake chan struct{}
}

// job is one check to make.
type job struct {
	mint pubkey.Key
	due  time.Time
}

// New checks configuration and collaborators, and registers the metrics. It does no I/O.
func New(cfg Config, deps Deps) (*Machine, error) {
	cfg = cfg.withDefaults()
	if deps.Offsets == nil || deps.OpenTail == nil || deps.Producer == nil || deps.Loader != nil && deps.Host == nil {
		return nil, errors.New("logos: offsets, tail and producer are required, and host if there is a loader")
	}
	for key, ok := range map[string]bool{
		"workers": cfg.Workers > 0, "per_host": cfg.PerHost > 0, "per_gateway": cfg.perGateway > 0,
		"attempt_delay": cfg.attemptDelay > 0, "retry": cfg.Retry > 0, "max_retry": cfg.MaxRetry >= cfg.Retry, "recheck": cfg.Recheck > 0,
	} {
		if !ok {
			return nil, fmt.Errorf("logos: %s must be positive, and max_retry no less than retry", key)
		}
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Groups == nil {
		deps.Groups = func(string) []string { return nil }
	}
	m := &Machine{cfg: cfg, deps: deps, table: newTable(), documents: newDocuments(), wake: make(chan struct{}, 1)}
	m.queue = hostqueue.New[job](cfg.Workers, func(host string) int {
		if host == "ipfs" || host == "ar" {
			return cfg.perGateway
		}
		return cfg.PerHost
	})
	var err error
	m.metrics, err = newMetrics(deps.Registerer, m)
	return m, err
}

// Run reads the topic to its end, then checks what is due until ctx ends, and returns nil. It
// returns an error if writing Kafka fails for good.
func (m *Machine) Run(ctx context.Context) error {
	ends, err := m.ends(ctx)
	if err != nil {
		return stopped(err)
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
		m.deps.Logger.Info("logos are loaded", "mints", m.table.size(), "documents", m.documents.size())
		return m.schedule(ctx)
	})
	for range m.cfg.Workers {
		group.Go(func() error { return m.work(ctx) })
	}
	return stopped(group.Wait())
}

// stopped turns the error of a clean stop into nil. It looks at the error and not at the context,
// since the first error also ends the group's context.
func stopped(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// retryDelay is the delay before Kafka is asked again after an error.
const retryDelay = 2 * time.Second

// ends returns the end offsets of the topic. It asks until Kafka answers.
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

// batchRecords bounds one read of the topic in records, batchWait its wait for more records.
const (
	batchRecords = 5_000
	batchWait    = 20 * time.Millisecond
)

// follow folds the topic into the table and the documents. It closes loaded once all records before
// ends are folded.
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
		// The topic is read from its beginning again: the fold ignores facts that it has seen.
		m.deps.Logger.Warn("tail of enrichments ended, opening it again", "err", err)
		if err := pause.For(ctx, retryDelay); err != nil {
			return err
		}
	}
}

// take folds one batch. It removes from ends the partitions that have been read to their end.
func (m *Machine) take(ctx context.Context, tailer kafka.TailReader, ends map[kafka.TopicPartition]int64) error {
	records, err := tailer.FetchBatch(ctx, batchRecords, batchWait)
	if err != nil {
		return err
	}
	for i := range records {
		record := &records[i]
		m.fold(record)
		tp := record.TopicPartition()
		if end, ok := ends[tp]; ok && record.Offset+1 >= end {
			delete(ends, tp)
		}
	}
	m.awaken()
	if kafka.Full(records, batchRecords) { // more records wait: let other goroutines run first
		runtime.Gosched()
	}
	return nil
}

// fold folds what a record says about a logo or a document. It ignores a record that does not
// parse, which is the projector's dead letter.
func (m *Machine) fold(record *kafka.Record) {
	if !mayConcernLogos(record) {
		return
	}
	enrichment := &eventspb.Enrichment{}
	if proto.Unmarshal(record.Value, enrichment) != nil {
		return
	}
	m.documents.apply(enrichment)
	if m.deps.Loader != nil {
		m.table.apply(enrichment, m.plan)
	}
}

// mayConcernLogos reports whether a record may be about a logo or a document. It reads only the
// type header, so that most records need not be decoded.
func mayConcernLogos(record *kafka.Record) bool {
	switch string(record.Header(schemas.HeaderType)) {
	case "enrichment.mint_account", "enrichment.metaplex_account", "enrichment.not_a_mint":
		return false
	}
	return true
}

// awaken makes schedule look for entries that are due.
func (m *Machine) awaken() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// schedule queues the logos that are due for the workers, and requests the documents that are due,
// until ctx ends.
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
		wait, err := m.askAgain(ctx, now)
		if err != nil {
			return err
		}
		wait = min(wait, time.Minute)
		for {
			j, url, left := m.table.next(now)
			if url == "" {
				wait = min(wait, left)
				break
			}
			m.queue.Push(m.deps.Host(url), m.deps.Groups(url), j)
		}
		timer.Reset(max(wait, time.Millisecond))
	}
}
