package jsonrpc

import (
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

const (
	// SessionHeader names a session: any text that the client picks. Within a key's session no
	// answer is from a lower slot than an earlier answer.
	SessionHeader = "X-Mintlake-Session"
	// maxSessionName bounds the name in bytes.
	maxSessionName = 128
	// sessionsPerKey and maxSessions bound the sessions of a key, and of all keys. One more session
	// replaces the least recently used one.
	sessionsPerKey = 2_000
	maxSessions    = 100_000
	// sessionAge is how long a session is remembered without use.
	sessionAge = 10 * time.Minute
)

// session has the highest slot and the highest block height that a client has seen at each
// commitment.
type session struct {
	mu             sync.Mutex
	slots, heights [commitments]uint64
	used           time.Time // guarded by sessions.mu
}

func (s *session) slot(c commitment) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[c]
}

// admit returns whether an answer at commitment c may be shown. If so, the session remembers its
// slot and height. known is the slot that the upstream was known to have before it was asked. It is
// used if the answer names no slot.
func (s *session) admit(c commitment, at answerSlot, known uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case at.hasSlot && at.slot < s.slots[c]:
		return false
	case at.hasHeight && at.height < s.heights[c]:
		return false
	case !at.hasSlot && known < s.slots[c]:
		return false
	}
	if at.hasSlot {
		s.slots[c] = at.slot
	}
	if at.hasHeight {
		s.heights[c] = at.height
	}
	return true
}

// sessions has the sessions of all keys: an LRU of keys and, for each key, an LRU of its sessions.
type sessions struct {
	mu    sync.Mutex
	keys  *simplelru.LRU[string, *simplelru.LRU[string, *session]]
	count int
}

func newSessions() *sessions {
	s := &sessions{}
	keys, err := simplelru.NewLRU(maxSessions, func(_ string, own *simplelru.LRU[string, *session]) { own.Purge() })
	if err != nil {
		panic(err) // the size is positive
	}
	s.keys = keys
	return s
}

// find returns the session of a key with that name. It makes a new one if there is none, or if it
// was unused for longer than sessionAge.
func (s *sessions) find(key, name string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, ok := s.keys.Get(key)
	if !ok {
		made, err := simplelru.NewLRU(sessionsPerKey, func(string, *session) { s.count-- })
		if err != nil {
			panic(err) // the size is positive
		}
		own = made
		s.keys.Add(key, own)
	}
	now := time.Now()
	found, ok := own.Get(name)
	if !ok || now.Sub(found.used) > sessionAge {
		if ok {
			own.Remove(name)
		}
		found = &session{}
		s.count++
		own.Add(name, found)
		s.shrink()
	}
	found.used = now
	return found
}

// shrink enforces maxSessions: the least recently used keys lose their oldest sessions.
func (s *sessions) shrink() {
	for s.count > maxSessions {
		key, own, ok := s.keys.GetOldest()
		if !ok {
			return
		}
		own.RemoveOldest()
		if own.Len() == 0 {
			s.keys.Remove(key)
		}
	}
}

func (s *sessions) size() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}
