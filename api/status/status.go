// Package status reports how far the whole pipeline is.
//
// In: the API's replica, consumer groups' offsets, topics' ends. Out: the document of GET /status.
// Guarantees: a document is consistent. The source's report is read before the lags, in the order
// in which records travel. So `done: true` with `lag_records: 0` means that everything the source
// has is visible in ClickHouse and in this API node.
package status

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/unknowns"
)

const (
	// interval is how often a new document is made.
	interval = 250 * time.Millisecond
	// maxAge is the age of a document from which on Get waits for a new one.
	maxAge = 2 * interval
	// timeout bounds the making of a document, because Kafka may be down.
	timeout = time.Second
	// longest bounds a measurement of the lags, which goes on while documents are made.
	longest = 20 * time.Second
	// slowFor is how long a measurement may take before Kafka, if it answered before, counts as
	// away.
	slowFor = 5 * time.Second
	// startsMaxAge is how long the topics' first offsets are reused: only retention moves them.
	startsMaxAge = 10 * time.Second
)

// Copy is the API's replica of the registry.
type Copy interface {
	View() replica.View
	Applied() map[kafka.TopicPartition]int64
	Freshness() replica.Freshness
	Tokens() int
	Ready() bool
	// Seal moves the root to a slot, of which everything must be applied. If done is set, it moves
	// the root to the highest slot applied.
	Seal(slot uint64, done bool)
	// Root returns false until there is a root.
	Root() (root.Root, bool)
	// Checkpoint is nil if the node keeps none.
	Checkpoint() *replica.CheckpointStatus
}

// Offsets reads offsets from Kafka.
type Offsets = replica.Offsets

// Document is the body of GET /status.
type Document struct {
	Ready bool `json:"ready"`
	// Reasons say what is lost, as in /readyz; never nil.
	Reasons   []string          `json:"reasons"`
	Source    Source            `json:"source"`
	Pipeline  Pipeline          `json:"pipeline"`
	Registry  Registry          `json:"registry"`
	Coverage  Coverage          `json:"coverage"`
	Freshness replica.Freshness `json:"freshness"`
	Root      Root              `json:"root"`
	// Checkpoint is nil on a node that keeps none.
	Checkpoint *Checkpoint `json:"checkpoint"`
	// Kafka and ClickHouse report whether the node's backends answer; searches, lookups and batches
	// go on without them. ClickHouse is nil on a node that has none.
	Kafka      Health      `json:"kafka"`
	ClickHouse *ClickHouse `json:"clickhouse"`
	// Unknowns are what processes met on the chain within 30 days and do not know, the last seen
	// first: at most maxUnknowns, never nil.
	Unknowns []unknowns.Known `json:"unknowns"`
	// Snapshot is the validator's snapshot that filled the log last; nil if none did.
	Snapshot *Snapshot `json:"validator_snapshot"`
	// Documents is nil until a walk over missing metadata documents has reported.
	Documents *Documents `json:"documents"`
}

// Source is what ingest reports about its source.
type Source struct {
	// Kind is nil until the source has reported.
	Kind *string `json:"kind"`
	// Done is true if everything the source has was ingested. Only a finite source is ever done.
	Done         bool     `json:"done"`
	Slot         uint64   `json:"slot"`
	Blocks       uint64   `json:"blocks"`
	Transactions uint64   `json:"transactions"`
	TokenEvents  uint64   `json:"token_events"`
	FailedInputs uint64   `json:"failed_inputs"`
	Failures     []string `json:"failures"`
	ReportedAtMS int64    `json:"reported_at_ms"`
}

// Pipeline counts the records that a reader has not finished. If the lags cannot be measured, Error
// has the reason, the lags of single readers are nil, and LagRecords is the last known one.
type Pipeline struct {
	// LagRecords is 0 only if everything ingested is visible in ClickHouse and in this API node,
	// and no enrichment request waits. A record that several readers have not finished counts once.
	// If LagRecords is older than this document, as LastKnownAgeMS tells, it is at least 1. It is
	// nil until a lag was known.
	LagRecords   *int64           `json:"lag_records"`
	ProjectorLag *int64           `json:"projector_lag"`
	EnrichLag    *int64           `json:"enrich_lag"`
	APILag       *int64           `json:"api_lag"`
	Topics       map[string]Topic `json:"topics"`
	Error        *string          `json:"error"`
	MeasuredAtMS int64            `json:"measured_at_ms"`
	// LastKnownLag is the last LagRecords that was known, and LastKnownAgeMS how long ago that was,
	// in milliseconds. Both are nil until a lag was known.
	LastKnownLag   *int64 `json:"last_known_lag_records"`
	LastKnownAgeMS *int64 `json:"last_known_age_ms"`
}

