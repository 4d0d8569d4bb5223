// Package enrich answers requests for facts about a mint: it reads accounts and off-chain
// documents.
//
// In: EnrichmentRequest records, which name a mint or a metadata account; accounts over JSON-RPC;
// off-chain JSON from wherever a token's URI points.
// Out: Enrichment records (mint account, Metaplex account, off-chain metadata, not a mint, the
// check of a document that could not be read), dead letters.
// Guarantees: every request is answered at least once, even if the process is killed: an offset is
// committed only when the facts and dead letters of all requests up to it are durable. An RPC
// server that is away delays answers and loses none. A slow, dead or hostile metadata host delays
// only the tokens that name it, and never an account fact. A document that cannot be read has a
// check with the reason and the time of the next try. The same request gives a fact with the same
// content as long as accounts and documents stay the same.
package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// Consumer reads records as a member of a consumer group. *kafka.GroupConsumer is one.
type Consumer interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]kafka.Record, error)
	Commit(ctx context.Context, records []kafka.Record) error
}

// RPC reads accounts. *solana.Client is one.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []pubkey.Key, opts solana.AccountOptions) (contextSlot uint64, accounts []*solana.Account, err error)
}

// Fetcher gets off-chain JSON. Its errors have a fetch.Class. *fetch.Fetcher is one.
type Fetcher interface {
	// Document returns a valid JSON document.
	Document(ctx context.Context, uri string) (*fetch.Response, error)
	// Host returns the name of the host that serves uri. URIs of one host share its limit.
	Host(uri string) string
	// Groups returns the groups that this host belongs to: its domain and its address. While others
	// wait, one group holds only a share of the workers, see package hostqueue.
	Groups(uri string) []string
}

const (
	// accountTTL is how long a read of a mint's accounts answers further requests for it.
	accountTTL = 10 * time.Minute
	// offchainTTL is how long a fetched document answers further requests for it.
	offchainTTL = 6 * time.Hour
	// negativeTTL is how long an answer without a result answers further requests: "not a mint", a
	// metadata account without a mint, a document that could not be read. For such a document,
	// failedBefore has other rules for retries and for requests of the API.
	negativeTTL = 10 * time.Minute
	// cacheSize bounds each cache of earlier answers, in entries.
	cacheSize = 200_000
)

// Config configures an Enricher. Zero durations and numbers take the default.
type Config struct {
	// OffchainEnabled turns the fetching of off-chain metadata on. DefaultConfig has it on.
	OffchainEnabled bool
	// batchWindow is how long the first request of a batch waits for others. Default 20 ms.
	batchWindow time.Duration
	// batchMints is how many mints one RPC call reads, two accounts each. A call that reads only
	// metadata accounts, to find their mints, reads twice as many. Default and maximum 50.
	batchMints int
	// rpcConcurrency is how many RPC calls may be under way. Default 4.
	rpcConcurrency int
	// attempts is how often a document is fetched before it is given up, and how often an RPC call
	// is made that the server refuses. Default 3.
	attempts int
	// patience bounds three times: how long all attempts at one document take together; how long an
	// account read waits for the RPC server to reach the slot of the request; how long an account
	// read is repeated that fails for reasons that may pass, although the server is healthy.
	// Default 30 s.
	patience time.Duration
	// hostPatience bounds how long a document waits for a host that asked for a pause or is down,
	// from the first attempt at the document on. If the host has been down, or has only asked for
	// pauses, for that long already, the document is given up after the usual attempts. The offset
	// of a request whose document waits is not committed. Default 2 min.
	hostPatience time.Duration
	// queuePatience is how long a document waits for a worker. Then it is put off: a check is
	// written that says when to try again. Default 5 min.
	queuePatience time.Duration
	// retryDelay is the delay before the second attempt. It doubles with each further attempt.
	// Default 1 s.
	retryDelay time.Duration
	// maxRetryDelay bounds the delay between attempts to reach an RPC server that is away. Default
	// 10 s.
	maxRetryDelay time.Duration
	// Sockets is how many documents are fetched at once. Default 256.
	Sockets int
	// perHost is how many documents of one host are fetched at once, if the host's pace allows it.
	// Default an eighth of Sockets.
	perHost int
	// BytesPerSecond is the budget of bytes for all documents. While it is exceeded, only the walk
	// over missing documents waits. Default 8 MiB.
	BytesPerSecond int64
	// maxInFlight bounds the requests that are read and not yet answered. At most half of them are
	// for documents, three quarters with those of domains and addresses that have less than a
	// thousandth, and a tenth for documents of one domain or address. Further ones are put off.
	// Default 100,000.
	maxInFlight int
	// commitInterval is the time between two commits of offsets. Default 100 ms.
	commitInterval time.Duration
	// grace is how long a stop may take to commit what was done. Default 5 s.
	grace time.Duration
}

