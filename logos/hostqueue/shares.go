package hostqueue

import "sync"

// shares counts how many of the places each group holds. In a Queue a place is a worker. shares is
// not safe for concurrent use.
type shares struct {
	places, active int            // all places, and those that are taken
	held           map[string]int // places that each group holds
}

func newShares(places int) shares { return shares{places: max(places, 1), held: map[string]int{}} }

// share returns how many places one group may hold while others wait: an eighth.
func (s *shares) share() int { return max(s.places/8, 1) }

// full returns the first of the groups that may hold no further place; false if all may. While
// others wait, a group holds at most its share. Otherwise it may take more, as long as more places
// are free than it holds (a dynamic threshold): so whoever comes next finds a free place.
func (s *shares) full(groups []string, othersWait bool) (group string, isFull bool) {
	for _, group := range groups {
		if n := s.held[group]; n >= s.share() && (othersWait || n >= s.places-s.active) {
			return group, true
		}
	}
	return "", false
}

func (s *shares) hold(groups ...string) {
	for _, group := range groups {
		s.held[group]++
	}
}

func (s *shares) leave(groups ...string) {
	for _, group := range groups {
		if s.held[group]--; s.held[group] == 0 {
			delete(s.held, group)
		}
	}
}

// Places are shared among groups like a Queue's workers, but a caller that gets none does not wait.
// They are safe for concurrent use.
type Places struct {
	mu     sync.Mutex
	shares shares
}

// NewPlaces makes n places.
func NewPlaces(n int) *Places { return &Places{shares: newShares(n)} }

// Take takes a place; ok is false if none is free. Before the caller asks a server, it must call
// join for each group of the server, and must not ask if join returns false. release gives the
// place back.
func (p *Places) Take() (join func(group string) bool, release func(), ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shares.active >= p.shares.places {
		return nil, nil, false
	}
	p.shares.active++
	m := &member{shares: &p.shares}
	join = func(group string) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return m.join(group, false)
	}
	return join, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		m.leave()
		p.shares.active--
	}, true
}

// member is the holder of one place, with the groups that the place counts for.
type member struct {
	shares *shares
	groups []string
	left   bool
}

func (m *member) enter(groups []string) {
	m.groups = append(m.groups, groups...)
	m.shares.hold(groups...)
}

// join counts the place for a group that the holder learned later. It returns false if the group
// has no room, or if the holder has left.
func (m *member) join(group string, othersWait bool) bool {
	if m.left {
		return false
	}
	for _, known := range m.groups {
		if known == group {
			return true
		}
	}
	if _, full := m.shares.full([]string{group}, othersWait); full {
		return false
	}
	m.enter([]string{group})
	return true
}

func (m *member) leave() {
	m.left = true
	m.shares.leave(m.groups...)
}
