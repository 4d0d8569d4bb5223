// Package feed tells what changes in the registry as it changes, and from any point before on.
//
// In: the changes of the API's copy; how far the copy is in the topics. Out: changes in order, with
// cursors. Guarantees: who reads on from a cursor misses no change behind it and may see some
// twice. A cursor is a place in the topics, not in this process: it survives a restart and means
// the same on every node. Memory is bounded whatever readers do: they all read one ring, and who is
// too slow for it is told so. Applying a change waits for no reader.
//
// A cursor that the ring still holds costs nothing. An older one is read from the topics, up to
// MaxReplay records; beyond, or when the topics have expired, the reader is told to begin anew.
package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/api/limits"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/replica"
)

// Kind says what happened to a mint. It is the event's name.
type Kind string

// Kinds of changes.
const (
	// KindNew: the mint is a member of the registry since now.
	KindNew Kind = "new"
	// KindChanged: a field of its row is another one, or may be.
	KindChanged Kind = "changed"
	// KindRemoved: the mint is no member (any more).
	KindRemoved Kind = "removed"
)

// Change is what happened to a mint. What its row is now the copy knows.
type Change struct {
	Kind Kind
	// ID is the mint's number in the copy. It is not set on what was read from the topics; then
	// Mint is.
	ID uint32
	// Mint is set when Kind is KindRemoved, and on what was read from the topics.
	Mint string
}

// Log is where old cursors are read from: internal/kafka.
type Log interface {
	StartOffsets(ctx context.Context, topics []string) (Offsets, error)
	EndOffsets(ctx context.Context, topics []string) (Offsets, error)
}

// Config of a Feed. Zero values mean the defaults.
type Config struct {
	// ring is how many changes are kept for readers. Default 131,072, 3 MiB.
	ring int
	// MaxReplay bounds the records that one reader's old cursor makes the node read. Default
	// 100,000.
	MaxReplay int64
	// replayTimeout bounds the reading. Default 30 s.
	replayTimeout time.Duration
	// MaxStreams and MaxPerClient bound the readers at once. Defaults 1,000 and 8.
	MaxStreams, MaxPerClient int
	// Networks bounds the readers of one IPv6 network together.
	Networks limits.Networks
}

// Deps are the collaborators.
type Deps struct {
	// Applied is how far the copy is; every change of the records before was given to Apply. Ready
	// says that the copy is loaded.
	Applied func() Offsets
	Ready   func() bool
	Log     Log
	// OpenTail reads topics from the given offsets on.
	OpenTail   func(topics []string, start Offsets) (kafka.TailReader, error)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

const (
	// pace is how long changes gather before readers are woken: a thousand of them must not run for
	// each record.
	pace = 20 * time.Millisecond
	// markEvery is how often a new place in the topics is noted though nothing changes.
	markEvery = time.Second
	// maxMarks bounds the places that are kept.
	maxMarks = 8192
	// replays at once: each holds a mint for each record at worst, some 10 MB.
	replays = 4
)

// Feed holds the latest changes.
type Feed struct {
	cfg     Config
	deps    Deps
	metrics *metrics
	dirty   chan struct{}
	replays *semaphore.Weighted
	life    context.Context // of Run
	end     context.CancelFunc

	mu      sync.Mutex
	ring    []Change // change n is at n modulo its length
	next    uint64   // the number of the next change
	marks   []mark   // ascending
	changed chan struct{}
	member  []uint64 // a bit for each number of the copy
	streams int
	clients *limits.Crowd
}

// mark notes that every change of the records before at has a number below seq.
type mark struct {
	seq uint64
	at  vector
}

// New checks the collaborators and registers the metrics.
func New(cfg Config, deps Deps) (*Feed, error) {
	if deps.Applied == nil || deps.Ready == nil || deps.Log == nil || deps.OpenTail == nil {
		return nil, errors.New("feed: applied, ready, log and tail are required")
	}
	if cfg.ring <= 0 {
		cfg.ring = 131_072
	}
	if cfg.MaxReplay <= 0 {
		cfg.MaxReplay = 100_000
	}
	if cfg.replayTimeout <= 0 {
		cfg.replayTimeout = 30 * time.Second
	}
	if cfg.MaxStreams <= 0 {
		cfg.MaxStreams = 1_000
	}
	if cfg.MaxPerClient <= 0 {
		cfg.MaxPerClient = 8
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
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

// Apply implements replica.Listener. What comes while the copy is loading is no news.
func (f *Feed) Apply(changes []replica.Change) {
	live := f.deps.Ready()
	f.mu.Lock()
	if live && len(f.marks) == 0 { // the first changes lie behind a place
		f.marks = append(f.marks, mark{f.next, vectorOf(f.deps.Applied())})
	}
	for i := range changes {
		kind, news := f.note(&changes[i])
		if !live || !news {
			continue
		}
		change := Change{Kind: kind, ID: changes[i].ID}
		if kind == KindRemoved {
			change.Mint = strings.Clone(changes[i].Mint)
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

// note keeps who is a member, and says what the change is.
func (f *Feed) note(change *replica.Change) (kind Kind, news bool) {
	word, bit := int(change.ID/64), uint64(1)<<(change.ID%64)
	if word >= len(f.member) {
		f.member = append(f.member, make([]uint64, word+1-len(f.member))...)
	}
	was := f.member[word]&bit != 0
	switch {
	case change.Gone():
		f.member[word] &^= bit
		return KindRemoved, was
	case was:
		return KindChanged, true
	default:
		f.member[word] |= bit
		return KindNew, true
	}
}

// Run wakes readers until ctx ends; then it sends them away.
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

// mark notes how far the copy is and wakes the readers. The place is read before the lock: changes
// that come in between are behind it.
func (f *Feed) mark() {
	if !f.deps.Ready() {
		return
	}
	at := vectorOf(f.deps.Applied())
	f.mu.Lock()
	defer f.mu.Unlock()
	last := len(f.marks) - 1
	switch {
	case last < 0 || !f.marks[last].at.equal(&at):
		f.marks = append(f.marks, mark{f.next, at})
	case f.marks[last].seq == f.next:
		return
	}
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

// oldest is the number of the oldest change in the ring. It needs the lock.
func (f *Feed) oldest() uint64 {
	return f.next - min(f.next, uint64(len(f.ring)))
}
