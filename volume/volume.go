// Package volume values swap legs in US dollars, and computes prices and volumes from them.
//
// In: swaps_raw, pools_raw and pool_reserves_raw; and swap_minutes_raw, in which the projector of
// swaps notes the minutes that have new legs or pools. Out: usd_value of the legs, prices_1m,
// pool_minutes, volume_1m/1h/1d and pool_volume_1m/1h/1d, venue_volume_1m, trade_pools_1m,
// daily_volumes. Guarantees: every figure depends only on the set of legs and pools. It depends
// neither on the clock nor on the order of arrival, and nothing is counted twice after a repeat;
// sums of dollars are integers. If the process is killed, the minutes that it worked on are valued
// again at the next start.
//
// A minute is dirty if the projector stored legs or pools of it that no valuation has seen. Its
// prices also count in the hour after it, so the minutes of that hour are valued again too, then
// the hours and days that they are in. docs/volume.md has the formulas; the SQL in sql/ implements
// them.
//
// One instance runs at a time: two would do the same work twice, and end with the same figures.
package volume

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mintlake/mintlake/internal/clickhouse"
)

const (
	// lookBack is how old a trade may be and still make a price. The SQL has the same 60 minutes.
	lookBack = time.Hour
	// chunkMinutes is how many minutes one statement processes: it holds their legs in memory.
	chunkMinutes = 60
	// partMinutes is how many dirty minutes one valuation takes: half an hour's work, as a small
	// machine values mainnet's legs ten times as fast as they come. The hour after the part is
	// valued too, which makes a part of a long backlog a quarter dearer.
	partMinutes = 240
)

// Minute is a minute of block time that has new legs or pools.
type Minute struct {
	Start time.Time
	// Touched is the offset after the last record stored, by partition of the topic of legs.
	// Negative numbers are for the partitions of the topic of pools.
	Touched map[int32]int64
}

// Store is ClickHouse with the room's statements.
type Store interface {
	// Dirty lists the minutes with legs or pools that no valuation has seen, sorted.
	Dirty(ctx context.Context) ([]Minute, error)
	// Minutes lists the minutes from..to, both included, that have legs or pools, sorted.
	Minutes(ctx context.Context, from, to time.Time) ([]time.Time, error)
	// Begin returns the next generation and records its start.
	Begin(ctx context.Context) (generation uint64, err error)
	// PoolMinutes sums the legs of each pool by minute.
	PoolMinutes(ctx context.Context, generation uint64, minutes []time.Time) error
	// Value computes the minutes' prices, values their legs, and computes the figures by minute.
	Value(ctx context.Context, generation uint64, minutes []time.Time) error
	// Venues computes the figures of venues and of the pools that trades used, by minute. Value
	// does this too.
	Venues(ctx context.Context, generation uint64, minutes []time.Time) error
	// WithoutVenues lists the latest minutes before a time that were valued but have no figures of
	// venues, sorted, at most limit.
	WithoutVenues(ctx context.Context, before time.Time, limit int) ([]time.Time, error)
	// Hours and Days compute the figures by hour and by day.
	Hours(ctx context.Context, generation uint64, hours []time.Time) error
	Days(ctx context.Context, generation uint64, days []time.Time) error
	// Daily computes the rolling figures up to the highest block time.
	Daily(ctx context.Context, generation uint64) error
	// Done records that the minutes are valued up to Touched.
	Done(ctx context.Context, minutes []Minute) error
	// Retryable reports whether the same call may succeed later.
	Retryable(err error) bool
}

// Deps are the collaborators. All but Registerer are required.
type Deps struct {
	Store      Store
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Volume is the room's component.
type Volume struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	// part is how many dirty minutes one valuation takes.
	part int
	// incomplete is the time before which minutes may lack figures of venues; zero if none does.
	incomplete time.Time
}

// endOfTime is the last time that ClickHouse's DateTime can hold.
var endOfTime = time.Unix(1<<32-1, 0)

// New checks the configuration and registers the metrics. It does no I/O.
func New(cfg Config, deps Deps) (*Volume, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if deps.Store == nil || deps.Logger == nil {
		return nil, errors.New("volume: store and logger are required")
	}
	metrics, err := newMetrics(deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("volume: %w", err)
	}
	return &Volume{cfg: cfg, deps: deps, metrics: metrics, part: partMinutes, incomplete: endOfTime}, nil
}

// Run values new legs until ctx ends; then it returns nil. It retries transient errors of
// ClickHouse, and returns an error that only an operator can mend. After a valuation it rests at
// least as long as that took, which leaves half of the time to the projectors on a machine that is
// behind.
func (v *Volume) Run(ctx context.Context) error {
	v.metrics.succeeded.SetToCurrentTime()
	for failed := 0; ; {
		began := time.Now()
		_, err := v.Once(clickhouse.WithAttempt(ctx, failed))
		took := time.Since(began)
		failed++
		if err == nil {
			failed = 0
			v.metrics.succeeded.SetToCurrentTime()
		}
		if err != nil && ctx.Err() == nil {
			if !v.deps.Store.Retryable(err) {
				return fmt.Errorf("volume: %w", err)
			}
			v.metrics.errors.Inc()
			if errors.Is(err, clickhouse.ErrWriteLimit) {
				v.metrics.writeLimits.Inc()
			}
			v.deps.Logger.Warn("valuation failed, it is done again", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(v.cfg.Interval-took, took)):
		}
	}
}

