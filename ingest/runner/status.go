package runner

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Progress is how far ingest has come, for people who watch it.
type Progress struct {
	// Source is the kind of the source that runs, or of the last one.
	Source string
	// Blocks counts whole blocks, Transactions all transactions including lone ones, and Events the
	// token events of instructions. They count what was acknowledged in this run.
	Blocks, Transactions, Events uint64
	// EventsPerSecond is the average over the last status interval.
	EventsPerSecond float64
	// Slot is the highest slot ingested.
	Slot uint64
	// Read and Total are how much of the finite sources has been read, in the sources' own units
	// (bytes for files). Total is 0 if it is unknown.
	Read, Total uint64
	// Refused counts inputs that could not be read.
	Refused uint64
	// Done means that the sources are done and everything is acknowledged.
	Done bool
}

// maxFailures is how many refusals SourceStatus lists. Later refusals are only counted.
const maxFailures = 100

// status collects what SourceStatus and Progress report.
type status struct {
	clock func() time.Time
	// changed holds a value when a report is due now, before the interval ends.
	changed chan struct{}

	mu       sync.Mutex
	current  Progress
	failures []string
	versions []uint32 // transaction versions that this run met and does not read, ascending
	parts    []part   // by the index of the source
	// rateAt is when measure was last called, and rateFrom the number of events at that time.
	rateAt   time.Time
	rateFrom uint64
}

// part is how much of one source is read.
type part struct{ read, total uint64 }

func newStatus(clock func() time.Time) *status {
	return &status{clock: clock, changed: make(chan struct{}, 1), current: Progress{Source: kindNone}}
}

// kindNone is the kind reported when there is no source.
const kindNone = "none"

func (s *status) update(change func(*Progress)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.current)
}

// report asks for a status record soon.
func (s *status) report() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *status) begin(index int, kind string, slot uint64) {
	s.update(func(p *Progress) {
		p.Source, p.Slot = kind, max(p.Slot, slot)
		for len(s.parts) <= index {
			s.parts = append(s.parts, part{})
		}
	})
	s.report()
}

func (s *status) progress(index int, read, total uint64) {
	s.update(func(p *Progress) {
		s.parts[index] = part{read, total}
		p.Read, p.Total = 0, 0
		for _, one := range s.parts {
			p.Read, p.Total = p.Read+one.read, p.Total+one.total
		}
	})
}

// refuse counts a refusal. If the refusal is listed, refuse asks for a status record soon.
func (s *status) refuse(reason string) {
	listed := false
	s.update(func(p *Progress) {
		p.Refused++
		if listed = len(s.failures) < maxFailures; listed {
			s.failures = append(s.failures, reason)
		}
	})
	if listed {
		s.report()
	}
}

// meet notes a transaction version that this run met and does not read. A new version is reported
// soon.
func (s *status) meet(version uint8) {
	known := false
	s.update(func(*Progress) {
		var at int
		if at, known = slices.BinarySearch(s.versions, uint32(version)); !known {
			s.versions = slices.Insert(s.versions, at, uint32(version))
		}
	})
	if !known {
		s.report()
	}
}

// acknowledged counts a block, or a lone transaction, whose records are all in the log.
func (s *status) acknowledged(out *output, whole bool) {
	s.update(func(p *Progress) {
		if whole {
			p.Blocks++
		}
		p.Transactions += uint64(out.transactions)
		p.Events += uint64(out.events)
		p.Slot = max(p.Slot, out.slot)
	})
}

func (s *status) finish(done bool) { s.update(func(p *Progress) { p.Done = done }) }

func (s *status) snapshot() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// measure sets EventsPerSecond to the average since the last call.
func (s *status) measure() {
	now := s.clock()
	s.update(func(p *Progress) {
		if seconds := now.Sub(s.rateAt).Seconds(); !s.rateAt.IsZero() && seconds > 0 {
			p.EventsPerSecond = float64(p.Events-s.rateFrom) / seconds
		}
		s.rateAt, s.rateFrom = now, p.Events
	})
}

func (s *status) message() *eventspb.SourceStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.current
	return &eventspb.SourceStatus{
		Kind: p.Source, Done: p.Done, Slot: p.Slot, Blocks: p.Blocks, Transactions: p.Transactions, TokenEvents: p.Events,
		FailedInputs: p.Refused, Failures: slices.Clone(s.failures), ReportedAtMs: s.clock().UnixMilli(),
		UnreadVersions: slices.Clone(s.versions),
	}
}

// Progress returns how far this run is. It may be called concurrently.
func (r *Runner) Progress() Progress { return r.status.snapshot() }

// Announce writes this run's first status, which has the first source's kind and is not done. The
// caller must call it before anybody can ask how far ingest has come. Until then, the last status
// in the log is an earlier run's, which may say that ingest is done.
func (r *Runner) Announce(ctx context.Context) error {
	if len(r.cfg.Sources) > 0 {
		r.status.update(func(p *Progress) { p.Source = r.cfg.Sources[0].Kind() })
	}
	if err := r.produceStatus(ctx); err != nil {
		return fmt.Errorf("ingest: announce: %w", err)
	}
	return nil
}

// report writes a status record at each interval and after each change, until stop is closed or ctx
// ends. If a write fails, report calls fail and returns.
func (r *Runner) report(ctx context.Context, fail context.CancelCauseFunc, stop <-chan struct{}) {
	ticker := time.NewTicker(r.cfg.statusInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ctx.Done():
			return
		case <-r.status.changed:
		case <-ticker.C:
			r.status.measure()
		}
		if err := r.produceStatus(ctx); err != nil {
			fail(err)
			return
		}
	}
}

func (r *Runner) produceStatus(ctx context.Context) error {
	if r.cfg.Beside {
		return nil
	}
	message := r.status.message()
	value, err := proto.Marshal(message)
	if err != nil {
		return fmt.Errorf("encode source status: %w", err)
	}
	err = r.deps.Producer.Produce(ctx, kafka.Record{
		Topic: schemas.TopicSlots, Key: []byte(schemas.SourceStatusKey), Value: value,
		Headers: headers(schemas.TypeSourceStatus, time.UnixMilli(message.GetReportedAtMs()), nil),
	})
	if err != nil {
		return fmt.Errorf("write source status: %w", err)
	}
	return nil
}
