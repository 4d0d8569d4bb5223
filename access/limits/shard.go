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
	// barred are the times until which windows are full by Redis's count (see markFull); nil if
	// there never was one.
	barred []int64
	heavy  bool
}

// ask drops what has left the windows, and returns whether each of them has room. It also returns
// the time to use: at, or the latest time counted if that is later.
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

// load drops from all windows what has left them. idle is true if nothing is counted, heavy if a
// quarter of a limit or more is. A barred window counts as full.
func (e *entry) load(rules []Rule, at int64) (idle, heavy bool) {
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

// table has clients, or networks of one prefix length. New ones displace light ones. They displace
// a heavy one only if so many of its requests have left the windows that it is heavy no longer. The
// caller of its methods holds the shard's lock.
type table struct {
	rules []Rule
	most  int
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

// peek returns the entry of a client; nil if there is none. It makes the client the most recently
// used.
func (t *table) peek(client string) *entry {
	if e, ok := t.light.Get(client); ok {
		return e
	}
	e, _ := t.heavy.Get(client)
	return e
}

// find returns the client's entry, and makes one if needed. It returns nil if there is no room.
// displaced is true if another client with requests counted was forgotten to make room.
func (t *table) find(client string, at int64) (e *entry, displaced bool) {
	if e = t.peek(client); e != nil {
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
	if _, e, any := t.light.RemoveOldest(); any {
		idle, _ := e.load(t.rules, at)
		return true, !idle
	}
	client, e, _ := t.heavy.GetOldest()
	idle, heavy := e.load(t.rules, at)
	if heavy {
		return false, false
	}
	t.heavy.Remove(client)
	return true, !idle
}

// weigh moves a client that has become heavy. sweep makes it light again.
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

// sweep forgets idle clients. Those that are heavy no longer become light again.
func (t *table) sweep(at int64) {
	for _, lru := range []*simplelru.LRU[string, *entry]{t.light, t.heavy} {
		for _, client := range lru.Keys() {
			e, _ := lru.Peek(client)
			idle, heavy := e.load(t.rules, at)
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
