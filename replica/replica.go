// Package replica is an API node's own copy of the registry, in memory.
//
// In: a snapshot of the registry from ClickHouse, then the topics chain.token-events.v1 and
// registry.enrichments.v1 from before that snapshot on, and all of chain.slots.v1. Out: tokens by
// mint, search, the source's reports about itself, coverage, freshness.
// Guarantees: the fold gives the same result after repeats and in any order, so the overlap of
// snapshot and topics is harmless. Once ready it stays ready: neither ClickHouse nor Kafka is
// needed to read. Readers do not wait while facts are folded. If a retraction takes facts from a
// mint, the copy lacks the older facts that these had replaced. The projector folds such a mint
// again, and then the copy adds the facts of the mint's row in ClickHouse.
//
// Start: with a checkpoint on disk, (0) load that and tail from where it ends. Otherwise, or if it
// cannot be used, (1) remember the projector's committed offsets, below which everything is durable
// in ClickHouse; (2) load the snapshot; (3) tail from (1). When ClickHouse does not answer within
// SnapshotPatience, and the topics still begin at offset 0, everything is folded from the topics
// instead: they are kept for ever, it only takes longer. The same happens when the projector has
// committed nothing.
package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/search"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Snapshot reads the registry's facts from where the projector has made them durable.
type Snapshot interface {
	// Load calls each once for every known mint of mints, or for every mint if mints is nil. It may
	// call each on several goroutines at the same time. each may keep the strings of facts, but not
	// the slice.
	Load(ctx context.Context, mints []pubkey.Key, each func(mint pubkey.Key, facts []registry.Fact)) error
}

// Offsets returns where the topics begin and end and how far a consumer group is. A partition
// without a committed offset is missing from the map.
type Offsets interface {
	kafka.Offsets
	CommittedOffsets(ctx context.Context, group string, topics []string) (map[kafka.TopicPartition]int64, error)
}

// batchRecords is the highest number of records in one batch.
const batchRecords = 5_000

// Config of a Replica. Zero values mean the defaults.
type Config struct {
	// SnapshotPatience is how long ClickHouse may be away at start before everything is folded from
	// the topics. Default 30 s.
	SnapshotPatience time.Duration
	// CheckpointFolder is the folder of the checkpoint, see package checkpoint. It is created if it
	// is missing, and one process at a time may use it. Empty means that no checkpoint is kept.
	CheckpointFolder string
	// CheckpointEvery is how often the checkpoint is written. Default 1 h.
	CheckpointEvery time.Duration
	// batchWait is how long a batch waits for more records after its first one, so every change
	// becomes visible that much later. When more than busyRate records a second come, a batch waits
	// busyWaits times as long. Default 20 ms.
	batchWait time.Duration
}

// Deps are the collaborators. Snapshot may be nil: then everything comes from the topics.
type Deps struct {
	Snapshot Snapshot
	Offsets  Offsets
	// OpenTail starts reading at the offsets in start. A partition that is missing there is read
	// from its first record.
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	// Listeners may be empty.
	Listeners []Listener
	// NotAMint is called with each address that enrichment found to hold no mint. May be nil.
	NotAMint   func(mint pubkey.Key)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Now is the wall clock, for freshness only. Default time.Now.
	Now func() time.Time
}

// Replica is the copy. New makes it, Run fills it and keeps it fresh.
type Replica struct {
	cfg       Config
	deps      Deps
	metrics   *metrics
	index     *search.Inverted
	store     *store
	freshness *freshness
	started   time.Time // cut to the millisecond, as the received-at header is
	ready     atomic.Bool
	batch     batch // used only by the goroutine that tails
	refolds   refoldQueue

	checkpoints checkpoints
	// cut is locked from the fold of a batch until applied covers the batch, so that a checkpoint
	// never sees one without the other. It is locked before the store's mutex and before mu.
	cut sync.Mutex

	mu      sync.Mutex
	applied map[kafka.TopicPartition]int64 // the offset after the last record applied
	source  *eventspb.SourceStatus
	slots   *slotView
	// slotEnds has the end offsets of the slot ledger when the node started. Until the ledger is
	// read up to them, the source's report in it may be from an earlier run.
	slotEnds map[kafka.TopicPartition]int64
}

// registryTopics have the facts of the copy. The slot ledger has only the coverage and the source's
// status, so readiness does not wait for it.
var (
	registryTopics = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments}
	allTopics      = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots}
)

