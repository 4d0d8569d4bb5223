package trust

import (
	"context"
	"fmt"
	"math/bits"
	"runtime/debug"

	"github.com/mr-tron/base58"
)

// work replays the swaps of the queue.
func (t *Trust) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case p := <-t.queue:
			if e, err := t.evidence(p); err != nil {
				t.deps.Logger.Debug("a transaction of the stream is passed over", "slot", p.step.Slot, "err", err)
			} else {
				t.conclude(ctx, e, t.replay(e))
			}
		}
	}
}

// evidence parses the transaction of a pair. The stream's transaction does not have the time of its
// block, so it is taken from the step.
func (t *Trust) evidence(p paired) (*Evidence, error) {
	tx, err := parseUpdate(p.update)
	if err != nil {
		return nil, err
	}
	tx.UnixTime = p.step.UnixTime
	return &Evidence{Venue: t.venues[p.step.Venue], Ref: p.step.Ref, Before: p.step.Before, Transaction: tx}, nil
}

// replay computes a swap again. A panic becomes a skipped swap, as transactions are hostile.
func (t *Trust) replay(e *Evidence) (r replayed) {
	defer func() {
		if reason := recover(); reason != nil {
			t.deps.Logger.Error("a replay failed", "venue", e.Venue.Name(), "err", fmt.Sprintf("panic: %v: %s", reason, debug.Stack()))
			r = skip("it failed here")
		}
	}()
	return e.replay()
}

// conclude counts the result of a replay.
func (t *Trust) conclude(ctx context.Context, e *Evidence, r replayed) {
	name := e.Venue.Name()
	t.metrics.replays.WithLabelValues(name, string(r.outcome)).Inc()
	switch r.outcome {
	case skipped:
		t.deps.Logger.Debug("a swap was not replayed", "venue", name, "pool", e.Ref.Address().String(), "slot", e.Slot, "reason", r.why)
	case matched:
		counted, proved := t.book.match(name, r.features, e.Slot)
		if proved {
			t.deps.Logger.Info("a kind of swap is proved", "venue", name, "kind", t.kind(name, r.features))
		}
		if counted {
			t.setDirty()
		}
	case mismatched:
		t.mismatch(ctx, e, r)
	}
}

// mismatch handles a mismatch. It stops the venue or, if the build is not trusted, this kind of
// swap, unless the swap ran on a build that is not deployed any more.
func (t *Trust) mismatch(ctx context.Context, e *Evidence, r replayed) {
	name, signature := e.Venue.Name(), base58.Encode(e.Signature[:])
	counts, quoted := t.book.suspend(name, signature, r.features, e.Slot)
	if !counts {
		return
	}
	// A program may have been deployed anew without being noticed yet. Then the swap says nothing
	// about the build before. So the programs are read again. But if this kind of swap is not
	// quoted anyway, every swap on the chain may be such a mismatch, while swaps of other venues
	// wait in the queue. Then Check is enough: it reads nothing while the stream reports
	// deployments.
	look := t.Check
	if quoted {
		look = t.look
	}
	looking, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	if err := look(looking, e.Slot); err != nil {
		t.deps.Logger.Debug("programs were not read", "err", err)
	}
	mismatches := t.book.resolve(name, r.features, signature, e.Slot)
	t.setDirty()
	if mismatches > 0 {
		t.metrics.mismatches.WithLabelValues(name).Inc()
	}
	if !quoted && bits.OnesCount64(mismatches) != 1 { // sampled
		return
	}
	path := "nowhere: there is no folder"
	if t.cfg.Dir != "" {
		written, err := vectorOf(e, r, t.book.programsOf(name)).write(t.cfg.Dir)
		if path = written; err != nil {
			path = "nowhere: " + err.Error()
		}
	}
	t.deps.Logger.Warn("a swap is not what a quote says", "venue", name, "kind", t.kind(name, r.features), "signature", signature, "slot", e.Slot,
		"chain", Flow{r.chain[in], r.chain[out]}.String(), "quoted", Flow{r.quoted[in], r.quoted[out]}.String(), "mismatches", mismatches, "written", path)
}

// setDirty notes that something must be recorded.
func (t *Trust) setDirty() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dirty = true
}