// DefaultConfig returns the default configuration, which fetches off-chain metadata.
func DefaultConfig() Config {
	return Config{OffchainEnabled: true}.withDefaults()
}

func (c Config) withDefaults() Config {
	c.batchWindow = cmp.Or(c.batchWindow, 20*time.Millisecond)
	c.batchMints = cmp.Or(c.batchMints, maxBatchMints)
	c.rpcConcurrency = cmp.Or(c.rpcConcurrency, 4)
	c.attempts = cmp.Or(c.attempts, 3)
	c.patience = cmp.Or(c.patience, 30*time.Second)
	c.hostPatience = cmp.Or(c.hostPatience, 2*time.Minute)
	c.queuePatience = cmp.Or(c.queuePatience, 5*time.Minute)
	c.retryDelay = cmp.Or(c.retryDelay, time.Second)
	c.maxRetryDelay = cmp.Or(c.maxRetryDelay, 10*time.Second)
	c.Sockets = cmp.Or(c.Sockets, 256)
	c.perHost = cmp.Or(c.perHost, max(c.Sockets/8, 1))
	c.BytesPerSecond = cmp.Or(c.BytesPerSecond, 8<<20)
	c.maxInFlight = cmp.Or(c.maxInFlight, 100_000)
	c.commitInterval = cmp.Or(c.commitInterval, 100*time.Millisecond)
	c.grace = cmp.Or(c.grace, 5*time.Second)
	return c
}

func (c Config) problems() error {
	var problems []error
	for _, rule := range []struct {
		key string
		ok  bool
	}{
		{"batch_window", c.batchWindow > 0}, {"rpc_concurrency", c.rpcConcurrency > 0}, {"attempts", c.attempts > 0},
		{"patience", c.patience > 0}, {"host_patience", c.hostPatience > 0}, {"queue_patience", c.queuePatience > 0},
		{"retry_delay", c.retryDelay > 0}, {"max_retry_delay", c.maxRetryDelay > 0},
		{"sockets", c.Sockets > 0}, {"per_host", c.perHost > 0},
		{"bytes_per_second", c.BytesPerSecond > 0},
		{"max_in_flight", c.maxInFlight > 0}, {"commit_interval", c.commitInterval > 0},
		{"grace", c.grace > 0},
	} {
		if !rule.ok {
			problems = append(problems, fmt.Errorf("enrich: %s must be positive", rule.key))
		}
	}
	if c.batchMints < 1 || c.batchMints > maxBatchMints {
		problems = append(problems, fmt.Errorf("enrich: batch_mints %d: want 1 to %d", c.batchMints, maxBatchMints))
	}
	return errors.Join(problems...)
}

// Deps are the collaborators of an Enricher.
type Deps struct {
	// Consumer reads enrichment requests as a member of schemas.GroupEnrich.
	Consumer Consumer
	Producer kafka.RecordProducer
	// Upstreams are where accounts are read. If there is only one server, RPC may be given instead.
	// If both are nil, account reads are skipped, and the skipped reads are counted.
	Upstreams *Upstreams
	RPC       RPC
	// Bounds says which slots of requests are possible; nil checks them against the clock alone.
	Bounds *bounds.Bounds
	// Fetcher may be nil when OffchainEnabled is false.
	Fetcher Fetcher
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: then the metrics go nowhere.
	Registerer prometheus.Registerer
	// Tracer may be nil: then nothing is traced.
	Tracer *tracing.Tracer
	// Unknowns counts token extensions that this version does not know; may be nil.
	Unknowns *unknowns.Book
	// Clock may be nil: then it is time.Now. It measures ages and TTLs, and sets received-at and
	// the times in checks of documents. Nothing else in a fact depends on it.
	Clock func() time.Time
}