// New checks the collaborators and registers the metrics.
func New(cfg Config, deps Deps) (*Replica, error) {
	if deps.Offsets == nil || deps.OpenTail == nil {
		return nil, errors.New("replica: offsets and tail are required")
	}
	cfg.SnapshotPatience = cmp.Or(max(cfg.SnapshotPatience, 0), 30*time.Second)
	cfg.CheckpointEvery = cmp.Or(max(cfg.CheckpointEvery, 0), time.Hour)
	cfg.batchWait = cmp.Or(max(cfg.batchWait, 0), 20*time.Millisecond)
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.NotAMint == nil {
		deps.NotAMint = func(pubkey.Key) {}
	}
	index := search.NewInverted()
	r := &Replica{
		cfg: cfg, deps: deps, index: index, store: newStore(index, deps.Listeners), started: deps.Now().Truncate(time.Millisecond), applied: map[kafka.TopicPartition]int64{}, slots: newSlotView(),
		batch: batch{applied: map[kafka.TopicPartition]int64{}}, checkpoints: checkpoints{lock: -1},
	}
	r.freshness = newFreshness(r.started)
	var err error
	r.metrics, err = newMetrics(deps.Registerer, r)
	return r, err
}

// Run loads and tails until ctx ends; then it returns nil. Errors of ClickHouse and Kafka are
// retried.
func (r *Replica) Run(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	err := r.run(running, stop)
	if ctx.Err() != nil {
		return nil // a clean stop
	}
	return err
}

func (r *Replica) run(ctx context.Context, stop func()) error {
	defer r.releaseCheckpoint()
	var background sync.WaitGroup
	defer background.Wait()
	defer stop() // ends the goroutines of background
	background.Go(func() { r.store.keepBase(ctx) })
	background.Go(func() { r.refold(ctx) })
	background.Go(func() { r.keepCheckpoint(ctx) })
	return r.follow(ctx)
}

// follow loads the copy and then tails the topics. A tail that fails for good is opened again.
func (r *Replica) follow(ctx context.Context) error {
	begin := r.deps.Now()
	if !r.restore(ctx) {
		if err := r.load(ctx); err != nil {
			return err
		}
	}
	ends, err := retry(ctx, func() (map[kafka.TopicPartition]int64, error) { return r.deps.Offsets.EndOffsets(ctx, registryTopics) })
	if err != nil {
		return fmt.Errorf("read end offsets: %w", err)
	}
	slotEnds, err := retry(ctx, func() (map[kafka.TopicPartition]int64, error) { return r.slotsToRead(ctx) })
	if err != nil {
		return fmt.Errorf("read the slot ledger's offsets: %w", err)
	}
	r.mu.Lock()
	r.slotEnds = slotEnds
	r.mu.Unlock()
	backOff := backoff.NewExponentialBackOff()
	for ctx.Err() == nil {
		err := r.tail(ctx, ends, begin, backOff.Reset)
		if ctx.Err() != nil {
			break
		}
		r.deps.Logger.Warn("tail ended, opening it again", "err", err)
		r.metrics.tailRestarts.Inc()
		_ = pause.For(ctx, backOff.NextBackOff()) // the loop sees that ctx has ended
	}
	return nil
}

