package limits

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A client is light while it has used less than 1/lightShare of every limit.
const lightShare = 4

// entry is one client, or one network.
type entry struct {
	rings []ring
	// barred are the times, one per window, until which the window is full by Redis's count (see
	// markFull); nil if markFull was never called.
	barred []int64
	// heavy is true if the entry is in the heavy table: it has used a quarter of a limit or more.
	heavy bool
}

// ask drops the requests that have left the given windows, and returns whether each of these
// windows has room. It also returns the time to use: at, or the latest counted time if that is
// later.
func (e *entry) ask(rules []Rule, at int64, windows []int) (int64, bool) {
	for _, w := range windows {
		at = max(at, e.rings[w].newest())
	}
	allowed := true
	for _, w := range windows {
		e.rings[w].forget(at - int64(rules[w].Window))
		allowed = allowed && e.rings[w].count < rules[w].Limit
	}
	return at, allowed
}

// assess drops the requests that have left the windows. idle is true if no request is counted,
// heavy if a quarter of a limit or more is used. A barred window counts as full.
func (e *entry) assess(rules []Rule, at int64) (idle, heavy bool) {
	idle = true
	for w := range e.rings {
		e.rings[w].forget(at - int64(rules[w].Window))
		barred := e.barred != nil && e.barred[w] > at
		idle = idle && e.rings[w].count == 0 && !barred
		heavy = heavy || barred || isHeavy(rules[w], e.rings[w].count)
	}
	return idle, heavy
}

func isHeavy(rule Rule, count int) bool { return count*lightShare >= rule.Limit }

// shard has a part of the clients and the networks around them, in a table for each level.
type shard struct {
	mu     sync.Mutex
	tables [maxScopes]table
}

// table has clients, or networks of one prefix length. A new entry displaces a light one. It
// displaces a heavy one only if so many of that entry's requests have left the windows that it is
// heavy no longer. The caller of the methods holds the shard's mutex.
type table struct {
	rules []Rule
	most  int // entries, light and heavy ones together
	light *simplelru.LRU[string, *entry]
	heavy *simplelru.LRU[string, *entry]
}

func (s *shard) init(rules [maxScopes][]Rule, most int) error {
	for level := range s.tables {
		if err := s.tables[level].init(rules[level], most); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) init(rules []Rule, most int) (err error) {
	t.rules, t.most = rules, most
	if t.light, err = simplelru.NewLRU[string, *entry](most, nil); err != nil {
		return err
	}
	t.heavy, err = simplelru.NewLRU[string, *entry](most, nil)
	return err
}

// get returns the entry of a client, and makes it the most recently used one. It returns nil if
// there is no entry.
func (t *table) get(client string) *entry {
	if e, ok := t.light.Get(client); ok {
		return e
	}
	e, _ := t.heavy.Get(client)
	return e
}

// find returns the client's entry, and makes one if needed. It returns nil if there is no room.
// displaced is true if another client with requests counted was forgotten to make room.
func (t *table) find(client string, at int64) (e *entry, displaced bool) {
	if e = t.get(client); e != nil {
		return e, false
	}
	if t.light.Len()+t.heavy.Len() >= t.most {
		var ok bool
		if ok, displaced = t.makeRoom(at); !ok {
			return nil, false
		}
	}
	e = &entry{rings: make([]ring, len(t.rules))}
	t.light.Add(client, e)
	return e, displaced
}

// makeRoom forgets the least recently used light client. If there is none, it looks whether the
// least recently used heavy client is still heavy, which lasts for at most one window after its
// last request, and forgets it if not. counted is true if the client that was forgotten had
// requests counted.
func (t *table) makeRoom(at int64) (ok, counted bool) {
	if _, e, found := t.light.RemoveOldest(); found {
		idle, _ := e.assess(t.rules, at)
		return true, !idle
	}
	client, e, _ := t.heavy.GetOldest()
	idle, heavy := e.assess(t.rules, at)
	if heavy {
		return false, false
	}
	t.heavy.Remove(client)
	return true, !idle
}

// weigh moves a client that has become heavy from light to heavy. sweep moves it back.
func (t *table) weigh(client string, e *entry) {
	if e.heavy {
		return
	}
	for w := range e.rings {
		if isHeavy(t.rules[w], e.rings[w].count) {
			e.heavy = true
			t.light.Remove(client)
			t.heavy.Add(client, e)
			return
		}
	}
}

func (s *shard) sweep(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for level := range s.tables {
		s.tables[level].sweep(at)
	}
}

// sweep forgets idle clients, and moves those that are heavy no longer from heavy to light.
func (t *table) sweep(at int64) {
	for _, lru := range []*simplelru.LRU[string, *entry]{t.light, t.heavy} {
		for _, client := range lru.Keys() {
			e, _ := lru.Peek(client)
			idle, heavy := e.assess(t.rules, at)
			switch {
			case idle:
				lru.Remove(client)
			case e.heavy && !heavy:
				e.heavy = false
				lru.Remove(client)
				t.light.Add(client, e)
			}
		}
	}
}

func (s *shard) clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tables[0].light.Len() + s.tables[0].heavy.Len()
}
