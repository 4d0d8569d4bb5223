package projector

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
)

// foldPauseFactor is how many times as long as the last fold the next fold of a backlog waits. With
// 4, folding takes at most a fifth of the time.
const foldPauseFactor = 4

// foldBacklog folds the backlog whenever it is due, and commits its records. It first has every
// mint folded if rows were made by an earlier version's rules.
func (p *Projector) foldBacklog(ctx context.Context) error {
	if err := p.renew(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // a clean stop
		}
		return err
	}
	for {
		if err := p.awaitBacklog(ctx); err != nil {
			return nil // a clean stop
		}
		if err := p.foldOnce(ctx); err != nil {
			if ctx.Err() != nil {
				p.deps.Logger.Info("projector stopped inside a fold: its records are read again at the next start", "err", err)
				return nil
			}
			return err
		}
	}
}

// renew makes every mint due if rows were made by an earlier version's rules. Batches go on
// meanwhile.
func (p *Projector) renew(ctx context.Context) error {
	var outdated bool
	err := p.retry(ctx, func(ctx context.Context) (err error) {
		outdated, err = p.deps.Store.Outdated(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("projector: %w", err)
	}
	if outdated {
		p.deps.Logger.Info("rows of tokens are of an earlier version's rules: all are made anew")
		p.backlog.renew()
	}
	return nil
}

// awaitBacklog returns nil when the backlog is due, or ctx's error.
func (p *Projector) awaitBacklog(ctx context.Context) error {
	for {
		var timer <-chan time.Time
		if wait, ok := p.backlog.due(time.Now()); ok {
			if wait == 0 {
				return ctx.Err()
			}
			timer = time.After(wait)
		}
		select {
		case <-p.backlog.changed:
		case <-timer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// foldOnce folds the backlog as it stands and commits the records that waited for it. During a
// short fold it holds the semaphore, so that batches fold after it; else every batch of a busy
// chain would be folded twice. During a long fold batches do not wait, and are folded once more
// after it (see backlog.add).
func (p *Projector) foldOnce(ctx context.Context) error {
	p.folding <- struct{}{}
	release := sync.OnceFunc(func() { <-p.folding })
	defer release()
	began := time.Now()
	dirty, held := p.backlog.take()
	level := slog.LevelDebug
	if dirty.All || len(dirty.Mints) > shortFold {
		level = slog.LevelInfo
		release()
	}
	if err := p.retry(ctx, func(ctx context.Context) error { return p.deps.Store.Fold(ctx, dirty) }); err != nil {
		return fmt.Errorf("projector: fold: %w", err)
	}
	if err := p.commit(ctx, held); err != nil {
		return err
	}
	took := time.Since(began)
	p.metrics.foldSeconds.Observe(took.Seconds())
	p.deps.Logger.Log(ctx, level, "mints that were put off are folded", "mints", len(dirty.Mints), "all", dirty.All, "took", took)
	p.backlog.settle(max(p.config.FoldEvery, foldPauseFactor*took))
	return nil
}

// shortFold is the largest number of mints whose fold batches wait for.
const shortFold = foldChunk

// lookAhead returns the partitions that are so far behind that folding batch by batch would be
// slow. It asks for the log's ends only if there is a reason to: a full batch, or a backlog.
func (p *Projector) lookAhead(ctx context.Context, records []kafka.Record, last map[kafka.TopicPartition]kafka.Record) map[kafka.TopicPartition]bool {
	if p.deps.Offsets == nil || !kafka.Full(records, p.config.batchRecords) && !p.backlog.pending() {
		return nil
	}
	next := p.backlog.nextOffsets()
	for partition, record := range last {
		next[partition] = record.Offset + 1
	}
	ends, err := p.deps.Offsets.EndOffsets(ctx, Topics())
	if err != nil {
		p.deps.Logger.Warn("the end of the log is unknown, batches are folded as they come", "err", err)
	}
	lag := make(map[kafka.TopicPartition]int64, len(next))
	for partition, offset := range next {
		lag[partition] = ends[partition] - offset
	}
	return p.backlog.updateBehind(lag, p.config.BulkLag, int64(p.config.batchRecords))
}
