// Package enrich turns "this mint needs facts" into facts.
//
// In: EnrichmentRequest records, which name a mint or a metadata account; accounts over JSON-RPC; off-chain JSON from wherever a token's URI points.
// Out: Enrichment records (mint account, Metaplex account, off-chain metadata, not a mint), dead letters.
// Guarantees: every request is answered at least once, with facts or with a dead letter, whenever the process is killed: an offset
// is committed only when everything up to it is durable. An RPC server that is away delays and loses nothing. A slow, dead or hostile
// metadata host delays only the tokens that name it, and never an account fact. The same request gives an equal fact while the
// world stays the same.
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

	"github.com/mintlake/mintlake/internal/fetch"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/solana"
)

// Consumer reads requests as a member of schemas.GroupEnrich. *kafka.GroupConsumer is one.
type Consumer interface {
	FetchBatch(ctx context.Context, limit int, wait time.Duration) ([]kafka.Record, error)
	Commit(ctx context.Context, records []kafka.Record) error
}

// RPC reads accounts. *solana.Client is one.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []solana.Key, opts solana.AccountOptions) (contextSlot uint64, accounts []*solana.Account, err error)
}

// Fetcher gets off-chain JSON. Its errors have a fetch.Class. *fetch.Fetcher is one.
type Fetcher interface {
	// Document returns a valid JSON document.
	Document(ctx context.Context, uri string) (*fetch.Response, error)
	// Host names what uri is fetched from; URIs of one host share its limit.
	Host(uri string) string
}

// Config of an Enricher. Zero durations and numbers take the default.
type Config struct {
	// OffchainEnabled turns the fetching of off-chain metadata on. DefaultConfig has it on.
	OffchainEnabled bool
	// Commitment of account reads. Default confirmed.
	Commitment solana.Commitment
	// BatchWindow is how long the first request of a batch waits for others. Default 20 ms.
	BatchWindow time.Duration
	// BatchMints is how many mints one RPC call reads, two accounts each, or half as many as it reads lone metadata accounts. Default and
	// most 50.
	BatchMints int
	// RPCConcurrency is how many RPC calls may be under way. Default 4.
	RPCConcurrency int
	// Attempts to fetch one document, or to make an RPC call that the server answers with a refusal, before it is given up. Default 3.
	Attempts int
	// Patience bounds all attempts at one document, and how long an account read waits for the RPC server to reach the slot of the
	// request. Default 30 s.
	Patience time.Duration
	// RetryDelay before the second attempt; it doubles from there. Default 1 s.
	RetryDelay time.Duration
	// MaxRetryDelay bounds the delay between attempts to reach an RPC server that is away. Default 10 s.
	MaxRetryDelay time.Duration
	// OffchainWorkers is how many documents are fetched at once. Default 64.
	OffchainWorkers int
	// PerHost is how many of them from one host. Default 4.
	PerHost int
	// PerGateway is how many of them from IPFS, and as many from Arweave. Default 16.
	PerGateway int
	// AccountTTL is how long a read of a mint's accounts answers further requests for it. Default 10 min.
	AccountTTL time.Duration
	// OffchainTTL is how long a fetched document answers further requests for it. Default 6 h.
	OffchainTTL time.Duration
	// NegativeTTL is how long "not a mint" and a failed document answer further requests. Default 10 min.
	NegativeTTL time.Duration
	// CacheSize bounds each of the memories of what was done, in mints. Default 200,000.
	CacheSize int
	// MaxInFlight bounds the requests that are read and not yet answered. Default 100,000.
	MaxInFlight int
	// CommitInterval between commits of offsets. Default 100 ms.
	CommitInterval time.Duration
	// Grace is how long a stop may take to commit what was done. Default 5 s.
	Grace time.Duration
}

// DefaultConfig is the configuration that needs no thought.
func DefaultConfig() Config {
	return Config{OffchainEnabled: true}.withDefaults()
}

func (c Config) withDefaults() Config {
	c.Commitment = cmp.Or(c.Commitment, solana.Confirmed)
	c.BatchWindow = cmp.Or(c.BatchWindow, 20*time.Millisecond)
	c.BatchMints = cmp.Or(c.BatchMints, maxBatchMints)
	c.RPCConcurrency = cmp.Or(c.RPCConcurrency, 4)
	c.Attempts = cmp.Or(c.Attempts, 3)
	c.Patience = cmp.Or(c.Patience, 30*time.Second)
	c.RetryDelay = cmp.Or(c.RetryDelay, time.Second)
	c.MaxRetryDelay = cmp.Or(c.MaxRetryDelay, 10*time.Second)
	c.OffchainWorkers = cmp.Or(c.OffchainWorkers, 64)
	c.PerHost = cmp.Or(c.PerHost, 4)
	c.PerGateway = cmp.Or(c.PerGateway, 16)
	c.AccountTTL = cmp.Or(c.AccountTTL, 10*time.Minute)
	c.OffchainTTL = cmp.Or(c.OffchainTTL, 6*time.Hour)
	c.NegativeTTL = cmp.Or(c.NegativeTTL, 10*time.Minute)
	c.CacheSize = cmp.Or(c.CacheSize, 200_000)
	c.MaxInFlight = cmp.Or(c.MaxInFlight, 100_000)
	c.CommitInterval = cmp.Or(c.CommitInterval, 100*time.Millisecond)
	c.Grace = cmp.Or(c.Grace, 5*time.Second)
	return c
}

