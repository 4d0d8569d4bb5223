package limits

import (
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// lightShare is the part of a limit below which a client is light: one in so many.
const lightShare = 4

// entry is one client.
type entry struct {
	rings []ring
	// barred are times until which windows are full by another's word; nil when none was told.
	barred []int64
	heavy  bool
}

// ask forgets what has left the windows and says whether each has room. The time is not before the
// latest one counted.
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

// load forgets what has left all windows; idle is a client with nothing counted, heavy one with a
// quarter of a limit or more.
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

// shard is a part of the clients and the networks around them, a table for each level.
type shard struct {
	mu     sync.Mutex
	tables [maxScopes]table
}

// table is clients, or networks of one size. Light ones give way to new ones, heavy ones do not.
// Its methods need the shard's lock.
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

func (t *table) peek(client string) *entry {
	if e, ok := t.light.Get(client); ok {
		return e
	}
	e, _ := t.heavy.Get(client)
	return e
}

// find returns the client's entry, a new one if need be; nil when there is no room. displaced says
// that another client with requests counted was forgotten for it.
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

// makeRoom forgets the light client that was not heard of for longest. Without one it looks whether
// the heavy client not heard of for longest is still heavy: within a window's length of its last
// request it will not be.
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

// weigh moves a client that has become heavy. It becomes light again in sweep.
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