// Enricher answers enrichment requests.
type Enricher struct {
	cfg      Config
	consumer Consumer
	producer kafka.RecordProducer
	// upstreams is nil if none is configured.
	upstreams *Upstreams
	bounds    *bounds.Bounds
	fetcher   Fetcher
	logger    *slog.Logger
	tracer    *tracing.Tracer
	unknowns  *unknowns.Book
	now       func() time.Time
	metrics   *metrics
	tracker   *tracker
	// jobs bounds the requests that are under way.
	jobs *semaphore.Weighted
	// rpcCalls bounds the RPC calls under way. The two stages that read accounts share it.
	rpcCalls *semaphore.Weighted
	resolver *resolverStage
	accounts *accountStage
	offchain *offchainStage
	// uncommitted has, for each partition, the record up to which all requests are answered, if its
	// offset is not committed yet.
	uncommitted map[kafka.TopicPartition]kafka.Record
}

// New checks the configuration and registers the metrics. It reports all problems at once.
func New(cfg Config, deps Deps) (*Enricher, error) {
	cfg = cfg.withDefaults()
	problems := []error{cfg.problems()}
	if deps.Consumer == nil || deps.Producer == nil {
		problems = append(problems, errors.New("enrich: a consumer and a producer are required"))
	}
	if cfg.OffchainEnabled && deps.Fetcher == nil {
		problems = append(problems, errors.New("enrich: off-chain metadata needs a fetcher"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Clock == nil {
		deps.Clock = time.Now
	}
	upstreams, err := upstreamsOf(deps.Upstreams, deps.RPC, deps.Clock)
	if err != nil {
		return nil, err
	}
	e := &Enricher{
		cfg: cfg, consumer: deps.Consumer, producer: deps.Producer, upstreams: upstreams, bounds: deps.Bounds, fetcher: deps.Fetcher,
		logger: deps.Logger, tracer: deps.Tracer, unknowns: deps.Unknowns, now: deps.Clock, tracker: newTracker(), jobs: semaphore.NewWeighted(int64(cfg.maxInFlight)),
		rpcCalls:    semaphore.NewWeighted(int64(cfg.rpcConcurrency)),
		uncommitted: map[kafka.TopicPartition]kafka.Record{},
	}
	if e.metrics, err = newMetrics(deps.Registerer, func() float64 { return e.tracker.age(e.now()).Seconds() }); err != nil {
		return nil, err
	}
	if e.resolver, err = newResolverStage(e); err != nil {
		return nil, err
	}
	if e.accounts, err = newAccountStage(e); err != nil {
		return nil, err
	}
	if e.offchain, err = newOffchainStage(e); err != nil {
		return nil, err
	}
	return e, nil
}

// Run answers requests until ctx ends, then commits what was answered and returns nil. It returns
// an error if reading or writing Kafka fails for good. It never commits the offset of a request
// whose answer is not durable.
func (e *Enricher) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return e.intake(running) })
	group.Go(func() error { return e.resolver.run(running) })
	group.Go(func() error { return e.accounts.run(running) })
	group.Go(func() error { return e.offchain.run(running) })
	group.Go(func() error { return commitEvery(running, e.cfg.commitInterval, e.commit) })
	err := group.Wait()

	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.grace)
	defer cancel()
	if flushErr := e.commit(final); err == nil && flushErr != nil {
		err = flushErr
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// complete marks the job's request as answered. The caller has made the answer durable.
func (e *Enricher) complete(j *job) {
	e.tracker.complete(j.entry)
	e.metrics.inFlight.Dec()
	e.jobs.Release(1)
}
