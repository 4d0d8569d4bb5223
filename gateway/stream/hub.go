package stream

import (
	"errors"
	"sync"
	"sync/atomic"
)

// Why a subscriber's stream ends.
var (
	errLagged = errors.New("the client reads slower than the chain writes; subscribe again, with narrower filters or a faster reader")
	errStops  = errors.New("the server stops")
	errFull   = errors.New("the server has as many subscribers as it may")
)

// delivery is a transaction for one subscriber, with the names of the filters that want it.
type delivery struct {
	tx    *transaction
	names []string
}

// subscriber is one client's subscription. Filters may be replaced at any time.
type subscriber struct {
	filters atomic.Pointer[filterSet]
	out     chan delivery
	// ended is closed when the hub gives the subscriber up; why is set before.
	ended chan struct{}
	once  sync.Once
	why   error
}

func (s *subscriber) end(why error) {
	s.once.Do(func() {
		s.why = why
		close(s.ended)
	})
}

// hub hands each transaction to the subscribers that want it.
type hub struct {
	most int

	mu          sync.RWMutex
	subscribers map[*subscriber]struct{}
	closed      bool
	gone        sync.WaitGroup

	slot   atomic.Uint64
	lagged atomic.Uint64
}

func newHub(most int) *hub {
	return &hub{most: most, subscribers: map[*subscriber]struct{}{}}
}

// add makes a subscriber without filters; it gets nothing until it has some.
func (h *hub) add(buffer int) (*subscriber, error) {
	s := &subscriber{out: make(chan delivery, buffer), ended: make(chan struct{})}
	s.filters.Store(&filterSet{})
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return nil, errStops
	case len(h.subscribers) >= h.most:
		return nil, errFull
	}
	h.subscribers[s] = struct{}{}
	h.gone.Add(1)
	return s, nil
}

// remove is called once for each subscriber that add made.
func (h *hub) remove(s *subscriber) {
	h.mu.Lock()
	delete(h.subscribers, s)
	h.mu.Unlock()
	h.gone.Done()
}

func (h *hub) count() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return len(h.subscribers)
}

// publish never waits: a subscriber whose buffer is full is given up.
func (h *hub) publish(t *transaction) (delivered int) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for s := range h.subscribers {
		names := s.filters.Load().match(t)
		if len(names) == 0 {
			continue
		}
		select {
		case <-s.ended:
		case s.out <- delivery{t, names}:
			delivered++
		default:
			h.lagged.Add(1)
			s.end(errLagged)
		}
	}
	return delivered
}

// seen keeps the highest slot.
func (h *hub) seen(slot uint64) {
	for {
		now := h.slot.Load()
		if slot <= now || h.slot.CompareAndSwap(now, slot) {
			return
		}
	}
}

// close ends all subscribers and takes no more.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.subscribers {
		s.end(errStops)
	}
}

// wait returns when all subscribers have been removed.
func (h *hub) wait() { h.gone.Wait() }