// Topic is the share of one topic in the pipeline's figures. A reader that does not read the topic
// has lag 0.
type Topic struct {
	Records      int64 `json:"records"`
	LagRecords   int64 `json:"lag_records"`
	ProjectorLag int64 `json:"projector_lag"`
	EnrichLag    int64 `json:"enrich_lag"`
	APILag       int64 `json:"api_lag"`
}

// Coverage is the range of slots whose blocks have been ingested, and the gaps in it. From and To
// are nil until a block has been ingested.
type Coverage struct {
	From *uint64 `json:"from_slot"`
	To   *uint64 `json:"to_slot"`
	// CompleteTo is the highest slot up to which nothing is missing.
	CompleteTo *uint64 `json:"complete_to_slot"`
	// Gaps ascend; at most maxGaps are listed, GapCount counts all.
	Gaps     []coverage.Gap `json:"gaps"`
	GapCount int            `json:"gap_count"`
}

// maxGaps bounds the gaps in the document.
const maxGaps = 100

// Registry counts the members of the registry in this API node's replica.
type Registry struct {
	Tokens int `json:"tokens"`
}

// Root is the registry's hash at a slot, in both versions. docs/registry-root.md says what it
// covers. All fields are nil while the replica is loading, and until there is a root.
type Root struct {
	Slot *uint64 `json:"slot"`
	// Hash is the hash of version 1, in base58.
	Hash *string `json:"hash"`
	// HashV2 is the hash of version 2, in base58.
	HashV2 *string `json:"hash_v2"`
}

// Collector keeps the latest document.
type Collector struct {
	copy    Copy
	offsets Offsets
	logger  *slog.Logger
	now     func() time.Time
	lag     *prometheus.GaugeVec
	gaps    prometheus.Gauge

	making     sync.Mutex   // held while a document is made
	running    *measurement // nil if none is under way; guarded by making
	due        *seal        // the root that is made next; nil if none is due
	sealed     seal         // the root that was made last
	starts     map[kafka.TopicPartition]int64
	startsRead time.Time

	mu     sync.Mutex
	latest Document
	madeAt time.Time
	known  knownLag
	kafka  Health
	past   past
	// versions are the versions of transactions that ingest does not read.
	versions []uint32

	unknowns  unknowns.Fold
	snapshot  snapshots
	documents documentWalk

	clickhouse probe
	watch      *topicWatch // nil if the topics are not watched
}

// New registers the metrics. Logger and registerer may be nil. If offsets also implements Topics,
// the collector notices topics that vanish.
func New(c Copy, offsets Offsets, logger *slog.Logger, registerer prometheus.Registerer) (*Collector, error) {
	if c == nil || offsets == nil {
		return nil, errors.New("status: copy and offsets are required")
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	lag := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "mintlake_api_pipeline_lag_records", Help: "Records that a reader has yet to finish; -1 when that cannot be known. Reader any counts each record once.",
	}, []string{"reader"})
	gaps := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "mintlake_api_coverage_gaps", Help: "Runs of slots that were never ingested, between the first and the last slot ingested.",
	})
	for _, reader := range []string{"any", "projector", "enrich", "api"} {
		lag.WithLabelValues(reader).Set(-1)
	}
	if err := counters.Register(registerer, lag, gaps); err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	collector := &Collector{copy: c, offsets: offsets, logger: logger, now: time.Now, lag: lag, gaps: gaps}
	if topics, ok := offsets.(Topics); ok {
		watch, err := newTopicWatch(topics, registerer)
		if err != nil {
			return nil, err
		}
		collector.watch = watch
	}
	return collector, nil
}

