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

// ask forgets what has left the windows and says whether each has room. The time is not before the latest one counted.
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

// load forgets what has left all windows; idle is a client with nothing counted, heavy one with a quarter of a limit or more.
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

// shard is a part of the clients. Light ones give way to new clients, heavy ones do not.
type shard struct {
	mu    sync.Mutex
	rules []Rule
	most  int
	light *simplelru.LRU[string, *entry]
	heavy *simplelru.LRU[string, *entry]
}

func (s *shard) init(rules []Rule, most int) (err error) {
	s.rules, s.most = rules, most
	if s.light, err = simplelru.NewLRU[string, *entry](most, nil); err != nil {
		return err //nolint:wrapcheck // the caller wraps
	}
	s.heavy, err = simplelru.NewLRU[string, *entry](most, nil)
	return err //nolint:wrapcheck // the caller wraps
}

func (s *shard) peek(client string) *entry {
	if e, ok := s.light.Get(client); ok {
		return e
	}
	e, _ := s.heavy.Get(client)
	return e
}

// find returns the client's entry, a new one if need be; nil when there is no room. displaced says that another client with requests counted was
// forgotten for it.
func (s *shard) find(client string, at int64) (e *entry, displaced bool) {
	if e = s.peek(client); e != nil {
		return e, false
	}
	if s.light.Len()+s.heavy.Len() >= s.most {
		var ok bool
		if ok, displaced = s.makeRoom(at); !ok {
			return nil, false
		}
	}
	e = &entry{rings: make([]ring, len(s.rules))}
	s.light.Add(client, e)
	return e, displaced
}

// makeRoom forgets the light client that was not heard of for longest. Without one it looks whether the heavy client not heard of for longest is
// still heavy: within a window's length of its last request it will not be.
func (s *shard) makeRoom(at int64) (ok, counted bool) {
	if _, e, any := s.light.RemoveOldest(); any {
		idle, _ := e.load(s.rules, at)
		return true, !idle
	}
	client, e, _ := s.heavy.GetOldest()
	idle, heavy := e.load(s.rules, at)
	if heavy {
		return false, false
	}
	s.heavy.Remove(client)
	return true, !idle
}

// weigh moves a client that has become heavy. It becomes light again in sweep.
func (s *shard) weigh(client string, e *entry) {
	if e.heavy {
		return
	}
	for w := range e.rings {
		if isHeavy(s.rules[w], e.rings[w].count) {
			e.heavy = true
			s.light.Remove(client)
			s.heavy.Add(client, e)
			return
		}
	}
}

func (s *shard) sweep(at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, lru := range []*simplelru.LRU[string, *entry]{s.light, s.heavy} {
		for _, client := range lru.Keys() {
			e, _ := lru.Peek(client)
			idle, heavy := e.load(s.rules, at)
			switch {
			case idle:
				lru.Remove(client)
			case e.heavy && !heavy:
				e.heavy = false
				lru.Remove(client)
				s.light.Add(client, e)
			}
		}
	}
}

func (s *shard) clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.light.Len() + s.heavy.Len()
}
