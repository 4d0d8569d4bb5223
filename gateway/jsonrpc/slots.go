package jsonrpc

import (
	"slices"
	"sync"
	"time"

	"github.com/mintlake/mintlake/solana/bounds"
)

const (
	// nearSlots is how far above the slots of all others an upstream's slot may be and still be
	// believed: half a minute. A node that is 128 slots behind the cluster calls itself unhealthy,
	// so healthy nodes are never 150 slots apart.
	nearSlots = 150
	// stillAfter is the time after which a slot that has not risen is no longer compared with the
	// higher slot of another upstream: the upstream may stand still.
	stillAfter = 10 * time.Second
)

// lastSlot is the latest slot that an upstream named, and when the upstream was asked for it.
type lastSlot struct {
	slot  uint64
	asked time.Time
	// moved is when the slot last rose, or was first seen.
	moved time.Time
}

// lastSlots are the latest slots of an upstream, by commitment.
type lastSlots struct {
	mu   sync.Mutex
	last [commitments]lastSlot
}

// learn records a slot that the upstream named when it was asked at the time asked. If the recorded
// slot is from a later question, learn does nothing: answers may come out of order.
func (s *lastSlots) learn(c commitment, slot uint64, asked time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := &s.last[c]
	if asked.Before(last.asked) {
		return
	}
	if slot > last.slot || last.asked.IsZero() {
		last.moved = time.Now()
	}
	last.slot, last.asked = slot, asked
}

// known returns the latest slot; false if there is none.
func (s *lastSlots) known(c commitment) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[c].slot, !s.last[c].asked.IsZero()
}

func (s *lastSlots) all() [commitments]lastSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// condition says whether an upstream is well, or what is wrong with it. choose prefers lower
// conditions.
type condition int

const (
	well condition = iota
	// behind is an upstream whose slot is more than maxLag below the median.
	behind
	// inTrouble is an upstream whose circuit breaker is open.
	inTrouble
	// ahead is an upstream with a slot that no other comes near.
	ahead
	// otherChain is an upstream whose genesis hash is not that of the data.
	otherChain
	conditions // their number
)

func (c condition) String() string {
	return [...]string{"well", "behind", "in_trouble", "ahead", "other_chain"}[c]
}

// judge returns the condition of each upstream. A single upstream is never behind or ahead.
func (p *pool) judge(now time.Time) []condition {
	found := make([]condition, len(p.upstreams))
	for i, u := range p.upstreams {
		switch {
		case p.foreign(u.url):
			found[i] = otherChain
		case u.broken():
			found[i] = inTrouble
		}
	}
	if len(p.upstreams) == 1 {
		return found
	}
	seen := make([][commitments]lastSlot, len(p.upstreams))
	for i, u := range p.upstreams {
		seen[i] = u.slots.all()
	}
	for c := range commitments {
		judgeAhead(found, seen, c, now)
	}
	for c := range commitments {
		judgeBehind(found, seen, c, p.maxLag())
	}
	return found
}

// judgeAhead marks each upstream whose slot is far above the highest slot of the others. It
// compares only with others that are well and whose slot rose within stillAfter. Without such
// others no upstream is ahead.
func judgeAhead(found []condition, seen [][commitments]lastSlot, c commitment, now time.Time) {
	for i := range found {
		highest, witnessed := uint64(0), false
		for j := range found {
			other := seen[j][c]
			if j == i || found[j] != well || other.asked.IsZero() || now.Sub(other.moved) > stillAfter {
				continue
			}
			highest, witnessed = max(highest, other.slot), true
		}
		if found[i] == well && witnessed && isAhead(seen[i][c].slot, highest) {
			found[i] = ahead
		}
	}
}

func isAhead(slot, highest uint64) bool { return slot > highest && slot-highest > nearSlots }

// judgeBehind marks each upstream whose slot is more than maxLag below the median. The median of an
// even number of slots is the higher one of the two in the middle.
func judgeBehind(found []condition, seen [][commitments]lastSlot, c commitment, maxLag uint64) {
	var slots []uint64
	for i := range found {
		if found[i] == well && !seen[i][c].asked.IsZero() {
			slots = append(slots, seen[i][c].slot)
		}
	}
	if len(slots) < 2 {
		return
	}
	slices.Sort(slots)
	median := slots[len(slots)/2]
	for i := range found {
		slot := seen[i][c]
		if found[i] == well && !slot.asked.IsZero() && slot.slot < median && median-slot.slot > maxLag {
			found[i] = behind
		}
	}
}

// highest returns the highest slot that upstreams have named at commitment c. Upstreams that are
// ahead or of another chain do not count.
func (p *pool) highest(c commitment) uint64 {
	var slot uint64
	for i, condition := range p.judge(time.Now()) {
		if known, _ := p.upstreams[i].slots.known(c); condition < ahead {
			slot = max(slot, known)
		}
	}
	return slot
}

// anyChain is a nil *Bounds, which refuses only slots that no chain can have reached by now.
var anyChain *bounds.Bounds

// believes returns whether a slot that upstream u names now can be true. A slot that no chain can
// have reached is never believed, not even of the only upstream. A slot that is far above the slots
// of all others is a lie, or from another chain. Only those others count that are neither in
// trouble nor ahead nor of another chain, and whose slot rose within stillAfter. Without such
// others, every other slot is believed.
func (p *pool) believes(u *upstream, c commitment, slot uint64) bool {
	if anyChain.Slot(slot) != nil {
		return false
	}
	now := time.Now()
	highest, witnessed := uint64(0), false
	for i, condition := range p.judge(now) {
		other := p.upstreams[i]
		seen := other.slots.all()[c]
		if other == u || condition >= inTrouble || seen.asked.IsZero() || now.Sub(seen.moved) > stillAfter {
			continue
		}
		highest, witnessed = max(highest, seen.slot), true
	}
	return !witnessed || !isAhead(slot, highest)
}
