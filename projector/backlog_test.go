package projector_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// bulk is a log with a long enrichments topic beside a short topic of token events, and a store
// that only keeps account.
type bulk struct {
	mu   sync.Mutex
	ends map[kafka.TopicPartition]int64
	next map[kafka.TopicPartition]int64
	// stored and folded are the highest offset + 1 of each partition whose mints are; a fold takes
	// foldTime.
	stored, folded, committed map[kafka.TopicPartition]int64
	byMint                    map[pubkey.Key]kafka.TopicPartition
	foldTime                  time.Duration
	folds                     []projector.Dirty
	problems                  []string
	outdated                  bool
	// each is called before each batch.
	each func(batch int)
	n    int
}

var (
	bulkTopic = kafka.TopicPartition{Topic: schemas.TopicEnrichments}
	liveTopic = kafka.TopicPartition{Topic: schemas.TopicTokenEvents}
)

func newBulk(records int64) *bulk {
	b := &bulk{ends: map[kafka.TopicPartition]int64{bulkTopic: records}}
	b.next, b.stored, b.folded, b.committed = map[kafka.TopicPartition]int64{}, map[kafka.TopicPartition]int64{}, map[kafka.TopicPartition]int64{}, map[kafka.TopicPartition]int64{}
	b.byMint = map[pubkey.Key]kafka.TopicPartition{}
	return b
}

func (b *bulk) EndOffsets(context.Context, []string) (map[kafka.TopicPartition]int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return map[kafka.TopicPartition]int64{bulkTopic: b.ends[bulkTopic], liveTopic: b.ends[liveTopic]}, nil
}

// FetchBatch hands out what is live first, then what is left of the long topic.
func (b *bulk) FetchBatch(ctx context.Context, limit int, _ time.Duration) ([]kafka.Record, error) {
	if b.each != nil {
		b.each(b.n)
	}
	b.n++
	b.mu.Lock()
	var records []kafka.Record
	for _, tp := range []kafka.TopicPartition{liveTopic, bulkTopic} {
		for len(records) < limit && b.next[tp] < b.ends[tp] {
			records = append(records, kafka.Record{Topic: tp.Topic, Offset: b.next[tp], Value: bulkValue(tp, b.next[tp])})
			b.next[tp]++
		}
	}
	b.mu.Unlock()
	if len(records) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(time.Second)
	return records, nil
}

// bulkMint is one of few live mints, or of so many that a fold of them is no short one.
func bulkMint(tp kafka.TopicPartition, offset int64) []byte {
	mint := make([]byte, 32)
	if tp == liveTopic {
		mint[0], mint[1] = 1, byte(offset%3)
		return mint
	}
	binary.BigEndian.PutUint64(mint[24:], uint64(offset%5000))
	return mint
}

func bulkValue(tp kafka.TopicPartition, offset int64) []byte {
	var message proto.Message = &eventspb.Enrichment{Mint: bulkMint(tp, offset), Slot: uint64(offset), Fact: &eventspb.Enrichment_Logo{Logo: &eventspb.Logo{Url: "x"}}}
	if tp == liveTopic {
		message = &eventspb.TokenEvent{Mint: bulkMint(tp, offset), Position: &eventspb.Position{Slot: uint64(offset)},
			Payload: &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: 1}}}
	}
	value, err := proto.Marshal(message)
	if err != nil {
		panic(err)
	}
	return value
}

func (b *bulk) Insert(_ context.Context, batch *projector.Batch) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range batch.Statements {
		tp := bulkTopic
		if s.Source == projector.SourceInstruction {
			tp = liveTopic
		}
		b.byMint[s.Mint] = tp
		b.stored[tp] = max(b.stored[tp], int64(s.Position.Slot)+1)
	}
	return nil
}