// load fills the store from the snapshot, and sets r.applied to the offsets from which the topics
// have everything that the store lacks.
func (r *Replica) load(ctx context.Context) error {
	committed, err := retry(ctx, func() (map[kafka.TopicPartition]int64, error) {
		return r.deps.Offsets.CommittedOffsets(ctx, schemas.GroupProjector, registryTopics)
	})
	if err != nil {
		return fmt.Errorf("read the projector's offsets: %w", err)
	}
	starts, err := retry(ctx, func() (map[kafka.TopicPartition]int64, error) {
		return r.deps.Offsets.StartOffsets(ctx, registryTopics)
	})
	if err != nil {
		return fmt.Errorf("read start offsets: %w", err)
	}
	whole := true // no record has expired: the topics hold everything
	r.mu.Lock()   // /status reads applied meanwhile
	for tp, start := range starts {
		whole = whole && start == 0
		r.applied[tp] = start
	}
	r.mu.Unlock()
	if whole && (len(committed) == 0 || r.deps.Snapshot == nil) {
		r.deps.Logger.Info("folding the registry from the topics", "reason", "nothing was projected yet")
		return nil
	}
	if r.deps.Snapshot == nil {
		return errors.New("replica: the topics do not begin at offset 0 and there is no snapshot")
	}
	if !r.loadSnapshot(ctx, whole) {
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for tp, offset := range committed {
		r.applied[tp] = max(r.applied[tp], offset)
	}
	return nil
}

// loadSnapshot returns whether the snapshot was loaded. It retries until ctx ends or, with
// mayGiveUp, until SnapshotPatience is over.
func (r *Replica) loadSnapshot(ctx context.Context, mayGiveUp bool) bool {
	begin, backOff := time.Now(), backoff.NewExponentialBackOff()
	backOff.MaxInterval = 5 * time.Second
	for ctx.Err() == nil {
		err := r.store.load(ctx, r.deps.Snapshot)
		if err == nil {
			r.deps.Logger.Info("snapshot loaded", "tokens", r.Tokens(), "seconds", time.Since(begin).Seconds())
			return true
		}
		r.metrics.snapshotErrors.Inc()
		if mayGiveUp && time.Since(begin) >= r.cfg.SnapshotPatience {
			r.deps.Logger.Warn("folding the registry from the topics", "reason", "no snapshot", "err", err)
			return false
		}
		wait := backOff.NextBackOff()
		if mayGiveUp {
			wait = min(wait, max(r.cfg.SnapshotPatience-time.Since(begin), 0))
		}
		r.deps.Logger.Warn("snapshot failed, trying again", "err", err)
		_ = pause.For(ctx, wait) // the loop sees that ctx has ended
	}
	return false
}

// Seal moves the registry's root to slot. The caller knows that every fact up to that slot has been
// applied. done says that the source has ended: then the root moves to the highest slot of any
// applied fact, if that is higher.
func (r *Replica) Seal(slot uint64, done bool) { r.store.seal(slot, done) }

// Root is the registry's root at the slot sealed last; false until the copy is loaded.
func (r *Replica) Root() (root.Root, bool) { return r.store.root() }

// Search ranks the members of the registry, see package search. By the time the caller reads a
// hit's row, the row may have changed, or the mint may not be a member any more.
func (r *Replica) Search(query search.Query) search.Result {
	if filter := &query.Filter; filter.MinVolume != nil && r.store.volumes.differ.Load() {
		// The index has the volumes that tokens are ordered by, and not those that users see.
		filter.Passes, filter.MinVolume = r.store.volumes.atLeast(*filter.MinVolume, filter.Passes), nil
	}
	return r.index.Search(query)
}

// Tokens is the number of members of the registry.
func (r *Replica) Tokens() int { return r.store.table.tokens() }

// Ready returns whether the copy is loaded and has applied the topics up to where they ended when
// the load was over. Once true it stays true.
func (r *Replica) Ready() bool { return r.ready.Load() }

// Freshness summarises the last five minutes.
func (r *Replica) Freshness() Freshness { return r.freshness.summary(r.deps.Now()) }

// View is the content of the slot ledger, and how far every topic is applied, at one moment.
type View struct {
	// Source is nil until the source has reported, and until the ledger is read up to where it
	// ended when the node started: before that, a report may be an earlier run's. Read only.
	Source   *eventspb.SourceStatus
	Coverage coverage.Coverage
	// Applied has the offset after the last applied record of each partition. A partition of which
	// nothing was read may be missing.
	Applied map[kafka.TopicPartition]int64
}

// View returns the present view. Its parts are of one moment.
func (r *Replica) View() View {
	r.mu.Lock()
	defer r.mu.Unlock()
	view := View{Coverage: r.slots.coverage(), Applied: maps.Clone(r.applied)}
	if r.caughtUpWithSlots() {
		view.Source = r.source
	}
	return view
}

// slotsToRead returns the end offsets of the slot ledger's partitions. It leaves out partitions
// without a record, also those whose records have all expired: nothing will be read from them.
func (r *Replica) slotsToRead(ctx context.Context) (map[kafka.TopicPartition]int64, error) {
	ends, err := r.deps.Offsets.EndOffsets(ctx, []string{schemas.TopicSlots})
	if err != nil {
		return nil, err
	}
	starts, err := r.deps.Offsets.StartOffsets(ctx, []string{schemas.TopicSlots})
	maps.DeleteFunc(ends, func(tp kafka.TopicPartition, end int64) bool { return end <= starts[tp] })
	return ends, err
}

// caughtUpWithSlots returns whether the slot ledger is read up to slotEnds. The caller holds mu.
func (r *Replica) caughtUpWithSlots() bool {
	for tp, end := range r.slotEnds {
		if r.applied[tp] < end {
			return false
		}
	}
	return r.slotEnds != nil
}

// Applied is View's Applied, without the cost of a coverage.
func (r *Replica) Applied() map[kafka.TopicPartition]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.applied)
}

// retry repeats do until it succeeds or ctx ends.
func retry[T any](ctx context.Context, do func() (T, error)) (T, error) {
	return backoff.Retry(ctx, do, backoff.WithMaxElapsedTime(0))
}
