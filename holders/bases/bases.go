// Package bases writes bases of balances: now and then the latest facts about every open token
// account, so that tables can be made anew when chain.balances.v1 no longer has these facts.
//
// In: the tables of balances, how far the projector has read, and the counts of holders. Out:
// records of chain.balance-bases.v1, and a row of balance_bases_raw when a base is durable.
// Guarantees: a base has every fact of the records below the offsets that its marks name. The marks
// come after all accounts, so an unfinished base of a killed process makes no mint complete. A mint
// that is not known to be complete gets a mark that says so, which replaces older marks.
//
// One instance runs at a time, in the process that counts holders: two would write two bases.
package bases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/holders"
	"github.com/mintlake/mintlake/internal/counters"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

const (
	// lookEvery is how often a base looks whether the projector, or the counts of holders, have
	// come far enough.
	lookEvery = time.Second
	// longestCounts is how long a base waits at most for counts of holders, which its marks need. A
	// mint of millions of accounts is counted every few minutes.
	longestCounts = 15 * time.Minute
	// errorPause is the pause after a base that failed.
	errorPause = time.Minute
	// pageMints is how many mints are read at a time.
	pageMints = 1000
	// partAccounts is how many accounts and spends a record has at most: below 300 KB.
	partAccounts = 1000
	// flushBytes is how many bytes of records gather before they are written.
	flushBytes = 4 << 20
)

// Row is a base as balance_bases_raw has it.
type Row struct {
	Slot                             uint64
	Began, Ended                     time.Time
	Accounts, Mints, Complete, Bytes uint64
}

// Range is the mints whose base58 text is above After and at most Last.
type Range struct{ After, Last string }

// Mark is what is known of a mint: see eventspb.BaseMark.
type Mark struct {
	Mint                           string
	First, Based, BasedFrom, Since uint64
}

// Store is ClickHouse with the room's statements. Each method that takes a visit calls it with one
// row after the other, ordered by mint.
type Store interface {
	// Tables names the tables: see schemas.HeaderTables.
	Tables(ctx context.Context) (string, error)
	// Now is the server's time.
	Now(ctx context.Context) (time.Time, error)
	// Last returns the last base; the zero value if there is none.
	Last(ctx context.Context) (Row, error)
	// Note stores the row of a finished base.
	Note(ctx context.Context, base Row) error
	Reach(ctx context.Context) (holders.Reach, error)
	NoteReach(ctx context.Context, reach holders.Reach) error
	// Uncounted returns how many mints have facts that no count has seen, and were not counted
	// since a time.
	Uncounted(ctx context.Context, since time.Time) (uint64, error)
	// Page returns the range of the next mints above one, at most limit mints; false if there are
	// none.
	Page(ctx context.Context, after string, limit int) (Range, bool, error)
	Accounts(ctx context.Context, of Range, visit func(mint string, account *eventspb.HeldAccount) error) error
	Spends(ctx context.Context, of Range, visit func(mint string, spend *eventspb.DelegateSpend) error) error
	Marks(ctx context.Context, of Range, began time.Time, visit func(Mark) error) error
	// Retryable reports whether the same call may succeed later.
	Retryable(err error) bool
}

// Offsets tells where topics end, and what groups have read.
type Offsets interface {
	kafka.Offsets
	CommittedOffsets(ctx context.Context, group string, topics []string) (map[kafka.TopicPartition]int64, error)
}

// Deps are the collaborators. All but Registerer are required.
type Deps struct {
	Store      Store
	Producer   kafka.RecordProducer
	Offsets    Offsets
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Bases is the room's component.
type Bases struct {
	every   time.Duration
	deps    Deps
	metrics *metrics
}

// New makes a room that writes a base once each every, which must be at least 1 s. It does no I/O.
func New(every time.Duration, deps Deps) (*Bases, error) {
	if deps.Store == nil || deps.Producer == nil || deps.Offsets == nil || deps.Logger == nil || every < time.Second {
		return nil, errors.New("bases of balances: store, producer, offsets, logger and a time of 1s or more are required")
	}
	metrics, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("bases of balances: %w", err)
	}
	metrics.every.Set(every.Seconds())
	return &Bases{every: every, deps: deps, metrics: metrics}, nil
}

