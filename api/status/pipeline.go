package status

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
)

var errLoading = errors.New("not ready")

const stillLoading = "the copy of the registry is still loading"

type offsets = map[kafka.TopicPartition]int64

// pipeline measures the lags and returns the topics' ends. A lag of 0 is true because of the order
// of the reads:
//
//	(1) the source's report, and how far the slot topic was read for it: the caller's before
//	(2) what enrich has committed: its results were written before, so (3) counts them
//	(3) the ends of all topics
//	(4) what the projector has committed, and how far the replica is
//
// If (2) came after (3), an enrichment written in between would be missed. Records that are
// finished between (3) and (4) only make a lag smaller, and they are finished.
//
// Requests whose order does not matter are made at the same time: on a busy machine each of them
// waits behind others.
func (c *Collector) pipeline(ctx context.Context, before replica.View) (Pipeline, offsets, error) {
	p := Pipeline{Topics: map[string]Topic{}, MeasuredAtMS: c.now().UnixMilli()}
	fail := func(what string, err error) (Pipeline, offsets, error) {
		p.Error = &what // for users; err is only logged
		return p, nil, fmt.Errorf("%s: %w", what, err)
	}
	if !c.copy.Ready() {
		return fail(stillLoading, errLoading)
	}
	starts := c.readStarts(ctx)
	enrich, err := c.offsets.CommittedOffsets(ctx, schemas.GroupEnrich, enrichTopics)
	if err != nil {
		return fail("the enrichment group's offsets cannot be read", err)
	}
	ends, err := c.offsets.EndOffsets(ctx, allTopics)
	if err != nil {
		return fail("the topics' ends cannot be read", err)
	}
	var projector, swaps, balances offsets
	var readers errgroup.Group
	readers.Go(func() (err error) {
		projector, err = c.offsets.CommittedOffsets(ctx, schemas.GroupProjector, projectorTopics)
		return err
	})
	readers.Go(func() (err error) {
		swaps, err = c.offsets.CommittedOffsets(ctx, schemas.GroupSwaps, swapTopics)
		return err
	})
	readers.Go(func() (err error) {
		balances, err = c.offsets.CommittedOffsets(ctx, schemas.GroupBalances, balanceTopics)
		return err
	})
	if err := readers.Wait(); err != nil {
		return fail("the projectors' offsets cannot be read", err)
	}
	maps.Copy(projector, swaps)
	maps.Copy(projector, balances)
	if err := starts(); err != nil {
		return fail("the topics' starts cannot be read", err)
	}
	applied := c.copy.Applied()
	for tp, offset := range before.Applied {
		if tp.Topic == schemas.TopicSlots {
			applied[tp] = min(applied[tp], offset) // (1) did not use later reports of the source
		}
	}
	p.add(ends, c.starts, projector, enrich, applied)
	return p, ends, nil
}

// readStarts begins to read the topics' starts, unless those that are known are young enough. Other
// requests may be made meanwhile. The returned function waits for the starts.
func (c *Collector) readStarts(ctx context.Context) (wait func() error) {
	now := c.now()
	if c.starts != nil && now.Sub(c.startsRead) <= startsMaxAge {
		return func() error { return nil }
	}
	var starts offsets
	var reading errgroup.Group
	reading.Go(func() (err error) {
		starts, err = c.offsets.StartOffsets(ctx, allTopics)
		return err
	})
	return func() error {
		err := reading.Wait()
		if err == nil {
			c.starts, c.startsRead = starts, now
		}
		return err
	}
}

// add sums up the lags of all partitions. Records below a partition's start have expired and will
// never be read, so they do not count. at[tp] is 0 for a reader that has committed nothing yet.
func (p *Pipeline) add(ends, starts, projector, enrich, api offsets) {
	var total, projectorLag, enrichLag, apiLag int64
	for tp, end := range ends {
		topic := p.Topics[tp.Topic]
		topic.Records += max(end-starts[tp], 0)
		lag := func(reads []string, at offsets) int64 {
			if !slices.Contains(reads, tp.Topic) {
				return 0
			}
			return max(end-max(at[tp], starts[tp]), 0)
		}
		byProjector, byEnrich, byAPI := lag(projectorTopics, projector)+lag(swapTopics, projector)+lag(balanceTopics, projector), lag(enrichTopics, enrich), lag(apiTopics, api)
		topic.ProjectorLag += byProjector
		topic.EnrichLag += byEnrich
		topic.APILag += byAPI
		topic.LagRecords += max(byProjector, byEnrich, byAPI)
		p.Topics[tp.Topic] = topic
		total, projectorLag, enrichLag, apiLag = total+max(byProjector, byEnrich, byAPI), projectorLag+byProjector, enrichLag+byEnrich, apiLag+byAPI
	}
	p.LagRecords, p.ProjectorLag, p.EnrichLag, p.APILag = &total, &projectorLag, &enrichLag, &apiLag
}
