package replica

import (
	"context"

	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/replica/liveroot"
	"github.com/mintlake/mintlake/replica/packed"
)

// copiedAtOnce is how many states makeBase copies per hold of mu. The fold waits some 100 µs.
const copiedAtOnce = 1024

// stepsAtOnce is how many steps of Tracker.Work are done per hold of mu. The fold waits some 500
// µs.
const stepsAtOnce = 256

// wantBase asks keepBase for a base tree if the tracker needs one. The caller holds mu.
func (s *store) wantBase() {
	if s.tracker.Known() {
		return
	}
	select {
	case s.baseWanted <- struct{}{}:
	default: // asked for already
	}
}

// keepBase makes a base tree whenever one is wanted, until ctx ends. It runs beside the fold:
// hashing millions of tokens takes seconds, and changes that come meanwhile must become searchable
// without delay.
func (s *store) keepBase(ctx context.Context) {
	for {
		select {
		case <-s.baseWanted:
			s.makeBase(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// makeBase hashes all mints, as they were when the tracker was rebased, into a tree, and gives the
// tree to the tracker. If a mint has changed since, the tracker has kept its state of that time.
func (s *store) makeBase(ctx context.Context) {
	s.mu.Lock()
	known, rebased, end := s.tracker.Known(), s.tracker.Rebased(), s.table.len()
	s.mu.Unlock()
	if known {
		return
	}
	var (
		tree   = root.NewTree()
		copied states
		reader = packed.NewReader(s.shared)
	)
	for from := 0; from < end; from += copiedAtOnce {
		if ctx.Err() != nil || !s.copyStates(&copied, rebased, from, min(from+copiedAtOnce, end)) {
			return // ctx has ended, or the tracker was rebased again and wants another base
		}
		for i, number := range copied.numbers {
			key, _ := s.table.mint(number)
			state := liveroot.Unpack(reader, key, copied.bytes[copied.ends[i]:copied.ends[i+1]])
			tree.Add(number, key, &state) // not the slower Put: each mint comes once
		}
	}
	tree.Sum() // hash now, while nobody waits
	s.mu.Lock()
	if s.tracker.Rebased() == rebased {
		s.tracker.SetBase(tree)
	}
	s.mu.Unlock()
	s.settle()
}

// states are the packed states of some mints: that of numbers[i] is bytes[ends[i]:ends[i+1]].
type states struct {
	numbers []uint32
	bytes   []byte
	ends    []int
}

// copyStates copies the states of the numbers from from to end-1 as they were at the given rebase.
// It returns false if the tracker was rebased again.
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

// seal moves the root to slot. The caller knows that every fact up to that slot has been applied.
// done says that the source has ended: then the root moves to the highest slot of any applied fact,
// if that is higher.
func (s *store) seal(slot uint64, done bool) {
	s.mu.Lock()
	if done {
		slot = max(slot, s.tracker.Highest())
	}
	s.tracker.Seal(slot)
	s.mu.Unlock()
	s.settle()
}

// root returns the root of the registry; false until the copy is live and the base is made.
func (s *store) root() (root.Root, bool) {
	for {
		if current, known, done := s.work(); done {
			return current, known
		}
	}
}

// settle does all the work that is left for the root. The fold can go on between its parts.
func (s *store) settle() {
	for done := false; !done; {
		_, _, done = s.work()
	}
}

// work does a part of the work that is left for the root, small enough for the fold to wait. When
// nothing is left it returns the root, and whether it is known.
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