func (c Config) problems() error {
	var problems []error
	for _, rule := range []struct {
		key string
		ok  bool
	}{
		{"batch_window", c.BatchWindow > 0}, {"rpc_concurrency", c.RPCConcurrency > 0}, {"attempts", c.Attempts > 0},
		{"patience", c.Patience > 0}, {"retry_delay", c.RetryDelay > 0}, {"max_retry_delay", c.MaxRetryDelay > 0},
		{"offchain_workers", c.OffchainWorkers > 0}, {"per_host", c.PerHost > 0}, {"per_gateway", c.PerGateway > 0},
		{"account_ttl", c.AccountTTL > 0}, {"offchain_ttl", c.OffchainTTL > 0}, {"negative_ttl", c.NegativeTTL > 0},
		{"cache_size", c.CacheSize > 0}, {"max_in_flight", c.MaxInFlight > 0}, {"commit_interval", c.CommitInterval > 0},
		{"grace", c.Grace > 0},
	} {
		if !rule.ok {
			problems = append(problems, fmt.Errorf("enrich: %s must be positive", rule.key))
		}
	}
	if c.BatchMints < 1 || c.BatchMints > maxBatchMints {
		problems = append(problems, fmt.Errorf("enrich: batch_mints %d: want 1 to %d", c.BatchMints, maxBatchMints))
	}
	return errors.Join(problems...)
}

// Deps are the collaborators of an Enricher.
type Deps struct {
	Consumer Consumer
	Producer kafka.RecordProducer
	// RPC may be nil: no upstream is configured. Account reads are then skipped, and counted.
	RPC RPC
	// Fetcher may be nil when OffchainEnabled is false.
	Fetcher Fetcher
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: then the metrics go nowhere.
	Registerer prometheus.Registerer
	// Clock may be nil: then it is time.Now. It measures ages and TTLs, and writes received-at; it decides no fact.
	Clock func() time.Time
}

// Enricher answers enrichment requests.
type Enricher struct {
	cfg      Config
	consumer Consumer
	producer kafka.RecordProducer
	rpc      RPC
	fetcher  Fetcher
	logger   *slog.Logger
	now      func() time.Time
	metrics  *metrics
	tracker  *tracker
	// jobs bounds the requests that are under way.
	jobs *semaphore.Weighted
	// rpcCalls bounds the calls under way, of both stages that read accounts.
	rpcCalls *semaphore.Weighted
	resolver *resolverStage
	accounts *accountStage
	offchain *offchainStage
	// uncommitted is the last answered record of each partition whose offset is not stored yet.
	uncommitted map[kafka.TopicPartition]kafka.Record
}

// New checks the configuration and registers the metrics; it tells all problems at once.
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
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Clock == nil {
		deps.Clock = time.Now
	}
	e := &Enricher{
		cfg: cfg, consumer: deps.Consumer, producer: deps.Producer, rpc: deps.RPC, fetcher: deps.Fetcher,
		logger: deps.Logger, now: deps.Clock, tracker: newTracker(), jobs: semaphore.NewWeighted(int64(cfg.MaxInFlight)),
		rpcCalls:    semaphore.NewWeighted(int64(cfg.RPCConcurrency)),
		uncommitted: map[kafka.TopicPartition]kafka.Record{},
	}
	var err error
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

// Run answers requests until ctx ends, then commits what was answered and returns nil. It returns an error when Kafka refuses for good
// to be read or written; nothing that was not durable is committed then.
func (e *Enricher) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return e.intake(running) })
	group.Go(func() error { return e.resolver.run(running) })
	group.Go(func() error { return e.accounts.run(running) })
	group.Go(func() error { return e.offchain.run(running) })
	group.Go(func() error { return e.committer(running) })
	err := group.Wait()

	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Grace)
	defer cancel()
	if flushErr := e.commit(final); err == nil && flushErr != nil {
		err = flushErr
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

// complete says that the request is answered durably.
func (e *Enricher) complete(j *job) {
	e.tracker.complete(j.entry)
	e.metrics.inFlight.Dec()
	e.jobs.Release(1)
}
