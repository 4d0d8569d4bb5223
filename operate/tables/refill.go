package tables

import (
	"context"
	"time"

	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/projector/verify"
)

const (
	// refillFrom is the lag from which progress is shown. A smaller one is processed within
	// seconds.
	refillFrom = 20_000
	// refillUntil is the lag at which the tables count as full. On a busy chain there are always
	// some thousands, as a batch has up to 10,000 records.
	refillUntil = refillFrom / 2
	// refillLook is how often the lag is read.
	refillLook = time.Second
)

// Refill shows how far the tables are behind the log, if they are far behind: after `rebuild`,
// after a restore of the log alone, or after a long stop. It always returns nil.
func (t *Tables) Refill(ctx context.Context, progress meter.Meter) error {
	refill(ctx, t.Lag, refillLook, progress)
	return nil
}

// refill shows how the lag falls to refillUntil. It shows nothing if the lag is below refillFrom at
// first. Records that a live chain adds meanwhile are not in the total, so the rate tells how fast
// the tables catch up with the log.
func refill(ctx context.Context, lag func(context.Context) (int64, error), every time.Duration, progress meter.Meter) {
	lowest, err := lag(ctx)
	if err != nil || lowest < refillFrom {
		return
	}
	count, end := progress.Begin("fill the tables", "records", lowest)
	defer end()
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for lowest > refillUntil {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		behind, err := lag(ctx)
		if err == nil && behind < lowest { // Kafka may be away for a while
			count(lowest - behind)
			lowest = behind
		}
	}
}

// Lag returns how many records of the chain the projectors still have to write into tables.
func (t *Tables) Lag(ctx context.Context) (int64, error) {
	var sum int64
	for _, group := range verify.Groups() {
		lag, err := t.Admin.Lag(ctx, group.Name, group.Topics)
		if err != nil {
			return 0, err
		}
		sum += lag
	}
	return sum, nil
}
