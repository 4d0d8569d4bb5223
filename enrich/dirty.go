package enrich

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/unknowns"
)

const (
	// rereadMaxAge is how old the record of an event may be; older events cause no read. Without it
	// a new consumer group, which begins with the oldest event, would read the whole registry.
	rereadMaxAge = time.Hour
	// readCommitment is the commitment of all account reads.
	readCommitment = solana.Confirmed
)

// RereadConfig configures a Rereader. Zero values take the default.
type RereadConfig struct {
	// Quiet is how long a changed mint must have had no further change before it is read. Default
	// 10 s.
	Quiet time.Duration
	// MaxWait is how long a mint that keeps changing waits for its read. Default 60 s.
	MaxWait time.Duration
	// maxDeltas is how many changes of supply since the last read make a mint due at once: the
	// registry's state keeps each change until a read covers it. Default 1,000.
	maxDeltas int
	// maxMints bounds the mints that wait, about 150 bytes each. A mint that does not fit is read
	// after its next change. Default 100,000.
	maxMints int
	// batchMints is how many mints one RPC call reads, two accounts each. Default and maximum 50.
	batchMints int
	// batchWait is how long a due mint waits for others to share its call. Default 1 s.
	batchWait time.Duration
	// CallsPerSecond bounds the RPC calls: one for each batch, and one more for each of its mints
	// with an account over firstRead. Only one call is under way at a time. Default 5.
	CallsPerSecond float64
	// maxRetryDelay bounds the delay between attempts to reach an RPC server that is away; the
	// first is 1 s. Default 30 s.
	maxRetryDelay time.Duration
	// commitInterval is the time between two commits of offsets. Default 1 s.
	commitInterval time.Duration
	// grace is how long a stop may take to commit. Default 5 s.
	grace time.Duration
}

func (c RereadConfig) withDefaults() RereadConfig {
	c.Quiet = cmp.Or(c.Quiet, 10*time.Second)
	c.MaxWait = cmp.Or(c.MaxWait, time.Minute)
	c.maxDeltas = cmp.Or(c.maxDeltas, 1000)
	c.maxMints = cmp.Or(c.maxMints, 100_000)
	c.batchMints = cmp.Or(c.batchMints, maxBatchMints)
	c.batchWait = cmp.Or(c.batchWait, time.Second)
	c.CallsPerSecond = cmp.Or(c.CallsPerSecond, 5)
	c.maxRetryDelay = cmp.Or(c.maxRetryDelay, 30*time.Second)
	c.commitInterval = cmp.Or(c.commitInterval, time.Second)
	c.grace = cmp.Or(c.grace, 5*time.Second)
	return c
}

func (c RereadConfig) problems() error {
	var problems []error
	for _, rule := range []struct {
		key string
		ok  bool
	}{
		{"quiet", c.Quiet > 0}, {"max_wait", c.MaxWait > 0}, {"max_deltas", c.maxDeltas > 0}, {"max_mints", c.maxMints > 0},
		{"batch_wait", c.batchWait > 0}, {"calls_per_second", c.CallsPerSecond > 0},
		{"max_retry_delay", c.maxRetryDelay > 0}, {"commit_interval", c.commitInterval > 0}, {"grace", c.grace > 0},
	} {
		if !rule.ok {
			problems = append(problems, fmt.Errorf("enrich: reread %s must be positive", rule.key))
		}
	}
	if c.batchMints < 1 || c.batchMints > maxBatchMints {
		problems = append(problems, fmt.Errorf("enrich: reread batch_mints %d: want 1 to %d", c.batchMints, maxBatchMints))
	}
	return errors.Join(problems...)
}

// RereadDeps are the collaborators of a Rereader.
type RereadDeps struct {
	// Consumer reads token events as a member of schemas.GroupRereads.
	Consumer Consumer
	Producer kafka.RecordProducer
	// Upstreams are where accounts are read. If there is only one server, RPC may be given instead.
	Upstreams *Upstreams
	RPC       RPC
	// Unknowns counts token extensions that this version does not know; may be nil.
	Unknowns *unknowns.Book
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: then the metrics go nowhere.
	Registerer prometheus.Registerer
	// Clock may be nil: then it is time.Now. It decides when to read; no fact depends on it.
	Clock func() time.Time
}

// Rereader reads the accounts of mints that events changed, some time after the change. The facts
// have the position of the read's slot. They add what only the accounts hold, and correct fields
// whose last change no event stated. They also cover the changes of supply up to that slot, so that
// the fold can drop these.
//
// An offset is committed once its mint is remembered, in memory only. If a crash loses the mint,
// the registry still has what the events say, and the mint's next change brings it back.
type Rereader struct {
	cfg       RereadConfig
	consumer  Consumer
	producer  kafka.RecordProducer
	upstreams *Upstreams
	unknowns  *unknowns.Book
	logger    *slog.Logger
	now       func() time.Time
	dirty     *dirtySet
	pace      *rate.Limiter // of RPC calls
	metrics   *rereadMetrics

	mu          sync.Mutex
	uncommitted map[kafka.TopicPartition]kafka.Record
}

