package parts

import (
	"context"
	"errors"
	"time"
)

const (
	// firstRetry is the time until a failed check is tried again. It doubles with each failure, up
	// to checkEvery: ClickHouse may be busy with a damaged block for minutes, and nothing
	// can stop that.
	firstRetry = time.Minute
	// failuresReported is how many failed checks in a row make a part Unchecked. One check that
	// exceeds its time limit is enough.
	failuresReported = 2
)

// schedule says when each part is checked next. A part that is not in it is due now.
type schedule map[partKey]dueCheck

type dueCheck struct {
	next     time.Time
	failures int
}

// due returns the first active part whose time has come. It drops the entries of other parts.
func (s schedule) due(active []part, now time.Time) (next part, ok bool) {
	there := map[partKey]bool{}
	for _, p := range active {
		there[p.key()] = true
		if !ok && !now.Before(s[p.key()].next) {
			next, ok = p, true
		}
	}
	for key := range s {
		if !there[key] {
			delete(s, key)
		}
	}
	return next, ok
}

// ended notes a check that came to its end, whether the part is good or broken.
func (s schedule) ended(p *part, next time.Time) { s[p.key()] = dueCheck{next: next} }

// failed notes a check that did not come to its end, and returns how many checks of the part have
// failed in a row.
func (s schedule) failed(p *part, now time.Time, every time.Duration) (failures int) {
	failures = s[p.key()].failures + 1
	wait := min(every, firstRetry<<min(failures-1, 20)) // 20: the shift must not overflow
	s[p.key()] = dueCheck{now.Add(wait), failures}
	return failures
}

// checkAll checks each active part once in checkEvery until ctx ends. It reads at most
// checkBytesPerSecond.
func (w *Watch) checkAll(ctx context.Context) {
	checks := schedule{}
	for {
		w.mu.Lock()
		next, ok := checks.due(w.active, time.Now())
		w.mu.Unlock()
		wait := w.cfg.every
		if ok {
			wait = w.checkOne(ctx, checks, &next)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

// checkOne checks a part. It returns the pause before the next check: after a success the time that
// keeps the checks at their rate, after a failure Config.every.
func (w *Watch) checkOne(ctx context.Context, checks schedule, p *part) (wait time.Duration) {
	atRate := time.Duration(float64(p.Bytes) / float64(w.cfg.checkBytesPerSecond) * float64(time.Second))
	within, cancel := context.WithTimeout(ctx, w.cfg.checkLimit+atRate)
	defer cancel()
	err := w.check(within, p)
	if err == nil {
		checks.ended(p, time.Now().Add(checkEvery))
		return atRate
	}
	if ctx.Err() != nil {
		return 0
	}
	w.metrics.failures.Inc()
	w.deps.Logger.Warn("a part of clickhouse cannot be checked", "table", p.Table, "part", p.Name, "err", err)
	// If ClickHouse is away, the failure says nothing about the part. If it searches a damaged
	// block, it still answers other queries.
	late := errors.Is(within.Err(), context.DeadlineExceeded)
	if !late && w.deps.Conn.Ping(ctx) != nil {
		return w.cfg.every
	}
	if failures := checks.failed(p, time.Now(), checkEvery); late || failures >= failuresReported {
		w.note(p, finding{Unchecked, "the check did not end: " + err.Error()})
	}
	return w.cfg.every
}

// check compares the files of a part with their checksums and notes the result.
func (w *Watch) check(ctx context.Context, p *part) error {
	passed, message, err := checkPart(quiet(ctx), w.deps.Conn, w.cfg.Database, p)
	if errors.Is(err, errGone) {
		return nil // merged meanwhile
	}
	if err != nil {
		return err
	}
	w.metrics.checkedParts.Inc()
	w.metrics.checkedBytes.Add(float64(p.Bytes))
	if passed {
		w.note(p, finding{})
	} else {
		w.note(p, finding{Broken, message})
	}
	return nil
}

// note keeps the finding of a check. Each look reports it as long as the part is active. An empty
// finding says that the part is good, and removes an earlier finding.
func (w *Watch) note(p *part, f finding) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.kind == "" {
		delete(w.found, p.key())
	} else {
		w.found[p.key()] = f
	}
}
