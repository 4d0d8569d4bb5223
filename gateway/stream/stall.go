package stream

import (
	"context"
	"time"
)

// Why the stream stalls.
const (
	// stalledLog: Kafka does not answer, or does not deliver records that it has.
	stalledLog = "the log cannot be read"
	// stalledSource: the log has nothing new. The chain stands still, or ingest or its source is
	// down.
	stalledSource = "no slot comes"
	// stalledProcessed: the source's node brings nothing at processed.
	stalledProcessed = "the source does not answer"
)

// stallProbe bounds how long checkStall asks Kafka why nothing comes.
const stallProbe = 2 * time.Second

// stalls records whether the stream is stalled. Only the goroutine of feed uses it.
type stalls struct {
	// lastRecords is when records came last.
	lastRecords time.Time
	stalled     bool
}

// checkStall is called when no records have come for a while. If none have come for stallAfter, it
// tells the subscribers that the stream is stalled, once for each stall. next is the offset of the
// record that should come next.
func (s *Server) checkStall(ctx context.Context, next int64) {
	if s.stalls.stalled || time.Since(s.stalls.lastRecords) < s.cfg.stallAfter {
		return
	}
	s.stalls.stalled = true
	why := stalledSource
	within, cancel := context.WithTimeout(ctx, stallProbe)
	defer cancel()
	if ends, err := s.deps.Offsets.EndOffsets(within, []string{theLog.Topic}); err != nil || ends[theLog] > next {
		why = stalledLog
	}
	if ctx.Err() != nil {
		return
	}
	s.metrics.stalls.Inc()
	s.deps.Logger.Warn("the stream stalled", "reason", why, "slot", s.hub.slot.Load())
	s.hub.tellStatus(ctx, &note{kind: noteStalled, slot: s.hub.slot.Load(), why: why})
}

// endStall is called when records came, before they are published. It tells subscribers if the
// stream was stalled.
func (s *Server) endStall(ctx context.Context) {
	s.stalls.lastRecords = time.Now()
	if !s.stalls.stalled {
		return
	}
	s.stalls.stalled = false
	s.deps.Logger.Info("the stream resumed", "slot", s.hub.slot.Load())
	s.hub.tellStatus(ctx, &note{kind: noteResumed, slot: s.hub.slot.Load()})
}

// tellStatus delivers a note about a stall to the watches that want it.
func (h *hub) tellStatus(ctx context.Context, n *note) { h.publishAt(ctx, n.at, nil, placedNote{0, n}) }

// keepStall keeps the note about a stall for watches that come later, until the stall is over. The
// caller holds mu until it has told the present watches, so that each watch is told once.
func (s *shard) keepStall(n *note) {
	switch n.kind {
	case noteStalled:
		s.stalled[n.at] = n
	case noteResumed:
		s.stalled[n.at] = nil
	case noteEnd, noteFinalized, noteDead, noteGap, noteProcessed, noteInterim:
	}
}

// tellNow delivers the notes about present stalls to a new watch, as far as it wants them. The
// caller holds mu.
func (s *shard) tellNow(sub *subscriber, w *watch) {
	for _, n := range s.stalled {
		if n != nil && w.wants(n) {
			s.push(sub, delivery{note: n, watch: w}, false)
		}
	}
}
