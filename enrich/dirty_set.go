package enrich

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Reasons why a mint is due: metric labels.
const (
	dueQuiet   = "quiet"
	dueMaxWait = "max_wait"
	dueDeltas  = "deltas"
)

// dirtyMint is a mint that events changed since its accounts were last read.
type dirtyMint struct {
	mint pubkey.Key
	// first and last are when the first and the latest of those events came.
	first, last time.Time
	// slot is the highest slot of those events.
	slot uint64
	// deltas counts the changes of supply among them.
	deltas int
	// behind counts the reads that were older than slot.
	behind int

	// due is when to read the mint, and trigger why. judge sets both.
	due     time.Time
	trigger string
}

// dirtySet remembers which mints to read and when, in memory only. A mint that it loses, in a crash
// or because it is full, is read after its next change. Until then the registry has what the events
// say.
type dirtySet struct {
	quiet, maxWait time.Duration
	maxDeltas      int
	limit          int

	mu    sync.Mutex
	mints map[pubkey.Key]*dirtyMint
}

func newDirtySet(cfg RereadConfig) *dirtySet {
	return &dirtySet{
		quiet: cfg.Quiet, maxWait: cfg.MaxWait, maxDeltas: cfg.maxDeltas, limit: cfg.maxMints, mints: map[pubkey.Key]*dirtyMint{},
	}
}

// mark remembers that an event at slot changed the mint. delta is true for a change of supply. mark
// returns false if the set is full and does not have the mint.
func (s *dirtySet) mark(mint pubkey.Key, slot uint64, delta bool, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.mints[mint]
	if d == nil {
		if len(s.mints) >= s.limit {
			return false
		}
		d = &dirtyMint{mint: mint, first: now}
		s.mints[mint] = d
	}
	d.last, d.slot = now, max(d.slot, slot)
	if delta {
		d.deltas++
	}
	return true
}

// forget drops a mint that was closed.
func (s *dirtySet) forget(mint pubkey.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mints, mint)
}

// putBack adds a mint that take returned, as if it had changed now. If the mint has changed since
// take, putBack adds to the new entry.
func (s *dirtySet) putBack(d *dirtyMint, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if newer := s.mints[d.mint]; newer != nil {
		newer.slot, newer.deltas, newer.behind = max(newer.slot, d.slot), newer.deltas+d.deltas, d.behind
		return
	}
	d.first, d.last = now, now
	s.mints[d.mint] = d
}

func (s *dirtySet) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mints)
}

// take removes and returns up to limit mints that are due, those due longest first. So that mints
// share a call, it returns fewer than limit only if one of them has been due for patience, or has
// too many deltas to wait.
func (s *dirtySet) take(limit int, patience time.Duration, now time.Time) []*dirtyMint {
	s.mu.Lock()
	defer s.mu.Unlock()
	var due []*dirtyMint
	hurry := false
	for _, d := range s.mints {
		s.judge(d, now)
		if d.due.After(now) {
			continue
		}
		due = append(due, d)
		hurry = hurry || d.trigger == dueDeltas || now.Sub(d.due) >= patience
	}
	if len(due) < limit && !hurry {
		return nil
	}
	slices.SortFunc(due, func(a, b *dirtyMint) int {
		return cmp.Or(a.due.Compare(b.due), slices.Compare(a.mint[:], b.mint[:]))
	})
	due = due[:min(len(due), limit)]
	for _, d := range due {
		delete(s.mints, d.mint)
	}
	return due
}

// judge sets when the mint is due, and why.
func (s *dirtySet) judge(d *dirtyMint, now time.Time) {
	d.due, d.trigger = d.last.Add(s.quiet), dueQuiet
	if latest := d.first.Add(s.maxWait); latest.Before(d.due) {
		d.due, d.trigger = latest, dueMaxWait
	}
	// If the last read was behind, a read right now would be behind, too. So such a mint waits for
	// its quiet time.
	if d.deltas >= s.maxDeltas && d.behind == 0 && d.due.After(now) {
		d.due, d.trigger = now, dueDeltas
	}
}
