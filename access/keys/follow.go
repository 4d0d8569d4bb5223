package keys

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/schemas"
)

const (
	// batchRecords and batchWait bound a fetch; waiting longer would only delay a revocation.
	batchRecords = 2048
	batchWait    = 5 * time.Millisecond
	// quietCheck is how long a fetch waits for records. Then tail checks again whether everything
	// was read.
	quietCheck = time.Second
	// reopenPause is the time between a permanent error of the topic and the next attempt to open
	// it.
	reopenPause = time.Second
	// freshEvery is how often the end of the topic is compared with what was read. freshWithin is
	// the timeout of that request.
	freshEvery  = 5 * time.Second
	freshWithin = 3 * time.Second
)

var topics = []string{schemas.TopicGatewayKeys}

// follower reads the topic. at is the offset of the next record in each partition.
type follower struct {
	live *Live
	mu   sync.Mutex
	at   map[kafka.TopicPartition]int64
}

// Run reads the topic until ctx ends; then it returns nil. If Kafka is away at the start, or
// reading fails later, Run logs that and tries again. It may be called once.
func (l *Live) Run(ctx context.Context) error {
	f := &follower{live: l}
	ends, err := l.ends(ctx)
	if err != nil {
		return nil // ctx ended
	}
	var fresh sync.WaitGroup
	defer fresh.Wait()
	fresh.Go(func() { f.watch(ctx) })
	for ctx.Err() == nil {
		err := f.tail(ctx, ends)
		if ctx.Err() != nil {
			break
		}
		l.metrics.restarts.Inc()
		l.deps.Logger.Warn("the topic of API keys failed, opening it again", "topic", schemas.TopicGatewayKeys, "err", err)
		_ = pause.For(ctx, reopenPause) // the loop ends with ctx
	}
	return nil
}

// ends returns the offsets where the topic ends now. It retries until Kafka answers or ctx ends.
func (l *Live) ends(ctx context.Context) (map[kafka.TopicPartition]int64, error) {
	for {
		ends, err := l.deps.Offsets.EndOffsets(ctx, topics)
		if err == nil || ctx.Err() != nil {
			return ends, errors.Join(err, ctx.Err())
		}
		l.deps.Logger.Warn("the topic of API keys cannot be read; nothing that needs keys is served until it is", "topic", schemas.TopicGatewayKeys, "err", err)
		_ = pause.For(ctx, reopenPause) // the loop ends with ctx
	}
}

// tail reads the topic on from where reading stopped, at first from its beginning, and applies the
// records. It closes the channel of Loaded when everything below ends was applied. It ends with the
// first error.
func (f *follower) tail(ctx context.Context, ends map[kafka.TopicPartition]int64) error {
	tailer, err := f.live.deps.OpenTail(topics, f.positions())
	if err != nil {
		return err
	}
	defer tailer.Close()
	for {
		f.loaded(ends, tailer.Positions())
		records, err := fetch(ctx, tailer)
		if err != nil {
			return err
		}
		if len(records) > 0 {
			f.live.take(records)
		}
		f.mu.Lock()
		f.at = tailer.Positions()
		f.mu.Unlock()
	}
}

// fetch returns the next records. It returns none if none came within quietCheck.
func fetch(ctx context.Context, tailer Tailer) ([]kafka.Record, error) {
	return kafka.FetchWithin(ctx, tailer, batchRecords, batchWait, quietCheck)
}

func (f *follower) positions() map[kafka.TopicPartition]int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.at)
}

// loaded closes the channel of Loaded, once, when everything below ends was read. at is the offset
// of the next record in each partition.
func (f *follower) loaded(ends, at map[kafka.TopicPartition]int64) {
	select {
	case <-f.live.loaded:
		return
	default:
	}
	if kafka.Covers(at, ends) {
		f.live.freshAt.Store(steady.Now())
		close(f.live.loaded)
	}
}

// watch compares what was read with the end of the topic again and again, and sets freshAt if
// nothing is missing. On a node that is cut off from Kafka the comparison fails, so the metric
// mintlake_keys_read_age_seconds grows.
func (f *follower) watch(ctx context.Context) {
	for pause.For(ctx, freshEvery) == nil {
		within, cancel := context.WithTimeout(ctx, freshWithin)
		ends, err := f.live.deps.Offsets.EndOffsets(within, topics)
		cancel()
		if err == nil && kafka.Covers(f.positions(), ends) {
			f.live.freshAt.Store(steady.Now())
		}
	}
}
