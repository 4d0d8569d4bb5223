package jsonrpc

import (
	"slices"
	"sync"
	"time"
)

const (
	// nearSlots is how far ahead of all others an upstream's slot may be and still be believed:
	// about a minute. It is more than the 128 slots from which on a node calls itself unhealthy, so
	// that a healthy node is never this far behind.
	nearSlots = 150
	// stillAfter is the time without a new slot after which an upstream's slot is no evidence
	// against a higher one.
	stillAfter = 10 * time.Second
)

// sighting is a slot that an upstream named, and when it was asked.
type sighting struct {
	slot  uint64
	asked time.Time
	// moved is when the slot last rose, or was first seen.
	moved time.Time
}

// sightings are an upstream's last slots by commitment.
type sightings struct {
	mu   sync.Mutex
	last [commitments]sighting
}

// learn keeps a slot. What was asked before the last sighting is older than that, and is left out.
func (s *sightings) learn(c commitment, slot uint64, asked time.Time) {
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

// known is the last slot, false when none was seen.
func (s *sightings) known(c commitment) (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[c].slot, !s.last[c].asked.IsZero()
}

func (s *sightings) all() [commitments]sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// condition says whether an upstream is in the choice, and why not.
type condition int

const (
	well condition = iota
	// behind is an upstream whose slot is more than the bound below the median.
	behind
	// inTrouble is an upstream whose circuit breaker is open.
	inTrouble
	// ahead is an upstream with a slot that no other comes near.
	ahead
	conditions
)

func (c condition) String() string {
	return [...]string{"well", "behind", "in_trouble", "ahead"}[c]
}

// judge gives each upstream its condition. A single upstream is never behind or ahead.
func (p *pool) judge(now time.Time) []condition {
	found := make([]condition, len(p.upstreams))
	for i, u := range p.upstreams {
		if u.broken() {
			found[i] = inTrouble
		}
	}
	if len(p.upstreams) == 1 {
		return found
	}
	seen := make([][commitments]sighting, len(p.upstreams))
	for i, u := range p.upstreams {
		seen[i] = u.slots.all()
	}
	for c := range commitments {
		judgeAhead(found, seen, c, now)
	}
	for c := range commitments {
		judgeBehind(found, seen, c, p.maxLag)
	}
	return found
}

// judgeAhead marks who is far above the highest slot of the others. Only others whose slots rise
// count.
func judgeAhead(found []condition, seen [][commitments]sighting, c commitment, now time.Time) {
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

// judgeBehind marks who is far below the median. Of an even number the median is the higher one in
// the middle.
func judgeBehind(found []condition, seen [][commitments]sighting, c commitment, maxLag uint64) {
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

// highest is the highest slot that an upstream whose slot is believed has named.
func (p *pool) highest(c commitment) uint64 {
	var slot uint64
	for i, condition := range p.judge(time.Now()) {
		if known, _ := p.upstreams[i].slots.known(c); condition != ahead {
			slot = max(slot, known)
		}
	}
	return slot
}

// believes says whether a slot that upstream u names now can be, by what the others say. A slot
// that is far above theirs is a lie, or of another chain.
func (p *pool) believes(u *upstream, c commitment, slot uint64) bool {
	now := time.Now()
	highest, witnessed := uint64(0), false
	for i, condition := range p.judge(now) {
		other := p.upstreams[i]
		seen := other.slots.all()[c]
		if other == u || condition == inTrouble || condition == ahead || seen.asked.IsZero() || now.Sub(seen.moved) > stillAfter {
			continue
		}
		highest, witnessed = max(highest, seen.slot), true
	}
	return !witnessed || !isAhead(slot, highest)
}
