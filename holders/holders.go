// Package holders counts who holds each mint.
//
// In: the tables of balances, which the projector of balances fills. Out: holder_counts_raw, with
// the holders of a mint, the largest of them and whether they are all; and holder_counts_1h_raw.
// Guarantees: a count depends only on the facts that are stored, neither on their order nor on
// repeats. A mint that changed is counted again soon, but a mint of many accounts never takes more
// than a twentieth of the time, and all of them together not more than a quarter. If the process is
// killed, what was not counted is counted at the next start.
//
// One instance runs at a time: two would do the same work twice, and end with the same counts.
package holders

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/counters"
)

const (
	// every is how often changed mints are looked for, at most.
	every = 2 * time.Second
	// restFactor is how many times as long as a round the pause after it is. So counts take a
	// quarter of the time at most.
	restFactor = 3
	// chunk is how many mints one statement counts. A statement names each mint some ten times, and
	// ClickHouse takes statements of up to 256 KiB.
	chunk = 200
	// pauseFactor is how many times as long as its last count a mint waits until it is counted
	// again. So a mint of a million holders takes a twentieth of a processor, and its count is some
	// seconds old.
	pauseFactor = 20
	// alone is the number of accounts, and aloneChanges the number of changes, from which on a mint
	// is counted in a statement of its own. One account may have millions of changes.
	alone        = 50_000
	aloneChanges = 200_000
	// failedPause is how long a mint waits at least after its count has failed.
	failedPause = 30 * time.Second
	// sample is how many complete mints are compared with their supply at a time, and sampleEvery
	// how often.
	sample      = 1000
	sampleEvery = time.Minute
)

// Mint is a mint whose balances changed.
type Mint struct {
	Mint string
	// Touched grows with each record of the mint that is stored: it is the sum, over the
	// partitions, of the offset after the last one. Accounts is how many accounts the mint had at
	// the last count, and Changes how many changes of them were read for it.
	Touched           int64
	Accounts, Changes uint64
}

// Reach is how far the balances reach back.
type Reach struct {
	// Whole is the slot from which there is no gap in the balances; if no slot has balances, it is
	// after every slot.
	Whole uint64
	// Begins and Last are the first and the last slot of the slot ledger that is held. If there is
	// no gap after Begins, Whole is Begins.
	Begins, Last uint64
	// Floor is the lowest slot of the changes that are held.
	Floor uint64
	// Begun is the first offset that these tables had of each partition of chain.balances.v1; of
	// partition p of chain.balance-bases.v1 under -1-p.
	Begun map[int32]int64
}

// Difference is a mint whose balances, counted up to a slot, are not its supply.
type Difference struct {
	Mint string
	AsOf uint64
	// Missing is the supply less balances and withheld fees, raw.
	Missing string
}

// Store is ClickHouse with the room's statements.
type Store interface {
	// Changed lists mints with facts that no count has seen.
	Changed(ctx context.Context) ([]Mint, error)
	// Late lists mints whose creation, or a pool, came to the tables after their count. Other
	// projectors write creations and pools.
	Late(ctx context.Context) ([]Mint, error)
	// Reach returns how far the balances reach back.
	Reach(ctx context.Context) (Reach, error)
	// NoteReach stores the reach for those who read counts.
	NoteReach(ctx context.Context, reach Reach) error
	// Count counts the holders of mints, up to Touched at least.
	Count(ctx context.Context, mints []Mint, reach Reach) error
	// Differ compares the balances of complete mints with their supply: of limit mints at most,
	// those of again first. It returns how many it compared, and those that differ.
	Differ(ctx context.Context, limit int, again []Difference) (compared int, differ []Difference, err error)
	// Retryable reports whether the same call may succeed later.
	Retryable(err error) bool
}

// Deps are the collaborators. All but Registerer are required.
type Deps struct {
	Store      Store
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Holders is the room's component.
type Holders struct {
	deps    Deps
	metrics *metrics
	// suspects are the mints that differed at the last comparison.
	suspects []Difference
	// due is when a mint may be counted again. Mints that may be counted now are not in it.
	due map[string]time.Time
	// failed are the mints of a statement that failed: each is counted alone the next time.
	failed map[string]struct{}
	// nextLate is when to look again for mints of Store.Late, and nextReach when to read the reach
	// again.
	nextLate, nextReach time.Time
	// reach is the reach that was read last.
	reach Reach
	now   func() time.Time
}

// New registers the metrics. It does no I/O.
func New(deps Deps) (*Holders, error) {
	if deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("holders: store and logger are required")
	}
	metrics, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("holders: %w", err)
	}
	return &Holders{deps: deps, metrics: metrics, due: map[string]time.Time{}, failed: map[string]struct{}{}, now: time.Now}, nil
}