// NewRereader checks the configuration and registers the metrics. It reports all problems at once.
func NewRereader(cfg RereadConfig, deps RereadDeps) (*Rereader, error) {
	cfg = cfg.withDefaults()
	problems := []error{cfg.problems()}
	if deps.Consumer == nil || deps.Producer == nil || deps.RPC == nil && deps.Upstreams == nil {
		problems = append(problems, errors.New("enrich: re-reads need a consumer, a producer and an RPC client"))
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
	r := &Rereader{
		cfg: cfg, consumer: deps.Consumer, producer: deps.Producer, upstreams: upstreams, unknowns: deps.Unknowns, logger: deps.Logger, now: deps.Clock,
		dirty: newDirtySet(cfg), pace: pause.Evenly(cfg.CallsPerSecond), uncommitted: map[kafka.TopicPartition]kafka.Record{},
	}
	r.metrics, err = newRereadMetrics(deps.Registerer, func() float64 { return float64(r.dirty.size()) })
	return r, err
}

// Run reads until ctx ends, then returns nil. It returns an error if reading or writing Kafka fails
// for good.
func (r *Rereader) Run(ctx context.Context) error {
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return r.intake(running) })
	group.Go(func() error { return r.reader(running) })
	group.Go(func() error { return commitEvery(running, r.cfg.commitInterval, r.commit) })
	err := group.Wait()

	final, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.cfg.grace)
	defer cancel()
	if flushErr := r.commit(final); err == nil && flushErr != nil {
		err = flushErr
	}
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return nil
	}
	return err
}

func (r *Rereader) intake(ctx context.Context) error {
	for {
		records, err := r.consumer.FetchBatch(ctx, intakeBatch, intakeWait)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("read token events: %w", err)
		}
		for i := range records {
			r.notice(&records[i])
		}
		r.seen(records)
	}
}

// seen notes records for the next commit, unless a later one of the partition is noted already.
func (r *Rereader) seen(records []kafka.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range records {
		tp := records[i].TopicPartition()
		if last, ok := r.uncommitted[tp]; !ok || last.Offset < records[i].Offset {
			r.uncommitted[tp] = kafka.Record{Topic: tp.Topic, Partition: tp.Partition, Offset: records[i].Offset}
		}
	}
}

// notice remembers the mint of an event that may have changed the mint's accounts. If the event
// closes the mint, it forgets the mint. It ignores three kinds of events: one that does not parse,
// which is the projector's dead letter; one without a mint, for which ingest requests enrichment;
// one at a slot that no chain can have reached. It counts an event as skipped if it is older than
// rereadMaxAge, or if there is no room for its mint.
func (r *Rereader) notice(record *kafka.Record) {
	if !mayChangeAccounts(record) {
		return
	}
	event := &eventspb.TokenEvent{}
	if proto.Unmarshal(record.Value, event) != nil || len(event.GetMint()) != len(pubkey.Key{}) {
		return
	}
	if !r.upstreams.bounds.Remember(event.GetPosition().GetSlot(), event.GetBlockTime()) {
		return
	}
	mint, now := pubkey.Key(event.GetMint()), r.now()
	kind := schemas.KindOf(event)
	switch {
	case kind == schemas.KindCloseMint:
		r.dirty.forget(mint)
	case !record.Time.IsZero() && now.Sub(record.Time) > rereadMaxAge:
		r.metrics.skipped.WithLabelValues(rereadOld).Inc()
	case !r.dirty.mark(mint, event.GetPosition().GetSlot(), kind == schemas.KindMintTo || kind == schemas.KindBurn, now):
		r.metrics.skipped.WithLabelValues(rereadFull).Inc()
	}
}

// mayChangeAccounts reports whether the event of a record may have changed a mint's accounts. It
// reads only the type header, so that most records need not be decoded. A raw event, whose
// instruction no decoder understands, may have changed anything.
func mayChangeAccounts(record *kafka.Record) bool {
	switch schemas.Kind(strings.TrimPrefix(string(record.Header(schemas.HeaderType)), typeTokenEvent)) {
	case schemas.KindMintTo, schemas.KindBurn, schemas.KindSetAuthority, schemas.KindMetadataSet, schemas.KindExtensionSet,
		schemas.KindCloseMint, schemas.KindRaw:
		return true
	default:
		return false
	}
}

// typeTokenEvent is the prefix of the type header of a token event's record.
const typeTokenEvent = "token_event."

// commit commits the offsets that seen noted. It must not be called concurrently: commitEvery calls
// it, and Run after commitEvery has ended.
func (r *Rereader) commit(ctx context.Context) error {
	r.mu.Lock()
	records := slices.Collect(maps.Values(r.uncommitted))
	clear(r.uncommitted)
	r.mu.Unlock()
	if len(records) == 0 {
		return nil
	}
	if err := r.consumer.Commit(ctx, records); err != nil {
		r.seen(records) // for the last try, at the end of Run
		return fmt.Errorf("commit token events seen by re-reads: %w", err)
	}
	return nil
}
