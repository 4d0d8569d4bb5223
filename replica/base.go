package replica

import (
	"context"

	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/liveroot"
	"github.com/mintlake/mintlake/replica/memory"
	"github.com/mintlake/mintlake/replica/packed"
)

// copiedAtOnce is how many states are copied while the fold waits: some 100 µs.
const copiedAtOnce = 1024

// stepsAtOnce are done for a root while the fold waits: some 500 µs.
const stepsAtOnce = 256

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

// keepBase makes the root of all there is when that is asked for, while the fold goes on: hashing
// millions of tokens takes seconds, and nobody shall wait for that to search them. It returns when
// ctx ends.
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

// makeBase makes the tree of all mints as they were when the tracker was rebased: those that have
// changed since are the tracker's to tell.
func (s *store) makeBase(ctx context.Context) {
	s.mu.Lock()
	known, rebased, end := s.tracker.Known(), s.tracker.Rebased(), s.table.Len()
	s.mu.Unlock()
	if known {
		return
	}
	var (
		tree   = root.NewTree(memory.NewArena().Take)
		copied states
		reader = packed.NewReader(s.shared)
	)
	for from := 0; from < end; from += copiedAtOnce {
		if ctx.Err() != nil || !s.copyStates(&copied, rebased, from, min(from+copiedAtOnce, end)) {
			return // asked for again
		}
		for i, number := range copied.numbers {
			key, _ := s.table.Key(number)
			mint := key.String()
			state := liveroot.Unpack(reader, mint, copied.bytes[copied.ends[i]:copied.ends[i+1]])
			tree.Put(number, mint, &state)
		}
	}
	tree.Sum() // here nobody waits for it
	s.mu.Lock()
	if s.tracker.Rebased() == rebased {
		s.tracker.SetBase(tree)
	}
	s.mu.Unlock()
	s.settle()
}

// states are the packed states of some mints, one behind the other.
type states struct {
	numbers []uint32
	bytes   []byte
	ends    []int
}

// copyStates copies the states of numbers from up to end as they were at the given rebase; false if
// there was another since.
func (s *store) copyStates(to *states, rebased, from, end int) bool {
	to.numbers, to.bytes, to.ends = to.numbers[:0], to.bytes[:0], append(to.ends[:0], 0)
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
			to.numbers, to.ends = append(to.numbers, number), append(to.ends, len(to.bytes))
		}
	}
	return true
}

// seal moves the root to a slot of which every fact is applied, or with done to the highest slot
// applied.
func (s *store) seal(slot uint64, done bool) {
	s.mu.Lock()
	if done {
		slot = max(slot, s.tracker.Highest())
	}
	s.tracker.Seal(slot)
	s.mu.Unlock()
	s.settle()
}

// root is false until the copy is live and the base is made.
func (s *store) root() (root.Root, bool) {
	for {
		if current, known, done := s.work(); done {
			return current, known
		}
	}
}

// settle does what a seal has left to do.
func (s *store) settle() {
	for done := false; !done; {
		_, _, done = s.work()
	}
}

// work does a part of what is left to do for the root, so that the fold waits for no more than
// that. When all is done it returns the root, and whether it is known.
func (s *store) work() (current root.Root, known, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.tracker.Work(stepsAtOnce) {
		return root.Root{}, false, false
	}
	if !s.live || !s.tracker.Known() {
		return root.Root{}, false, true
	}
	return s.tracker.Root(), true, true
}
