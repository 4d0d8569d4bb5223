// Package feed reports the changes of the registry as they happen, and from an earlier point on.
//
// In: the changes of the API's replica; how far the replica has read the topics. Out: changes in
// order, with cursors. Guarantees: a reader that goes on from a cursor misses no change after it,
// and may get some twice. A cursor is a place in the topics, not in this process: it survives a
// restart and means the same on every node. Memory is bounded whatever readers do: they all read
// one ring buffer, and a reader that is too slow for it gets ErrLagged. Applying a change never
// waits for a reader.
//
// Going on from a cursor that is in the ring costs nothing. For an older cursor up to MaxReplay
// records are read from the topics. If there are more records, or the topics do not have them any
// more, the reader is told to begin anew.
package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Kind is what happened to a mint, and the name of the event.
type Kind string

// Kinds of changes.
const (
	// KindNew: the mint has become a member of the registry.
	KindNew Kind = "new"
	// KindChanged: a field of the mint's row has changed, or may have.
	KindChanged Kind = "changed"
	// KindRemoved: the mint is not a member of the registry. Mostly it was one before.
	KindRemoved Kind = "removed"
)

// Change is what happened to a mint. It does not contain the mint's row, which the replica has.
type Change struct {
	Kind Kind
	// ID is the mint's row id in the replica. It is not set on a change that was read from the
	// topics.
	ID uint32
	// Mint is set if Kind is KindRemoved, and on changes that were read from the topics; else it
	// is nil.
	Mint *pubkey.Key
}

// Config of a Feed. Zero values mean the defaults.
type Config struct {
	// ring is how many changes are kept for readers. Default 131,072, 4 MiB.
	ring int
	// MaxReplay bounds the records that the node reads again for a reader whose cursor is older
	// than the ring. Default 100,000.
	MaxReplay int64
	// replayTimeout bounds the time of such a read. Default 30 s.
	replayTimeout time.Duration
	// MaxStreams and MaxPerClient bound the open streams, of all clients and of one. Defaults 1,000
	// and 8.
	MaxStreams, MaxPerClient int
	// Networks bounds the streams of all clients in one IPv6 network.
	Networks limits.Networks
}

// Deps are the collaborators.
type Deps struct {
	// Applied returns how far the replica has read the topics: Apply was called with every change
	// of the records before. Ready returns whether the replica is loaded.
	Applied func() Offsets
	Ready   func() bool
	Log     kafka.Offsets
	// OpenTail reads topics from the given offsets on.
	OpenTail   func(topics []string, start Offsets) (kafka.TailReader, error)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

const (
	// pace is how long changes are collected before readers are woken: a thousand readers should
	// not wake for each record.
	pace = 20 * time.Millisecond
	// markEvery is how often a mark is made even if nothing changes.
	markEvery = time.Second
	// maxMarks bounds the marks.
	maxMarks = 8192
	// replays bounds the replays at one time. At worst, each holds a mint for each record, some 10
	// MB.
	replays = 4
)

// Feed holds the latest changes.
type Feed struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	dirty   chan struct{} // has a signal if Apply was called since the last mark
	replays *semaphore.Weighted
	life    context.Context // ends with Run
	end     context.CancelFunc

	mu    sync.Mutex
	ring  []Change // change number n is at n modulo its length
	next  uint64   // the number of the next change
	marks []mark   // ascending
	// place is how far the replica was when look was called last. first is the number that the next
	// change had when the replica was first seen at place.
	place   vector
	first   uint64
	changed chan struct{} // closed when readers should look again, and then replaced
	streams int
	clients *limits.Crowd
}

// mark says that all changes of the records before at have numbers below seq, and all changes of
// later records have numbers from first on. The replica reports the changes of a batch before it
// moves its place past the batch, so some changes with numbers in between are of later records.
type mark struct {
	seq, first uint64
	at         vector
}

