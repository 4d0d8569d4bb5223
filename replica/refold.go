package replica

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// refoldEvery is how often refold looks whether the projector is far enough.
	refoldEvery = 200 * time.Millisecond
	// refoldMints is how many mints one query of refold names.
	refoldMints = 1000
)

// tookBack are the mints whose states lost facts to a retraction (registry.State.TakesBack). What
// those facts had beaten is not in the state. It is in the mint's row, once the projector has
// stored all that the copy had applied by then.
type tookBack struct {
	mu    sync.Mutex
	mints map[pubkey.Key]struct{}
	// taken are the mints that are being folded again.
	taken []pubkey.Key
	// until is how far the projector must be.
	until map[kafka.TopicPartition]int64
}

// add remembers mints. applied is how far the copy is.
func (b *tookBack) add(mints []pubkey.Key, applied map[kafka.TopicPartition]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mints == nil {
		b.mints, b.until = map[pubkey.Key]struct{}{}, map[kafka.TopicPartition]int64{}
	}
	for _, mint := range mints {
		b.mints[mint] = struct{}{}
	}
	for tp, offset := range applied {
		b.until[tp] = max(b.until[tp], offset)
	}
}

// take returns the mints and forgets them, but for all: call it again when they are folded.
func (b *tookBack) take() ([]pubkey.Key, map[kafka.TopicPartition]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	mints, until := slices.SortedFunc(maps.Keys(b.mints), pubkey.Compare), b.until
	b.mints, b.until, b.taken = nil, nil, mints
	return mints, until
}

// all returns the mints with those that are being folded again. The projector must be as far as the
// offsets tell; for the latter it was.
func (b *tookBack) all() ([]pubkey.Key, map[kafka.TopicPartition]int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(slices.Collect(maps.Keys(b.mints)), b.taken...), maps.Clone(b.until)
}

func (b *tookBack) size() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.mints)
}

// takenFrom remembers mints that lost facts, until refold has their rows. Applied must cover the
// facts that took them. Without a snapshot there are no rows: such a state stays as it is until the
// mint is read anew.
func (r *Replica) takenFrom(mints []pubkey.Key) {
	if len(mints) == 0 {
		return
	}
	if r.deps.Snapshot == nil {
		r.deps.Logger.Warn("facts were taken back, and without ClickHouse nothing has what they had replaced", "mints", len(mints))
		return
	}
	applied := r.Applied()
	maps.DeleteFunc(applied, func(tp kafka.TopicPartition, _ int64) bool { return tp.Topic == schemas.TopicSlots })
	r.tookBack.add(mints, applied)
}

// refold gives the states that lost facts what they lack, until ctx ends. It adds the facts of
// their rows: these were folded without the facts that were taken back, and the copy has all that
// came since.
func (r *Replica) refold(ctx context.Context) {
	for pause.For(ctx, refoldEvery) == nil {
		mints, until := r.tookBack.take()
		if len(mints) == 0 {
			continue
		}
		if err := r.refoldOnce(ctx, mints, until); err != nil {
			r.deps.Logger.Debug("mints that facts were taken from cannot be folded again yet", "mints", len(mints), "err", err)
			r.tookBack.add(mints, until)
		}
	}
}

var errProjectorBehind = errors.New("the projector has not stored what the copy has")

func (r *Replica) refoldOnce(ctx context.Context, mints []pubkey.Key, until map[kafka.TopicPartition]int64) error {
	stored, err := r.deps.Offsets.CommittedOffsets(ctx, schemas.GroupProjector, registryTopics)
	if err != nil {
		return err
	}
	for tp, offset := range until {
		if stored[tp] < offset {
			return errProjectorBehind
		}
	}
	for chunk := range slices.Chunk(mints, refoldMints) {
		var mu sync.Mutex
		var facts []registry.Fact
		err := r.deps.Snapshot.Load(ctx, chunk, func(_ pubkey.Key, row []registry.Fact) {
			mu.Lock()
			defer mu.Unlock()
			facts = append(facts, row...)
		})
		if err != nil {
			r.metrics.snapshotErrors.Inc()
			return err
		}
		r.takenFrom(r.store.apply(facts)) // a row may know of retractions that are yet to come here
	}
	r.deps.Logger.Info("mints that facts were taken from are folded again", "mints", len(mints))
	return nil
}
