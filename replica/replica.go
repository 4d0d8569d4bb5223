// Package replica is an API node's own copy of the registry, in memory.
//
// In: a snapshot of the registry from ClickHouse, then the topics chain.token-events.v1 and
// registry.enrichments.v1 from before that snapshot on, and chain.slots.v1 wholly. Out: tokens by
// mint, search, what the source says of itself, coverage, freshness.
// Guarantees: the fold forgives repeats and any order, so the overlap of snapshot and topics is
// harmless. Once ready it stays ready: neither ClickHouse nor Kafka is needed to read. Readers
// never wait for the fold, only for the exchange of pointers.
//
// Start: (1) remember the projector's committed offsets, below which everything is durable in
// ClickHouse; (2) load the snapshot; (3) tail from (1). When ClickHouse does not answer within
// SnapshotPatience, and the topics still begin at offset 0, everything is folded from the topics
// instead: they are kept for ever, it only takes longer. The same when the projector has committed
// nothing.
package replica

import (
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
)

// Snapshot reads the registry's facts from where the projector has made them durable.
type Snapshot interface {
	// Load calls each once per mint, possibly on several goroutines at a time. The strings are the
	// callee's to keep, the slice is not.
	Load(ctx context.Context, each func(mint string, facts []registry.Fact)) error
}

// Offsets tells where the topics begin and end and how far a consumer group is. A partition without
// a committed offset is missing.
type Offsets interface {
	StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error)
	EndOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error)
	CommittedOffsets(ctx context.Context, group string, topics []string) (map[kafka.TopicPartition]int64, error)
}

// Config of a Replica. Zero values mean the defaults.
type Config struct {
	// SnapshotPatience is how long ClickHouse may be away at start before everything is folded from
	// the topics. Default 30 s.
	SnapshotPatience time.Duration
	// batchRecords bounds the records folded at once. Default 5,000.
	batchRecords int
	// batchWait is how long a batch gathers once it has a record, and three times as long while
	// thousands come a second. It delays every change by that much. Default 20 ms.
	batchWait time.Duration
}

// Deps are the collaborators. Snapshot may be nil: then everything comes from the topics.
type Deps struct {
	Snapshot Snapshot
	Offsets  Offsets
	// OpenTail starts reading at the given offsets; partitions that are missing there from their
	// first.
	OpenTail func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error)
	// Listeners may be empty.
	Listeners []Listener
	// NotAMint hears of addresses that enrichment found to hold no mint. May be nil.
	NotAMint   func(mint string)
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
	batch     batch // of the goroutine that tails

	mu      sync.Mutex
	applied map[kafka.TopicPartition]int64 // the offset after the last record applied
	source  *eventspb.SourceStatus
	slots   *slotView
	// slotEnds is where the slot ledger ended when the node started. Until it is read that far, a
	// report in it may be an earlier run's.
	slotEnds map[kafka.TopicPartition]int64
}

// registryTopics make the copy; the slot ledger only tells about it, so being ready does not wait
// for them.
var (
	registryTopics = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments}
	allTopics      = []string{schemas.TopicTokenEvents, schemas.TopicEnrichments, schemas.TopicSlots}
)

// New checks the collaborators and registers the metrics.
func New(cfg Config, deps Deps) (*Replica, error) {
	if deps.Offsets == nil || deps.OpenTail == nil {
		return nil, errors.New("replica: offsets and tail are required")
	}
	if cfg.SnapshotPatience <= 0 {
		cfg.SnapshotPatience = 30 * time.Second
	}
	if cfg.batchRecords <= 0 {
		cfg.batchRecords = 5_000
	}
	if cfg.batchWait <= 0 {
		cfg.batchWait = 20 * time.Millisecond
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.NotAMint == nil {
		deps.NotAMint = func(string) {}
	}
	index := search.NewInverted()
	r := &Replica{
		cfg: cfg, deps: deps, index: index, store: newStore(index, deps.Listeners), started: deps.Now().Truncate(time.Millisecond), applied: map[kafka.TopicPartition]int64{}, slots: newSlotView(),
		batch: batch{applied: map[kafka.TopicPartition]int64{}},
	}
	r.freshness = newFreshness(r.started)
	var err error
	r.metrics, err = newMetrics(deps.Registerer, r)
	return r, err
}

// Run loads and tails until ctx ends; then it returns nil. Trouble with ClickHouse or Kafka is
// waited out.
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
	var root sync.WaitGroup
	defer root.Wait()
	defer stop()
	root.Go(func() { r.store.keepBase(ctx) })
	return r.follow(ctx)
}