// Once values all dirty minutes and returns how many there were. It values them in parts, the
// latest first, so that the figures of now do not wait for a long backlog, and an error costs one
// part. Before each part it completes the figures of venues of some earlier minutes. After an error
// the minutes of the part and all earlier ones are still dirty.
func (v *Volume) Once(ctx context.Context) (int, error) {
	for valued := 0; ; {
		dirty, err := v.deps.Store.Dirty(ctx)
		if err != nil {
			return valued, fmt.Errorf("read dirty minutes: %w", err)
		}
		v.metrics.waiting.Set(float64(len(dirty)))
		if err := v.completeVenues(ctx); err != nil {
			return valued, fmt.Errorf("make figures of venues of minutes valued earlier: %w", err)
		}
		if len(dirty) == 0 {
			return valued, nil
		}
		earlier := max(0, len(dirty)-v.part)
		if err := v.value(ctx, dirty[earlier:]); err != nil {
			return valued, err
		}
		valued += len(dirty) - earlier
		v.metrics.waiting.Set(float64(earlier))
		if earlier == 0 {
			return valued, nil
		}
	}
}

// value values dirty minutes and the hour after each. If earlier minutes are dirty too, the first
// hour may lack their prices. It is valued again with those minutes.
func (v *Volume) value(ctx context.Context, dirty []Minute) error {
	begin := time.Now()
	generation, err := v.deps.Store.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin a valuation: %w", err)
	}
	starts := make([]time.Time, len(dirty))
	for i := range dirty {
		starts[i] = dirty[i].Start
	}
	if err := inChunks(starts, chunkMinutes, func(part []time.Time) error { return v.deps.Store.PoolMinutes(ctx, generation, part) }); err != nil {
		return fmt.Errorf("sum pools: %w", err)
	}
	reached, err := v.reached(ctx, starts)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		what    string
		buckets []time.Time
		size    int
		do      func(context.Context, uint64, []time.Time) error
	}{
		{"value minutes", reached, chunkMinutes, v.deps.Store.Value},
		{"sum hours", truncated(reached, time.Hour), 1, v.deps.Store.Hours},
		{"sum days", truncated(reached, 24*time.Hour), 1, v.deps.Store.Days},
	} {
		if err := inChunks(step.buckets, step.size, func(part []time.Time) error { return step.do(ctx, generation, part) }); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	if err := v.deps.Store.Daily(ctx, generation); err != nil {
		return fmt.Errorf("make daily volumes: %w", err)
	}
	if err := v.deps.Store.Done(ctx, dirty); err != nil {
		return fmt.Errorf("close the book of minutes: %w", err)
	}
	v.metrics.minutes.Add(float64(len(reached)))
	v.metrics.seconds.Observe(time.Since(begin).Seconds())
	return nil
}

// completeVenues computes the figures of venues for up to chunkMinutes minutes that an earlier
// version valued without them, the latest first. So a long history becomes complete over time
// without delaying new minutes. A minute whose legs were deleted never gets these figures.
func (v *Volume) completeVenues(ctx context.Context) error {
	if v.incomplete.IsZero() {
		return nil
	}
	minutes, err := v.deps.Store.WithoutVenues(ctx, v.incomplete, chunkMinutes)
	if err != nil {
		return err
	}
	if len(minutes) == 0 {
		v.incomplete = time.Time{}
		return nil
	}
	generation, err := v.deps.Store.Begin(ctx)
	if err != nil {
		return err
	}
	if err := inChunks(minutes, chunkMinutes, func(part []time.Time) error { return v.deps.Store.Venues(ctx, generation, part) }); err != nil {
		return err
	}
	v.incomplete = minutes[0] // the earliest of them: the next call goes on before it
	return nil
}

// reached returns the minutes whose prices may change: the dirty minutes, and those with legs or
// pools in the hour after each.
func (v *Volume) reached(ctx context.Context, dirty []time.Time) ([]time.Time, error) {
	all, err := v.deps.Store.Minutes(ctx, dirty[0], dirty[len(dirty)-1].Add(lookBack))
	if err != nil {
		return nil, fmt.Errorf("read minutes: %w", err)
	}
	latest := 0 // the last dirty minute that is not after the minute at hand
	return slices.DeleteFunc(all, func(minute time.Time) bool {
		for latest+1 < len(dirty) && !dirty[latest+1].After(minute) {
			latest++
		}
		return dirty[latest].After(minute) || minute.Sub(dirty[latest]) >= lookBack
	}), nil
}

// truncated returns the buckets of size that sorted minutes are in, sorted, each once.
func truncated(minutes []time.Time, size time.Duration) []time.Time {
	var buckets []time.Time
	for _, minute := range minutes {
		if bucket := minute.Truncate(size); len(buckets) == 0 || !buckets[len(buckets)-1].Equal(bucket) {
			buckets = append(buckets, bucket)
		}
	}
	return buckets
}

// inChunks calls do for up to size buckets at a time. The buckets of one call begin within lookBack
// of each other, because a statement reads all legs between the first and the last.
func inChunks(buckets []time.Time, size int, do func([]time.Time) error) error {
	for len(buckets) > 0 {
		n := 1
		for n < len(buckets) && n < size && buckets[n].Sub(buckets[0]) < lookBack {
			n++
		}
		if err := do(buckets[:n]); err != nil {
			return err
		}
		buckets = buckets[n:]
	}
	return nil
}
