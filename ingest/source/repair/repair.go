// Package repair closes the gaps of a live source while it runs.
//
// In: gaps that the source saw, the ledger, and the source's tip. Out: calls of a filler, for one
// gap after the other, a long gap in parts. Guarantees: no slot more than a day below the tip is
// asked for. Every gap that the ledger shows within that day is tried again and again. The pauses
// grow while no slot is filled. A long gap holds up no other gap.
package repair

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/solana/slottime"
)

// Gap is a run of slots whose blocks the source did not deliver, both ends included.
type Gap struct{ From, To uint64 }

// Filler gets the blocks of slots from..to, both included, from elsewhere and passes them to sink.
// A gap is tried again and again, so a filler reports a slot that it cannot get only once. The rpc
// source is one.
type Filler interface {
	Fill(ctx context.Context, from, to uint64, ledger source.Ledger, sink source.Sink) error
}

// day is how far below the tip gaps are filled.
const day = 24 * time.Hour

// maxPart is how many slots of a gap are filled before other gaps have their turn: some 20 s at 50
// blocks a second.
const maxPart = 1000

// maxPause bounds the pause between two attempts at gaps that could not be closed.
const maxPause = 10 * time.Minute

// Config configures a Repairer.
type Config struct {
	// Every is the time between checks of the ledger. It grows to maxPause while a gap cannot be
	// closed.
	Every time.Duration
	// Resume is the slot up to which everything was ingested before; 0 if there is none.
	Resume uint64
}

// Deps are the collaborators. If Filler is nil, gaps are only counted.
type Deps struct {
	Ledger source.Ledger
	Sink   source.Sink
	Filler Filler
	// Time has the slot time. Required.
	Time    *slottime.Meter
	Metrics *source.Metrics
	Logger  *slog.Logger
}

// Repairer closes gaps one after the other. It tries a new gap of the source at once, or after the
// part that is being filled. Later it tries every gap that the ledger still shows, since a server
// may not have a block yet, or may claim for a while that there is none.
type Repairer struct {
	cfg  Config
	deps Deps
	gaps chan Gap
	// tip is the source's tip. begin is the first tip, for a source that resumes nothing. Both are
	// 0 until something is delivered.
	tip, begin atomic.Uint64

	// Only Run uses the rest. fresh are the new gaps that wait, and known those of the ledger that
	// the present attempt has still to fill. In both the next one is the last.
	fresh, known []Gap
	// before is the tip at the last check. left is how many slots were missing at the last attempt.
	before, left uint64
	// pause is the time between two attempts, and next when the next one is due.
	pause time.Duration
	next  time.Time
}

// New makes a repairer that does nothing until Run.
func New(cfg Config, deps Deps) *Repairer {
	return &Repairer{cfg: cfg, deps: deps, gaps: make(chan Gap, 1024), pause: cfg.Every}
}

// reach is how many slots below the tip gaps are filled. Older ones need a backfill.
func (r *Repairer) reach() uint64 { return r.deps.Time.Slots(day) }

// At sets the source's tip. At and OnGap may be called while Run runs.
func (r *Repairer) At(tip uint64) {
	r.tip.Store(tip)
	r.begin.CompareAndSwap(0, tip)
}

// OnGap notes a new gap, which Run will fill.
func (r *Repairer) OnGap(from, to uint64) {
	r.deps.Logger.Warn("blocks are missing in the stream", "from_slot", from, "to_slot", to, "filler", r.deps.Filler != nil)
	if r.deps.Filler == nil {
		return
	}
	select {
	case r.gaps <- Gap{from, to}:
	default: // the queue is full: Run finds the gap in the ledger later
	}
}

// Run closes gaps until ctx ends, and returns ctx's error.
func (r *Repairer) Run(ctx context.Context) error {
	tick := time.NewTicker(r.cfg.Every)
	defer tick.Stop()
	always := make(chan struct{})
	close(always)
	for {
		var turn chan struct{}
		if len(r.fresh)+len(r.known) > 0 {
			turn = always
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case g := <-r.gaps:
			r.put(g)
		case now := <-tick.C:
			r.repair(now)
		case <-turn:
			r.putAll()
			r.fillPart(ctx, &r.fresh)
			r.fillPart(ctx, &r.known)
		}
	}
}

