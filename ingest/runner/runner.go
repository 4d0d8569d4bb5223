// Package runner runs ingest: it takes blocks from the sources, decodes them and writes what they
// state to Kafka.
//
// In: blocks of one or more sources, which run one after the other. Out: records of
// chain.token-events.v1, chain.swaps.v1, chain.pools.v1, registry.enrichment-requests.v1,
// registry.enrichments.v1 (accounts that a stream sent), chain.slots.v1, registry.dead-letters.v1
// and, with Deps.Balances, chain.balances.v1 and chain.transfers.v1. Guarantees: a block's slot
// record is written only after every other record of the block is acknowledged, and slot records
// are in the order of the blocks. So after a crash the ledger tells exactly what must be read
// again. Reading it again writes the same records (only received-at and the source's status
// differ). Blocks in the ledger are not written twice. Memory is bounded by maxInFlight blocks.
// With Deps.Stream, the same holds for the public stream: a block's slot record is written only
// once the stream has the block.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/decode"
	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// LedgerReader reads the slot records of earlier runs, in the order of the log, up to its present
// end. Later calls may leave out what was read before.
type LedgerReader interface {
	ReadSlots(ctx context.Context, visit func(*eventspb.SlotRecord)) error
}

// MintReader reads the mints that the log introduces: those of sighting and initialize_mint events,
// with the slot of the event. timed means that the event has a block time. It may leave some out:
// such a mint is sighted once more, which changes no token. Later calls may leave out what was read
// before.
type MintReader interface {
	ReadMints(ctx context.Context, visit func(mint pubkey.Key, slot uint64, timed bool)) error
}

// StreamWriter passes blocks and statuses on to the public stream. *transactions.Publisher is one.
type StreamWriter interface {
	// Begin takes the highest slot that earlier runs wrote.
	Begin(tip uint64)
	// Live says that from now on blocks come from the chain, not from a file, so they must not wait
	// for Kafka.
	Live()
	// Block takes a block, which may be nil. The channel is closed when the block is durable.
	Block(block *transactions.Block) (durable <-chan struct{})
	Status(slot uint64, status eventspb.StreamSlotStatus)
}

// decodeWorkers is how many goroutines decode blocks.
const decodeWorkers = 2

// maxSeenMints bounds the mints that are remembered as sighted, some 20 bytes each. It is twice the
// number of mints on mainnet. Beyond half of the bound, the mints that were not seen for the
// longest time may be forgotten and sighted again, which changes no token. The same bound holds for
// pools.
const maxSeenMints = 100_000_000

// Config configures a Runner. The zero value of each field takes its default.
type Config struct {
	// Sources run one after the other; only the last may be endless. Without sources, the run is
	// done at once.
	Sources []source.Source
	// AllTransactions passes all transactions except votes on to the public stream, instead of only
	// those that touch the programs that Mintlake subscribes to.
	AllTransactions bool
	// maxInFlight bounds the blocks (and lone transactions) between source and acknowledgement.
	// Default 32.
	maxInFlight int
	// CheckLinks ends the run with an error if a source's blocks do not continue the chain in the
	// ledger.
	CheckLinks bool
	// Beside means that another run works at the same time, whose status is the one to show. This
	// run then writes no status records.
	Beside bool
	// statusInterval is the time between status records. Default 1 s.
	statusInterval time.Duration
	// grace is how long a stop waits for blocks under way. Default 5 s.
	grace time.Duration
	// followInterval is how often Follow reads what is new. Default 2 s.
	followInterval time.Duration
}

func (c Config) withDefaults() Config {
	c.maxInFlight = cmp.Or(c.maxInFlight, 32)
	c.statusInterval = cmp.Or(c.statusInterval, time.Second)
	c.grace = cmp.Or(c.grace, 5*time.Second)
	c.followInterval = cmp.Or(c.followInterval, 2*time.Second)
	return c
}

// Deps are the runner's collaborators. Producer is required.
type Deps struct {
	Producer kafka.RecordProducer
	// Ledger may be nil: then nothing was ingested before.
	Ledger LedgerReader
	// Mints may be nil: then every mint is sighted again in each run.
	Mints MintReader
	// Stream may be nil: then nothing is passed on to the public stream.
	Stream StreamWriter
	// Balances makes the records of balances and transfers; nil when they are off.
	Balances *balances.Maker
	// BalancesAs, if set, returns Balances. Run calls it when the ledger is read. extent is the
	// field SlotRecord.balances of the highest slot that is ingested, and not by a backfill; 0 if
	// there is none.
	BalancesAs func(extent uint64, slots *ledger.Ledger) (*balances.Maker, error)
	// Logger may be nil: then nothing is logged.
	Logger *slog.Logger
	// Registerer may be nil: then the metrics go nowhere.
	Registerer prometheus.Registerer
	// Tracer may be nil: then there are no spans, and no record carries a traceparent.
	Tracer *tracing.Tracer
	// Unknowns counts what the decoders do not know; may be nil.
	Unknowns *unknowns.Book
	// Bounds are the bounds that the sources' readers also use. The runner tells them the blocks of
	// earlier runs. May be nil.
	Bounds *bounds.Bounds
	// Clock gives received-at if a source does not, and the time of status records. Default
	// time.Now.
	Clock func() time.Time
}

