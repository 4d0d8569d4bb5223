package replica

import (
	"context"

	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/packed"
	"github.com/mintlake/mintlake/registry/root"
)

// copiedAtOnce is how many states are copied while the fold waits: some 100 µs.
const copiedAtOnce = 1024

// wantBase asks for a base when the root needs one. It needs mu.
func (s *store) wantBase() {
	if s.tracker.Known() {
		return
	}
	select {
	case s.base <- struct{}{}:
	default: // asked for already
	}
}

// keepBase makes the root of all there is when that is asked for, while the fold goes on: hashing millions of tokens takes seconds, and nobody
// shall wait for that to search them. It returns when ctx ends.
func (s *store) keepBase(ctx context.Context) {
	for {
		select {
		case <-s.base:
			s.makeBase(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// makeBase sums up the elements of all mints as they were when the tracker was rebased: those that have changed since are the tracker's to tell.
func (s *store) makeBase(ctx context.Context) {
	s.mu.Lock()
	known, rebased, end := s.tracker.Known(), s.tracker.Rebased(), s.table.Len()
	s.mu.Unlock()
	if known {
		return
	}
	var (
		hash    root.Hash
		tokens  int
		element []byte
		copied  states
		reader  = packed.NewReader(s.book)
	)
	for from := 0; from < end; from += copiedAtOnce {
		if ctx.Err() != nil || !s.copyStates(&copied, rebased, from, min(from+copiedAtOnce, end)) {
			return // asked for again
		}
		for i, key := range copied.keys {
			mint := key.String()
			state := registry.StateOf(reader.Facts(mint, copied.bytes[copied.ends[i]:copied.ends[i+1]]))
			var ok bool
			if element, ok = root.AppendEncode(element[:0], mint, &state); ok {
				hash.Add(element)
				tokens++
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracker.Rebased() == rebased {
		s.tracker.SetBase(&hash, tokens)
	}
}

// states are the packed states of some mints, one behind the other.
type states struct {
	keys  []packed.Key
	bytes []byte
	ends  []int
}

// copyStates copies the states of numbers from up to end as they were at the given rebase; false if there was another since.
func (s *store) copyStates(to *states, rebased, from, end int) bool {
	to.keys, to.bytes, to.ends = to.keys[:0], to.bytes[:0], append(to.ends[:0], 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tracker.Rebased() != rebased {
		return false
	}
	for number := uint32(from); number < uint32(end); number++ {
		before := len(to.bytes)
		if base, changed := s.tracker.Base(number); changed {
			to.bytes = append(to.bytes, base...)
		} else {
			to.bytes = s.appendState(to.bytes, number)
		}
		if len(to.bytes) > before {
			key, _ := s.table.Key(number)
			to.keys, to.ends = append(to.keys, key), append(to.ends, len(to.bytes))
		}
	}
	return true
}

// seal moves the root to a slot of which every fact is applied, or with done to the highest slot applied.
func (s *store) seal(slot uint64, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done {
		slot = max(slot, s.tracker.Highest())
	}
	s.tracker.Seal(slot)
}

// root is false until the copy is live and the base is made.
func (s *store) root() (root.Root, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.live || !s.tracker.Known() {
		return root.Root{}, false
	}
	return s.tracker.Root(), true
}