func (b *bulk) Fold(_ context.Context, dirty projector.Dirty) error {
	b.mu.Lock()
	read := map[kafka.TopicPartition]int64{}
	if dirty.All {
		maps.Copy(read, b.stored)
	}
	for _, mint := range dirty.Mints {
		if tp, stored := b.byMint[mint]; stored {
			read[tp] = b.stored[tp]
		}
	}
	b.mu.Unlock()
	if read[bulkTopic] > 0 {
		time.Sleep(b.foldTime) // a fold sees what was stored when it began
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for tp, offset := range read {
		b.folded[tp] = max(b.folded[tp], offset)
	}
	b.folds = append(b.folds, dirty)
	return nil
}

func (b *bulk) Commit(_ context.Context, records []kafka.Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range records {
		tp := r.TopicPartition()
		if r.Offset+1 > b.folded[tp] {
			b.problems = append(b.problems, fmt.Sprintf("%s: committed %d, folded %d", tp, r.Offset+1, b.folded[tp]))
		}
		b.committed[tp] = max(b.committed[tp], r.Offset+1)
	}
	return nil
}

func (b *bulk) Outdated(context.Context) (bool, error)         { return b.outdated, nil }
func (b *bulk) Retryable(error) bool                           { return false }
func (b *bulk) Produce(context.Context, ...kafka.Record) error { return nil }

// project runs a projector over the log until everything is committed.
func (b *bulk) project(t *testing.T, config projector.Config) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p, err := projector.New(config, projector.Deps{Consumer: b, Producer: b, Store: b, Offsets: b, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		for ctx.Err() == nil && !b.done() {
			time.Sleep(time.Second)
		}
		cancel()
		require.NoError(t, <-ended)
		require.True(t, b.done(), "%v of %v", b.committed, b.ends)
	})
	require.Empty(t, b.problems, "nothing is committed before it is folded")
}

func (b *bulk) done() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for tp, end := range b.ends {
		if b.committed[tp] != end {
			return false
		}
	}
	return true
}

var bulkConfig = projector.Config{BulkLag: 500, FoldEvery: time.Minute}.WithBatches(100, 200)

// TestRowsOfEarlierRulesAreMadeAnew: all mints are folded once, and batches do not wait for that.
func TestRowsOfEarlierRulesAreMadeAnew(t *testing.T) {
	b := newBulk(450)
	b.outdated, b.foldTime = true, time.Minute
	b.project(t, bulkConfig)
	all := slices.DeleteFunc(slices.Clone(b.folds), func(d projector.Dirty) bool { return !d.All })
	require.Len(t, all, 1)
	require.Greater(t, len(b.folds), 1, "the log is folded too")

	b = newBulk(0)
	b.outdated = true
	synctest.Test(t, func(t *testing.T) {
		p, err := projector.New(bulkConfig, projector.Deps{Consumer: b, Producer: b, Store: b, Offsets: b, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, p.Run(ctx))
	})
	require.Equal(t, []projector.Dirty{{All: true}}, b.folds, "a log without records needs it too")
}

func TestALongLogIsFoldedInFewLargeFolds(t *testing.T) {
	b := newBulk(10_000)
	b.project(t, bulkConfig)
	require.Less(t, len(b.folds), 10, "not one a batch")
}

func TestAShortLogIsFoldedAsItComes(t *testing.T) {
	b := newBulk(450)
	b.project(t, bulkConfig)
	require.Len(t, b.folds, 5)
}

// TestLiveEventsDoNotWaitForALongLog: what comes on another partition is folded with its batch,
// also while a large fold runs.
func TestLiveEventsDoNotWaitForALongLog(t *testing.T) {
	b := newBulk(40_000)
	b.foldTime = 30 * time.Second
	late := 0
	b.each = func(batch int) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if batch > 0 && b.folded[liveTopic] < b.ends[liveTopic] {
			late++
		}
		b.ends[liveTopic] += 2
	}
	stop := b.each
	b.each = func(batch int) {
		if batch < 150 {
			stop(batch)
		}
	}
	b.project(t, bulkConfig)
	require.Zero(t, late, "folded before the next batch is fetched")
	large := 0
	for _, fold := range b.folds {
		if len(fold.Mints) > 1000 {
			large++
		}
	}
	require.Greater(t, large, 1, "what waits is folded now and then while there is more to come")
	require.Less(t, large, 10)
}

// TestAKillLosesNoFold: whatever was folded or not when the process died, the next one begins where
// nothing is missing.
func TestAKillLosesNoFold(t *testing.T) {
	for _, kill := range []time.Duration{1500 * time.Millisecond, 9500 * time.Millisecond, 65500 * time.Millisecond, 80500 * time.Millisecond} {
		b := newBulk(20_000)
		b.foldTime = 10 * time.Second
		synctest.Test(t, func(t *testing.T) {
			p, err := projector.New(bulkConfig, projector.Deps{Consumer: b, Producer: b, Store: b, Offsets: b, Logger: slog.New(slog.DiscardHandler)})
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), kill)
			defer cancel()
			require.NoError(t, p.Run(ctx))
		})
		b.next = map[kafka.TopicPartition]int64{bulkTopic: b.committed[bulkTopic]}
		b.project(t, bulkConfig)
		require.Equal(t, b.ends[bulkTopic], b.folded[bulkTopic])
	}
}
