package replica

import (
	"context"
	"errors"
	"iter"
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

// refoldQueue has the mints whose states lost facts to a retraction (registry.State.TakesBack). The
// older facts that the lost ones had replaced are not in such a state. They are in the mint's row
// in ClickHouse once the projector has stored all that the copy had applied when the facts were
// lost.
type refoldQueue struct {
	mu     sync.Mutex
	queued incomplete
	// taken is what take returned last: these mints are being folded again.
	taken incomplete
	// kept is all that was queued or taken at any time since keep was called. It is empty when no
	// checkpoint is written.
	kept      incomplete
	isKeeping bool
}

// incomplete are mints to fold again, and the offsets that the projector must have committed first.
type incomplete struct {
	mints map[pubkey.Key]struct{}
	until map[kafka.TopicPartition]int64
}

func (i *incomplete) add(mints iter.Seq[pubkey.Key], until map[kafka.TopicPartition]int64) {
	if i.mints == nil {
		i.mints, i.until = map[pubkey.Key]struct{}{}, map[kafka.TopicPartition]int64{}
	}
	for mint := range mints {
		i.mints[mint] = struct{}{}
	}
	for tp, offset := range until {
		i.until[tp] = max(i.until[tp], offset)
	}
}

func (i *incomplete) sorted() []pubkey.Key {
	return slices.SortedFunc(maps.Keys(i.mints), pubkey.Compare)
}

// add queues mints. applied has the offsets that the projector must have committed first.
func (q *refoldQueue) add(mints []pubkey.Key, applied map[kafka.TopicPartition]int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queued.add(slices.Values(mints), applied)
	if q.isKeeping {
		q.kept.add(slices.Values(mints), applied)
	}
}

// take returns the queued mints and empties the queue. The mints that it returned last must be
// folded or queued again before.
func (q *refoldQueue) take() ([]pubkey.Key, map[kafka.TopicPartition]int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken, q.queued = q.queued, incomplete{}
	return q.taken.sorted(), q.taken.until
}

// keep begins to keep each mint that is queued or taken now or later, until drop is called. A
// checkpoint needs the mints that are folded again while it is written, too: their states may be in
// it as they were before.
func (q *refoldQueue) keep() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept, q.isKeeping = incomplete{}, true
	q.kept.add(maps.Keys(q.queued.mints), q.queued.until)
	q.kept.add(maps.Keys(q.taken.mints), q.taken.until)
}

// drop ends what keep began.
func (q *refoldQueue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept, q.isKeeping = incomplete{}, false
}

// sinceKeep returns all mints since keep was called, and the offsets that the projector must have
// committed for them.
func (q *refoldQueue) sinceKeep() ([]pubkey.Key, map[kafka.TopicPartition]int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.sorted(), maps.Clone(q.kept.until)
}

func (q *refoldQueue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queued.mints)
}

// queueRefold queues mints that lost facts to retractions. The caller has already moved Applied
// behind these retractions. Without a Snapshot there are no rows to fold again: such a state stays
// as it is until the mint is read anew.
func (r *Replica) queueRefold(mints []pubkey.Key) {
	if len(mints) == 0 {
		return
	}
	if r.deps.Snapshot == nil {
		r.deps.Logger.Warn("facts were taken back, and without ClickHouse nothing has what they had replaced", "mints", len(mints))
		return
	}
	applied := r.Applied()
	maps.DeleteFunc(applied, func(tp kafka.TopicPartition, _ int64) bool { return tp.Topic == schemas.TopicSlots })
	r.refolds.add(mints, applied)
}

// refold completes the states that lost facts, until ctx ends. It adds the facts of the mints'
// rows: the projector folded these without the facts that were taken back, and facts that came
// later are in the copy.
func (r *Replica) refold(ctx context.Context) {
	for pause.For(ctx, refoldEvery) == nil {
		mints, until := r.refolds.take()
		if len(mints) == 0 {
			continue
		}
		if err := r.refoldOnce(ctx, mints, until); err != nil {
			r.deps.Logger.Debug("mints that facts were taken from cannot be folded again yet", "mints", len(mints), "err", err)
			r.refolds.add(mints, until)
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
		// A row may have retractions that the copy has not applied yet.
		r.queueRefold(r.store.apply(facts))
	}
	r.deps.Logger.Info("mints that facts were taken from are folded again", "mints", len(mints))
	return nil
}
