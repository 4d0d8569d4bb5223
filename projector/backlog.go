package projector

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Dirty are mints whose rows are older than their facts.
type Dirty struct {
	// All says that they are too many to be listed: any mint may be one of them. Mints is empty
	// then.
	All bool
	// Mints are sorted, each once.
	Mints []string
}

// maxDirtyMints bounds the mints that are remembered by name, some 20 MB. Beyond it folding all
// mints in the table's own order costs no more than looking for these among them.
const maxDirtyMints = 200_000

// backlog is what is stored and not folded yet, with the offsets that wait for it. Nothing of it
// has to survive a kill: the offsets are committed after the fold only, so the records come again.
type backlog struct {
	mu    sync.Mutex
	mints map[string]struct{}
	all   bool
	// now says that they are due although no commit waits for them.
	now bool
	// held is the last record stored of each partition whose commit waits.
	held map[kafka.TopicPartition]kafka.Record
	// since is when the first of held came.
	since time.Time
	// folding says that some of it was taken and is not settled yet.
	folding bool
	// behind are the partitions whose records are not folded as they come.
	behind map[kafka.TopicPartition]bool
	// pause is how long the next fold waits for more, while there is more.
	pause time.Duration
	// changed wakes who waits for the backlog to be due.
	changed chan struct{}
}

func newBacklog(pause time.Duration) *backlog {
	return &backlog{
		mints: map[string]struct{}{}, held: map[kafka.TopicPartition]kafka.Record{}, behind: map[kafka.TopicPartition]bool{},
		pause: pause, changed: make(chan struct{}, 1),
	}
}

// pending says whether anything waits.
func (b *backlog) pending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.held) > 0 || b.folding
}

// positions are the offsets that the partitions of held have come to.
func (b *backlog) positions() map[kafka.TopicPartition]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	next := make(map[kafka.TopicPartition]int64, len(b.held))
	for partition, record := range b.held {
		next[partition] = record.Offset + 1
	}
	return next
}

// sort takes over which partitions are behind, and returns a copy of it. lag knows every partition
// that matters. A partition falls behind at enter records and has caught up below leave: without
// the distance it would go to and fro.
func (b *backlog) sort(lag map[kafka.TopicPartition]int64, enter, leave int64) map[kafka.TopicPartition]bool {
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

// add takes over what was stored of one batch: late are the mints that are not folded yet, now
// those that were, last is the last record of each partition. It returns the records to commit at
// once.
func (b *backlog) add(late, now []string, last map[kafka.TopicPartition]kafka.Record, at time.Time) []kafka.Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	free := make([]kafka.Record, 0, len(last))
	for partition, record := range last {
		_, waits := b.held[partition]
		// What is folded while a fold runs is folded once more behind it: that one read older facts
		// and may write later.
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
		b.remember(now)
	}
	b.wake()
	return free
}

func (b *backlog) remember(mints []string) {
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

// renew has all mints folded at once.
func (b *backlog) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all, b.now = true, true
	clear(b.mints)
	b.wake()
}

func (b *backlog) wake() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// due says how long the backlog may still wait to be folded: nothing once no partition is behind.
// ok is false when there is nothing to fold.
func (b *backlog) due(at time.Time) (wait time.Duration, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.now {
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

// take hands the backlog out to be folded. settle must follow.
func (b *backlog) take() (Dirty, []kafka.Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dirty := Dirty{All: b.all, Mints: slices.Sorted(maps.Keys(b.mints))}
	held := slices.Collect(maps.Values(b.held))
	b.all, b.now, b.folding = false, false, true
	clear(b.mints)
	clear(b.held)
	return dirty, held
}

// settle ends what take began. The next fold waits for pause.
func (b *backlog) settle(pause time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.folding, b.pause = false, pause
	b.wake()
}