// Run writes one base after the other until ctx ends; then it returns nil. After a transient error
// the base is begun anew. It returns an error that only an operator can mend.
func (b *Bases) Run(ctx context.Context) error {
	for {
		wait, err := b.next(ctx)
		if err != nil && ctx.Err() == nil {
			if !b.deps.Store.Retryable(err) && !kafka.Retryable(err) {
				return fmt.Errorf("bases of balances: %w", err)
			}
			b.metrics.errors.Inc()
			b.deps.Logger.Warn("no base of balances was written, it is begun anew", "err", err, "pause", errorPause)
			wait = errorPause
		}
		if pause.For(ctx, wait) != nil {
			return nil
		}
	}
}

// next writes a base if one is due, and returns how long it is until the next one.
func (b *Bases) next(ctx context.Context) (wait time.Duration, err error) {
	last, err := b.deps.Store.Last(ctx)
	if err != nil {
		return 0, err
	}
	now, err := b.deps.Store.Now(ctx)
	if err != nil {
		return 0, err
	}
	if due := last.Began.Add(b.every); due.After(now) {
		b.metrics.set(last)
		return due.Sub(now), nil
	}
	base, err := b.Once(ctx)
	if err != nil {
		return 0, err
	}
	b.metrics.written.Inc()
	b.metrics.set(base)
	b.deps.Logger.Info("base of balances written", "slot", base.Slot, "accounts", base.Accounts, "mints", base.Mints, "complete", base.Complete, "took", base.Ended.Sub(base.Began))
	return 0, nil
}

// topics are the topics that the projector must have read before a base is begun. Facts of older
// bases must be in the tables too.
var topics = []string{schemas.TopicBalances, schemas.TopicBalanceBases}

// Once writes a base, as soon as the projector has read what the topics have now.
func (b *Bases) Once(ctx context.Context) (Row, error) {
	w := &writer{deps: &b.deps}
	if err := w.begin(ctx); err != nil {
		return Row{}, err
	}
	if err := w.each(ctx, w.accounts); err != nil {
		return Row{}, err
	}
	if err := w.awaitCounts(ctx); err != nil {
		return Row{}, err
	}
	if err := w.each(ctx, w.marks); err != nil {
		return Row{}, err
	}
	var err error
	if w.row.Ended, err = b.deps.Store.Now(ctx); err != nil {
		return Row{}, err
	}
	return w.row, b.deps.Store.Note(ctx, w.row)
}

type metrics struct {
	written, errors                             prometheus.Counter
	every, at, accounts, complete, bytes, taken prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_balance_bases_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_balance_base_" + name, Help: help})
	}
	m := &metrics{
		written:  counter("written_total", "Bases of balances that were written as a whole."),
		errors:   counter("errors_total", "Bases of balances that failed; they are begun anew."),
		every:    gauge("interval_seconds", "Time from the begin of one base of balances to that of the next: balances.base_every."),
		at:       gauge("timestamp_seconds", "When the last base of balances was begun; 0 before the first."),
		accounts: gauge("accounts", "Open token accounts in the last base of balances."),
		complete: gauge("complete_mints", "Mints that the last base of balances says are complete."),
		bytes:    gauge("bytes", "Bytes of the last base of balances before compression."),
		taken:    gauge("seconds", "How long the last base of balances took."),
	}
	return m, counters.Register(registerer, m.written, m.errors, m.every, m.at, m.accounts, m.complete, m.bytes, m.taken)
}

func (m *metrics) set(base Row) {
	if base.Began.IsZero() {
		return
	}
	m.at.Set(float64(base.Began.Unix()))
	m.accounts.Set(float64(base.Accounts))
	m.complete.Set(float64(base.Complete))
	m.bytes.Set(float64(base.Bytes))
	m.taken.Set(base.Ended.Sub(base.Began).Seconds())
}