// Run makes documents until ctx ends.
func (c *Collector) Run(ctx context.Context) error {
	var watching sync.WaitGroup
	watching.Go(func() { c.runTopics(ctx) })
	defer watching.Wait()
	defer c.endMeasurement()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		c.making.Lock()
		c.make(ctx)
		c.making.Unlock()
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Get returns the latest document. If that is older than half a second, it waits for a new one, for
// about a second at most. Ready and Reasons are as of now, so that they agree with /readyz.
func (c *Collector) Get(ctx context.Context) Document {
	document := c.recent(ctx)
	reasons, lost := c.Reasons()
	document.Ready, document.Reasons = c.copy.Ready() && !lost, reasons
	document.Snapshot, document.Documents = c.snapshot.last.Load(), c.documents.last.Load()
	document.Checkpoint = checkpointOf(c.copy.Checkpoint())
	document.Unknowns = c.unknowns.List(c.now())
	document.Unknowns = document.Unknowns[:min(len(document.Unknowns), maxUnknowns)]
	return document
}

// recent returns the latest document, and makes a new one if that is older than maxAge.
func (c *Collector) recent(ctx context.Context) Document {
	if document, age := c.peek(); age < maxAge {
		return document
	}
	c.making.Lock()
	defer c.making.Unlock()
	if document, age := c.peek(); age < maxAge {
		return document // made while we waited
	}
	c.make(ctx)
	document, _ := c.peek()
	return document
}

// peek returns the latest document and its age.
func (c *Collector) peek() (Document, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest, c.now().Sub(c.madeAt)
}

// make makes a document and keeps it as the latest. It keeps none if the node stops meanwhile.
func (c *Collector) make(ctx context.Context) {
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	measured := c.measure(within)
	before, pipeline, err := measured.before, measured.pipeline, measured.err
	if c.copy.Ready() {
		c.advanceRoot(before, measured.ends)
	}
	if gone, _ := c.topicReasons(); len(gone) > 0 {
		err = errors.Join(errTopics, err)
		pipeline.Error = &gone[0]
	}
	c.readVersions(before.Source)
	reasons, lost := c.Reasons()
	document := Document{
		Ready: c.copy.Ready() && !lost, Reasons: reasons, Source: sourceOf(before), Pipeline: pipeline, Registry: Registry{c.copy.Tokens()},
		Coverage: coverageOf(before.Coverage), Freshness: c.copy.Freshness(), Root: c.root(),
	}
	if err != nil && context.Cause(ctx) == context.Canceled { //nolint:errorlint // the sentinel itself
		return // the node stops
	}
	c.observe(&pipeline)
	c.gaps.Set(float64(document.Coverage.GapCount))
	c.mu.Lock()
	defer c.mu.Unlock()
	tooEarly := errors.Is(err, errSlow) && c.kafka.OK != nil && c.now().Sub(c.running.began) < slowFor
	if !errors.Is(err, errLoading) && !tooEarly { // else err says nothing about Kafka
		c.kafka.see(c.now(), err == nil, pipeline.Error)
	}
	document.Kafka = c.kafka
	c.known.see(c.now(), &document.Pipeline)
	if document.Ready && c.known.changed(c.now(), err == nil) {
		c.logger.Info("pipeline lag", "known", err == nil, "err", err)
	}
	c.latest, c.madeAt = document, c.now()
	c.past.see(c.madeAt, &document, pipeline.LagRecords)
}

// maxVersions bounds the versions of transactions in Reasons.
const maxVersions = 16

// readVersions keeps the versions of transactions that the source does not read; source may be nil.
func (c *Collector) readVersions(source *eventspb.SourceStatus) {
	versions := source.GetUnreadVersions()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.versions = versions[:min(len(versions), maxVersions)]
}

// observe sets the gauges of the lags; -1 stands for unknown.
func (c *Collector) observe(p *Pipeline) {
	for reader, lag := range map[string]*int64{"any": p.LagRecords, "projector": p.ProjectorLag, "enrich": p.EnrichLag, "api": p.APILag} {
		value := -1.0
		if lag != nil {
			value = float64(*lag)
		}
		c.lag.WithLabelValues(reader).Set(value)
	}
}

func coverageOf(c coverage.Coverage) Coverage {
	if c.FromSlot == 0 && c.ToSlot == 0 {
		return Coverage{Gaps: []coverage.Gap{}}
	}
	to := c.CompleteTo()
	return Coverage{From: &c.FromSlot, To: &c.ToSlot, CompleteTo: &to, Gaps: c.Gaps[:min(len(c.Gaps), maxGaps)], GapCount: len(c.Gaps)}
}

func sourceOf(view replica.View) Source {
	s := Source{Failures: []string{}}
	if view.Source == nil {
		return s
	}
	kind := view.Source.GetKind()
	s.Kind, s.Done, s.Slot, s.Blocks = &kind, view.Source.GetDone(), view.Source.GetSlot(), view.Source.GetBlocks()
	s.Transactions, s.TokenEvents = view.Source.GetTransactions(), view.Source.GetTokenEvents()
	s.FailedInputs, s.ReportedAtMS = view.Source.GetFailedInputs(), view.Source.GetReportedAtMs()
	s.Failures = append(s.Failures, view.Source.GetFailures()...)
	return s
}

var (
	projectorTopics = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots}
	swapTopics      = []string{schemas.TopicSwaps, schemas.TopicPools}
	balanceTopics   = []string{schemas.TopicBalances, schemas.TopicTransfers, schemas.TopicBalanceBases}
	enrichTopics    = []string{schemas.TopicEnrichmentRequests}
	apiTopics       = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots}
	allTopics       = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots, schemas.TopicEnrichmentRequests, schemas.TopicSwaps, schemas.TopicPools, schemas.TopicBalances, schemas.TopicTransfers, schemas.TopicBalanceBases}
)