// Runner runs ingest once.
type Runner struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	metrics *metrics
	decoder *decode.Decoder
	ledger  *ledger.Ledger
	seen    *seenMints
	pools   *seenMints
	status  *status
	// guessed means that a block with a guessed parent has been logged.
	guessed atomic.Bool
	links   links
	unread  unread
	// liveSlot is the highest slot that another run ingested, a backfill excepted. liveExtent says
	// of which mints its balances are, see Deps.BalancesAs.
	liveSlot, liveExtent uint64
	// introduced are the mints in the log that wait for the slot record of their block, by slot.
	// See load.
	introduced map[uint64][]introduced
}

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Runner, error) {
	if deps.Producer == nil {
		return nil, errors.New("new ingest runner: no producer")
	}
	if cfg.maxInFlight < 0 || cfg.statusInterval < 0 || cfg.grace < 0 || cfg.followInterval < 0 {
		return nil, errors.New("new ingest runner: negative setting")
	}
	for i, s := range cfg.Sources {
		if s == nil {
			return nil, fmt.Errorf("new ingest runner: source %d is nil", i)
		}
	}
	cfg = cfg.withDefaults()
	m, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("new ingest runner: %w", err)
	}
	if deps.Clock == nil {
		deps.Clock = time.Now
	}
	r := &Runner{
		cfg: cfg, deps: deps, log: deps.Logger, metrics: m, decoder: decode.New(m),
		ledger: ledger.New(0), seen: newSeenMints(maxSeenMints), pools: newSeenMints(maxSeenMints), status: newStatus(deps.Clock),
		introduced: make(map[uint64][]introduced),
	}
	r.log = cmp.Or(r.log, slog.New(slog.DiscardHandler))
	return r, nil
}

// Coverage returns which slots are ingested now, by this run and by earlier ones.
func (r *Runner) Coverage() coverage.Coverage { return r.ledger.Coverage() }

// Run ingests until the sources are done, ctx ends, or something fails that cannot be retried. It
// returns nil when the sources are done and everything is acknowledged, and also when ctx ended.
// Blocks under way then have Config.grace to finish. A Runner runs once.
func (r *Runner) Run(ctx context.Context) error {
	if err := r.load(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	r.introduced = nil // the blocks of the mints that still wait are read again
	if r.deps.BalancesAs != nil {
		var err error
		if r.deps.Balances, err = r.deps.BalancesAs(r.liveExtent, r.ledger); err != nil {
			return fmt.Errorf("ingest: %w", err)
		}
	}
	if r.deps.Stream != nil {
		r.deps.Stream.Begin(r.ledger.Coverage().ToSlot)
	}
	// When ctx ends, the work under way may go on for the grace period. A failure ends everything
	// at once.
	base, fail := context.WithCancelCause(context.WithoutCancel(ctx))
	defer fail(nil)
	stopGrace := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(r.cfg.grace, func() { fail(errGraceOver) })
		context.AfterFunc(base, func() { timer.Stop() })
	})
	defer stopGrace()

	p := newPipeline(base, r, fail)
	reports := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() { r.report(base, fail, reports) })
	p.start()
	done, err := r.runSources(ctx, p)
	p.drain()
	close(reports)
	reporting.Wait()
	if cause := context.Cause(base); cause != nil {
		err = cause
	}
	switch {
	case errors.Is(err, errGraceOver):
		r.log.Warn("stopped before every block under way was acknowledged; they will be read again")
		return nil
	case err != nil:
		return fmt.Errorf("ingest: %w", err)
	}
	r.status.finish(done)
	if err := r.produceStatus(base); err != nil && !errors.Is(context.Cause(base), errGraceOver) {
		return fmt.Errorf("ingest: %w", err)
	}
	return nil
}

// errGraceOver ends the work under way when the grace period of a stop is over.
var errGraceOver = errors.New("grace period is over")

// runSources runs the sources in turn. done means that all of them ended by themselves, before ctx
// or the pipeline did.
func (r *Runner) runSources(ctx context.Context, p *pipeline) (done bool, err error) {
	sources, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(p.base, stop)() // a failure stops the sources too
	for i, s := range r.cfg.Sources {
		kind := s.Kind()
		r.status.begin(i, kind, r.ledger.Highest(kind))
		r.log.Info("source begins", "source", kind, "resume_slot", r.ledger.Resume(kind))
		if r.deps.Stream != nil && kind != source.KindFile {
			r.deps.Stream.Live()
		}
		if err := s.Run(sources, r.ledger.For(kind), &sink{runner: r, pipeline: p, kind: kind, index: i}); err != nil {
			if ctx.Err() != nil || p.base.Err() != nil {
				return false, nil
			}
			return false, fmt.Errorf("source %s: %w", kind, err)
		}
		if sources.Err() != nil {
			return false, nil
		}
		r.log.Info("source is done", "source", kind)
	}
	return true, nil
}