// New checks the collaborators and registers the metrics.
func New(cfg Config, deps Deps) (*Feed, error) {
	if deps.Applied == nil || deps.Ready == nil || deps.Log == nil || deps.OpenTail == nil {
		return nil, errors.New("feed: applied, ready, log and tail are required")
	}
	cfg.ring = cmp.Or(max(cfg.ring, 0), 131_072)
	cfg.MaxReplay = cmp.Or(max(cfg.MaxReplay, 0), 100_000)
	cfg.replayTimeout = cmp.Or(max(cfg.replayTimeout, 0), 30*time.Second)
	cfg.MaxStreams = cmp.Or(max(cfg.MaxStreams, 0), 1_000)
	cfg.MaxPerClient = cmp.Or(max(cfg.MaxPerClient, 0), 8)
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	f := &Feed{
		cfg: cfg, deps: deps, dirty: make(chan struct{}, 1), replays: semaphore.NewWeighted(replays),
		ring: make([]Change, cfg.ring), changed: make(chan struct{}), clients: limits.NewCrowd(cfg.MaxPerClient, cfg.Networks),
	}
	f.life, f.end = context.WithCancel(context.Background())
	var err error
	if f.metrics, err = newMetrics(deps.Registerer, f); err != nil {
		return nil, fmt.Errorf("feed: %w", err)
	}
	return f, nil
}

// Apply implements replica.Listener. While the replica is loading, it reports no changes.
func (f *Feed) Apply(changes []replica.Change) {
	if !f.deps.Ready() {
		return
	}
	f.mu.Lock()
	f.look()
	if len(f.marks) == 0 { // there must be a mark before the first changes
		f.marks = append(f.marks, mark{f.next, f.first, f.place})
	}
	for i := range changes {
		change := Change{Kind: kindOfChange(&changes[i]), ID: changes[i].ID}
		if change.Kind == KindRemoved {
			mint := changes[i].Mint
			change.Mint = &mint
		}
		f.ring[f.next%uint64(len(f.ring))] = change
		f.next++
	}
	f.mu.Unlock()
	select {
	case f.dirty <- struct{}{}:
	default:
	}
}

// kindOfChange returns the kind of a change. The replica tells whether the mint was a member: the
// feed cannot remember it, because it does not get the tokens that come from a checkpoint.
func kindOfChange(change *replica.Change) Kind {
	switch {
	case change.Gone():
		return KindRemoved
	case change.Was:
		return KindChanged
	default:
		return KindNew
	}
}

// Run makes marks and wakes the readers, soon after changes and each markEvery, until ctx ends.
// Then their streams end with ErrClosed.
func (f *Feed) Run(ctx context.Context) error {
	defer f.end()
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-f.dirty:
			if pause.For(ctx, pace) != nil {
				return nil
			}
		}
		f.mark()
	}
}

// look reads the replica's place, and notes the number of the next change if the place is new. The
// caller holds the lock, so all changes reported so far have numbers below next, and all others
// will have numbers from next on. Apply calls it before it adds changes: so when a place is first
// seen, no change of a later record has a number yet.
func (f *Feed) look() {
	if at := vectorOf(f.deps.Applied()); !f.place.equal(&at) {
		f.place, f.first = at, f.next
	}
}

// mark makes a mark at the replica's place, if the last mark is not there, and wakes the readers.
// It does nothing while the replica is loading, or if there is neither a new place nor a new
// change.
func (f *Feed) mark() {
	if !f.deps.Ready() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.look()
	last := len(f.marks) - 1
	switch {
	case last < 0 || !f.marks[last].at.equal(&f.place):
		f.marks = append(f.marks, mark{f.next, f.first, f.place})
	case f.marks[last].seq == f.next:
		return
	}
	// Drop the oldest marks if there are too many, and marks from before the ring.
	if oldest := f.oldest(); len(f.marks) > maxMarks || len(f.marks) > 1 && f.marks[0].seq < oldest {
		first := max(len(f.marks)-maxMarks, 0)
		for first < len(f.marks)-1 && f.marks[first].seq < oldest {
			first++
		}
		f.marks = append(f.marks[:0], f.marks[first:]...)
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// oldest returns the number of the oldest change in the ring. The caller holds the lock.
func (f *Feed) oldest() uint64 {
	return f.next - min(f.next, uint64(len(f.ring)))
}