// put puts a new gap before all others. Slots more than a day below the tip are left to a backfill.
func (r *Repairer) put(g Gap) {
	tip := max(r.tip.Load(), g.To)
	if first := tip - min(tip, r.reach()); g.From < first {
		r.deps.Logger.Warn("missing blocks of more than a day ago are left to a backfill", "from_slot", g.From, "to_slot", min(g.To, first-1))
		g.From = first
	}
	if g.From > g.To {
		return
	}
	parts := r.missing(g)
	slices.Reverse(parts)
	r.fresh = append(r.fresh, parts...)
	r.pause, r.next = r.cfg.Every, time.Time{} // try again soon
}

// putAll puts the new gaps that have come.
func (r *Repairer) putAll() {
	for {
		select {
		case g := <-r.gaps:
			r.put(g)
		default:
			return
		}
	}
}

// missing returns the parts of a new gap that the ledger lacks. The gap's last slot is known to
// have a block, so it is included whatever the ledger says.
func (r *Repairer) missing(g Gap) (parts []Gap) {
	for _, m := range r.deps.Ledger.Missing(g.From, g.To) {
		parts = append(parts, Gap{m.FromSlot, m.ToSlot})
	}
	if n := len(parts); n == 0 || parts[n-1].To != g.To {
		parts = append(parts, Gap{g.To, g.To})
	}
	return parts
}

// look returns the gaps in the ledger and how many slots they have, and sets the metrics of
// coverage. It looks only up to the tip of the last check: newer slots may be on their way.
func (r *Repairer) look() (open []Gap, slots uint64) {
	tip, upTo := r.tip.Load(), r.before
	r.before = tip
	reach := r.reach()
	first := r.cfg.Resume - min(r.cfg.Resume, reach)
	if first == 0 {
		first = r.begin.Load()
	}
	first = max(first, tip-min(tip, reach))
	if upTo <= first {
		return nil, 0
	}
	for _, m := range r.deps.Ledger.Missing(first, upTo) {
		// The missing slots begin at first or lower: they are before the source's begin, or so old
		// that they need a backfill.
		if m.FromSlot == first {
			continue
		}
		slots += m.ToSlot - m.FromSlot + 1
		open = append(open, Gap{m.FromSlot, m.ToSlot})
	}
	if len(open) > 0 {
		upTo = open[0].From - 1
	}
	r.deps.Metrics.Coverage(len(open), slots, upTo)
	return open, slots
}

// repair begins an attempt at the gaps that look finds, if one is due and the last one is over. New
// gaps that wait are no part of it. If as many slots are missing as before the last attempt, that
// brought nothing, and the pause doubles.
func (r *Repairer) repair(now time.Time) {
	open, slots := r.look()
	if r.deps.Filler == nil || now.Before(r.next) || len(r.known) > 0 {
		return
	}
	open = slices.DeleteFunc(open, r.waits)
	if slots > 0 && len(open) == 0 {
		return
	}
	slices.Reverse(open)
	r.known = open
	if slots > 0 && slots == r.left { // the attempt brought nothing
		r.pause = min(2*r.pause, maxPause)
	} else {
		r.pause = r.cfg.Every
	}
	r.left, r.next = slots, now.Add(r.pause)
}

// waits reports whether some of the gap's slots belong to a new gap that waits.
func (r *Repairer) waits(g Gap) bool {
	return slices.ContainsFunc(r.fresh, func(f Gap) bool { return f.From <= g.To && g.From <= f.To })
}

// fillPart fills the next part of the gaps that wait, if there are any.
func (r *Repairer) fillPart(ctx context.Context, waiting *[]Gap) {
	last := len(*waiting) - 1
	if last < 0 {
		return
	}
	g := &(*waiting)[last]
	part := Gap{g.From, g.From + min(g.To-g.From, maxPart-1)}
	if part.To < g.To {
		g.From = part.To + 1
	} else {
		*waiting = (*waiting)[:last]
	}
	r.fill(ctx, part)
}

func (r *Repairer) fill(ctx context.Context, g Gap) {
	if err := r.deps.Filler.Fill(ctx, g.From, g.To, r.deps.Ledger, r.deps.Sink); err != nil && ctx.Err() == nil {
		r.deps.Logger.Error("gap could not be filled, will try again", "from_slot", g.From, "to_slot", g.To, "err", err)
	}
}
