package projector

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Dirty is a set of mints whose rows are older than their facts.
type Dirty struct {
	// All means that there are too many to list: any mint may be one of them. Mints is empty then.
	All bool
	// Mints has each mint once, in the order of the base58 texts, as the tables have them.
	Mints []pubkey.Key
}

// maxDirtyMints bounds the mints that are remembered, some 60 MB. Beyond it, all mints are folded
// in the table's own order. In a table of eight million mints that costs as much as looking up one
// million of them (see foldsAll), in one of thirty million four times as much.
const maxDirtyMints = 1_000_000

// backlog has the mints that are stored and not folded yet, and the offsets whose commit waits for
// that fold. A kill may lose it: offsets are committed only after the fold, so the records come
// again.
type backlog struct {
	mu    sync.Mutex
	mints map[pubkey.Key]struct{}
	all   bool
	// dueNow means that the mints are due although no commit waits for them.
	dueNow bool
	// held is the last stored record of each partition whose commit waits.
	held map[kafka.TopicPartition]kafka.Record
	// since is when the first record of held came.
	since time.Time
	// folding means that a fold has taken mints and has not called settle yet.
	folding bool
	// behind are the partitions with so much lag that their records are not folded as they come.
	behind map[kafka.TopicPartition]bool
	// pause is how long the next fold waits for more records while a partition is behind.
	pause time.Duration
	// changed wakes awaitBacklog.
	changed chan struct{}
}

func newBacklog(pause time.Duration) *backlog {
	return &backlog{
		mints: map[pubkey.Key]struct{}{}, held: map[kafka.TopicPartition]kafka.Record{}, behind: map[kafka.TopicPartition]bool{},
		pause: pause, changed: make(chan struct{}, 1),
	}
}

// pending reports whether a commit waits for a fold, or a fold is under way.
func (b *backlog) pending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held) > 0 || b.folding
}

// nextOffsets returns the next offset of each partition in held.
func (b *backlog) nextOffsets() map[kafka.TopicPartition]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := make(map[kafka.TopicPartition]int64, len(b.held))
	for partition, record := range b.held {
		next[partition] = record.Offset + 1
	}
	return next
}

// updateBehind decides from the lag which partitions are behind, and returns a copy of that set.
// lag has every partition that matters. A partition falls behind at enter records and has caught up
// below leave. If the two were equal, it would change state all the time.
func (b *backlog) updateBehind(lag map[kafka.TopicPartition]int64, enter, leave int64) map[kafka.TopicPartition]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	behind := map[kafka.TopicPartition]bool{}
	for partition, records := range lag {
		if records >= enter || b.behind[partition] && records >= leave {
			behind[partition] = true
		}
	}
	b.behind = behind
	return maps.Clone(behind)
}

// add takes what was stored of one batch: late are the mints that are not folded yet, folded the
// others, last is the last record of each partition. It returns the records that can be committed
// now.
func (b *backlog) add(late, folded []pubkey.Key, last map[kafka.TopicPartition]kafka.Record, at time.Time) []kafka.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := make([]kafka.Record, 0, len(last))
	for partition, record := range last {
		_, waits := b.held[partition]
		// During another fold, all commits wait, and the mints that this batch has folded are
		// folded once more: the other fold read older facts and may write its rows later.
		if waits || b.behind[partition] || b.folding {
			if len(b.held) == 0 {
				b.since = at
			}
			b.held[partition] = record
			continue
		}
		free = append(free, record)
	}
	b.remember(late)
	if b.folding {
		b.remember(folded)
	}
	b.wake()
	return free
}

// remember adds mints. If there are too many, all mints count as dirty.
func (b *backlog) remember(mints []pubkey.Key) {
	if b.all {
		return
	}
	for _, mint := range mints {
		b.mints[mint] = struct{}{}
	}
	if len(b.mints) > maxDirtyMints {
		b.all = true
		clear(b.mints)
	}
}

// renew makes all mints dirty, and due without waiting.
func (b *backlog) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all, b.dueNow = true, true
	clear(b.mints)
	b.wake()
}

func (b *backlog) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// due returns how long the backlog may still wait to be folded; 0 if no partition is behind, or
// after renew. ok is false if there is nothing to fold.
func (b *backlog) due(at time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dueNow {
		return 0, true
	}
	if len(b.held) == 0 {
		return 0, false
	}
	if len(b.behind) == 0 {
		return 0, true
	}
	return max(0, b.pause-at.Sub(b.since)), true
}

// take returns the backlog to be folded, and empties it. The caller must call settle after the
// fold.
func (b *backlog) take() (Dirty, []kafka.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dirty := Dirty{All: b.all, Mints: slices.SortedFunc(maps.Keys(b.mints), pubkey.Compare)}
	held := slices.Collect(maps.Values(b.held))
	b.all, b.dueNow, b.folding = false, false, true
	clear(b.mints)
	clear(b.held)
	return dirty, held
}

// settle ends the fold that take began. pause is how long the next fold waits.
func (b *backlog) settle(pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.folding, b.pause = false, pause
	b.wake()
}