// Run counts until ctx ends; then it returns nil. It retries transient errors of ClickHouse, and
// returns an error that only an operator can mend.
func (h *Holders) Run(ctx context.Context) error {
	var compared time.Time
	for {
		began := h.now()
		err := h.Once(ctx)
		if err == nil && h.now().Sub(compared) >= sampleEvery {
			compared = h.now()
			err = h.compare(ctx)
		}
		if err != nil && ctx.Err() == nil {
			if !h.deps.Store.Retryable(err) {
				return fmt.Errorf("holders: %w", err)
			}
			h.metrics.errors.Inc()
			h.deps.Logger.Warn("holders were not counted, it is done again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(every, h.now().Sub(began)*restFactor)):
		}
	}
}

// Once counts the mints that changed and are due. It ends with the first error. The next call
// counts the mints of the failed statement one by one. A mint that fails alone then waits, so that
// it does not keep the others from being counted.
func (h *Holders) Once(ctx context.Context) error {
	changed, err := h.deps.Store.Changed(ctx)
	if err != nil {
		return fmt.Errorf("look for changed mints: %w", err)
	}
	now := h.now()
	if err := h.updateReach(ctx); err != nil {
		return err
	}
	late, err := h.late(ctx)
	if err != nil {
		return err
	}
	changed = append(changed, late...)
	maps.DeleteFunc(h.due, func(_ string, at time.Time) bool { return !at.After(now) })
	due := slices.DeleteFunc(changed, func(m Mint) bool { return h.due[m.Mint].After(now) })
	h.metrics.waiting.Set(float64(len(due)))
	for _, mints := range h.chunks(due) {
		if err := h.count(ctx, mints); err != nil {
			return err
		}
	}
	return nil
}

// updateReach reads how far the balances reach back, and notes it if that changed. It takes a
// twentieth of the time at most.
func (h *Holders) updateReach(ctx context.Context) error {
	began := h.now()
	if began.Before(h.nextReach) {
		return nil
	}
	found, err := h.deps.Store.Reach(ctx)
	if err != nil {
		return err
	}
	if found.Whole != h.reach.Whole || found.Begins != h.reach.Begins || found.Floor != h.reach.Floor {
		if err := h.deps.Store.NoteReach(ctx, found); err != nil {
			return fmt.Errorf("note from where balances are whole: %w", err)
		}
	}
	h.reach = found
	h.nextReach = h.now().Add(h.now().Sub(began) * pauseFactor)
	return nil
}

// late returns mints about which something came after their count. Looking for them takes a
// twentieth of the time at most.
func (h *Holders) late(ctx context.Context) ([]Mint, error) {
	began := h.now()
	if began.Before(h.nextLate) {
		return nil, nil
	}
	mints, err := h.deps.Store.Late(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for what came late: %w", err)
	}
	h.nextLate = h.now().Add(h.now().Sub(began) * pauseFactor)
	return mints, nil
}

// chunks divides mints into lists, each for one statement. Mints that are neighbours in the tables
// come together, so that a statement reads a small part of each table.
func (h *Holders) chunks(mints []Mint) [][]Mint {
	var all [][]Mint
	var small []Mint
	for _, m := range mints {
		if _, has := h.failed[m.Mint]; has || m.Accounts >= alone || m.Changes >= aloneChanges {
			all = append(all, []Mint{m})
		} else {
			small = append(small, m)
		}
	}
	slices.SortFunc(small, func(a, b Mint) int { return strings.Compare(a.Mint, b.Mint) })
	return slices.AppendSeq(all, slices.Chunk(small, chunk))
}

func (h *Holders) count(ctx context.Context, mints []Mint) error {
	began := h.now()
	err := h.deps.Store.Count(ctx, mints, h.reach)
	took := h.now().Sub(began)
	for _, mint := range mints {
		if err == nil {
			delete(h.failed, mint.Mint)
		} else {
			h.failed[mint.Mint] = struct{}{}
		}
	}
	if err != nil {
		if len(mints) == 1 {
			h.due[mints[0].Mint] = began.Add(took + max(failedPause, took*pauseFactor))
		}
		return fmt.Errorf("count the holders of %d mints, %s first: %w", len(mints), mints[0].Mint, err)
	}
	h.metrics.counted.Add(float64(len(mints)))
	h.metrics.seconds.Observe(took.Seconds())
	wait := took * pauseFactor / time.Duration(len(mints))
	if wait < every {
		return nil
	}
	for _, mint := range mints {
		h.due[mint.Mint] = began.Add(took + wait)
	}
	return nil
}

// compare compares balances with supplies. Another projector writes supplies, and either may be
// behind. So a mint is reported only if two comparisons in a row find the same difference at the
// same slot.
func (h *Holders) compare(ctx context.Context) error {
	compared, suspects, err := h.deps.Store.Differ(ctx, sample, h.suspects)
	if err != nil {
		return fmt.Errorf("compare balances with supplies: %w", err)
	}
	differ := slices.DeleteFunc(slices.Clone(suspects), func(d Difference) bool { return !slices.Contains(h.suspects, d) })
	h.suspects = suspects
	h.metrics.compared.Add(float64(compared))
	h.metrics.differ.Set(float64(len(differ)))
	if len(differ) > 0 {
		h.deps.Logger.Warn("balances of complete mints are not their supply", "mints", len(differ), "first", differ[0].Mint, "missing", differ[0].Missing)
	}
	return nil
}

type metrics struct {
	counted, errors, compared prometheus.Counter
	waiting, differ           prometheus.Gauge
	seconds                   prometheus.Histogram
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "mintlake_holders_" + name, Help: help})
	}
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: "mintlake_holders_" + name, Help: help})
	}
	m := &metrics{
		counted:  counter("counted_total", "Counts of a mint's holders."),
		errors:   counter("errors_total", "Rounds of counting that ClickHouse refused; they are done again."),
		compared: counter("compared_total", "Complete mints whose balances were compared with their supply."),
		waiting:  gauge("waiting", "Mints whose holders changed and are counted now."),
		differ:   gauge("differ", "Mints whose balances were not their supply at the last two comparisons."),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "mintlake_holders_seconds", Help: "Time of one statement that counts holders.", Buckets: prometheus.ExponentialBuckets(0.01, 4, 8),
		}),
	}
	return m, counters.Register(registerer, m.counted, m.errors, m.compared, m.waiting, m.differ, m.seconds)
}