func (r *Replica) follow(ctx context.Context) error {
	begin := r.deps.Now()
	if err := r.load(ctx); err != nil {
		return err
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

// load brings the store to the state that the offsets in r.applied stand for.
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
	whole := true // the topics hold everything
	r.mu.Lock()   // /status looks on
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

// loadSnapshot says whether the snapshot was loaded. It gives up when ctx ends, or after
// SnapshotPatience if that is allowed.
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

// Seal moves the registry's root to a slot of which everything was applied; with done to the
// highest slot applied.
func (r *Replica) Seal(slot uint64, done bool) { r.store.seal(slot, done) }

// Root is the registry's root at the slot sealed last; false until the copy is loaded.
func (r *Replica) Root() (root.Root, bool) { return r.store.root() }

// Lookup returns a member of the registry, or nil.
func (r *Replica) Lookup(mint string) *registry.Token { return r.store.lookup(mint) }

// Token returns the member of a row id, or nil.
func (r *Replica) Token(id uint32) *registry.Token { return r.store.token(id) }

// Lists are the token lists that hold a member, by name.
func (r *Replica) Lists(id uint32) []registry.Listing { return r.store.lists(id) }

// Row calls use with the row of a member. It returns false, and does not call use, if the mint of
// that row id is none.
func (r *Replica) Row(id uint32, use func(row *Row)) bool { return r.store.row(id, use) }

// ID is the number of a member of the registry, and whether the mint is one. A mint keeps its
// number while the process lives.
func (r *Replica) ID(mint string) (uint32, bool) { return r.store.id(mint) }

// Search ranks the members of the registry. See package search. A row may be younger than the hit,
// and gone.
func (r *Replica) Search(query search.Query) search.Result { return r.index.Search(query) }

// Tokens is the number of members of the registry.
func (r *Replica) Tokens() int { return r.store.table.Marked() }

// Ready says that the copy is loaded and was as far as the topics when the node started. It never
// goes back.
func (r *Replica) Ready() bool { return r.ready.Load() }

// Freshness summarises the last five minutes.
func (r *Replica) Freshness() Freshness { return r.freshness.summary(r.deps.Now()) }

// View is what the slot ledger said, and how far every topic is applied, at one moment.
type View struct {
	// Source is nil until the source has reported, and until the ledger is read as far as it was
	// when the node started: what an earlier run said of itself is not this one's word. Read only.
	Source   *eventspb.SourceStatus
	Coverage coverage.Coverage
	// Applied is the offset after the last record applied. A partition that nothing was read of may
	// be missing.
	Applied map[kafka.TopicPartition]int64
}

// View returns one consistent unit.
func (r *Replica) View() View {
	r.mu.Lock()
	defer r.mu.Unlock()
	view := View{Coverage: r.slots.coverage(), Applied: maps.Clone(r.applied)}
	if r.caughtUpWithSlots() {
		view.Source = r.source
	}
	return view
}

// slotsToRead are the ends of the slot ledger's partitions that hold something; expired records
// will never be read.
func (r *Replica) slotsToRead(ctx context.Context) (map[kafka.TopicPartition]int64, error) {
	ends, err := r.deps.Offsets.EndOffsets(ctx, []string{schemas.TopicSlots})
	if err != nil {
		return nil, err
	}
	starts, err := r.deps.Offsets.StartOffsets(ctx, []string{schemas.TopicSlots})
	maps.DeleteFunc(ends, func(tp kafka.TopicPartition, end int64) bool { return end <= starts[tp] })
	return ends, err
}

// caughtUpWithSlots needs the lock.
func (r *Replica) caughtUpWithSlots() bool {
	for tp, end := range r.slotEnds {
		if r.applied[tp] < end {
			return false
		}
	}
	return r.slotEnds != nil
}

// Applied is View's Applied at little cost.
func (r *Replica) Applied() map[kafka.TopicPartition]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.applied)
}

// retry repeats do until it succeeds or ctx ends.
func retry[T any](ctx context.Context, do func() (T, error)) (T, error) {
	return backoff.Retry(ctx, do, backoff.WithMaxElapsedTime(0))
}
