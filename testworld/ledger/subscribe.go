package ledger

import (
	"sort"

	"github.com/mintlake/mintlake/testworld/chain"
)

// Subscription receives events until it is closed or lags.
type Subscription struct {
	// Backlog holds the events of the replay, to be read before C.
	Backlog []Event
	// C delivers the events after Backlog. It is closed when the reader was too slow or Close was
	// called.
	C      chan Event
	lagged bool
	ledger *Ledger
}

// Subscribe starts a stream of at most buffer unread events. With from set it first replays what is
// kept since that slot; a slot older than the history is refused with *UnavailableError.
func (l *Ledger) Subscribe(buffer int, from *uint64) (*Subscription, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &Subscription{C: make(chan Event, buffer), ledger: l}
	if from != nil {
		if first := l.first(); *from < first {
			return nil, &UnavailableError{From: *from, First: first}
		}
		s.Backlog = l.replay(*from)
	}
	l.subs[s] = struct{}{}
	return s, nil
}

// replay returns the events that the kept slots from that one on have had so far.
func (l *Ledger) replay(from uint64) (out []Event) {
	at := sort.Search(len(l.order), func(i int) bool { return l.order[i] >= from })
	for _, slot := range l.order[at:] {
		e := l.slots[slot]
		add := func(k EventKind) { out = append(out, Event{Kind: k, Slot: slot, Entry: e}) }
		add(SlotFirstShred)
		add(SlotCreatedBank)
		add(SlotCompleted)
		add(SlotProcessed)
		if e.Kind == chain.Dead && e.dead {
			add(SlotDead)
		}
		if e.level >= Confirmed {
			add(SlotConfirmed)
		}
		if e.level >= Finalized {
			add(SlotFinalized)
		}
	}
	return out
}

// publish sends an event to all subscribers. One whose buffer is full is cut off.
func (l *Ledger) publish(ev Event) {
	for s := range l.subs {
		select {
		case s.C <- ev:
		default:
			s.lagged = true
			delete(l.subs, s)
			close(s.C)
		}
	}
}

// Close ends the subscription; it may be called more than once.
func (s *Subscription) Close() {
	s.ledger.mu.Lock()
	defer s.ledger.mu.Unlock()
	if _, ok := s.ledger.subs[s]; ok {
		delete(s.ledger.subs, s)
		close(s.C)
	}
}

// Err is ErrLagged when C was closed because the reader was too slow.
func (s *Subscription) Err() error {
	s.ledger.mu.RLock()
	defer s.ledger.mu.RUnlock()
	if s.lagged {
		return ErrLagged
	}
	return nil
}

// Subscribers is how many subscriptions are open.
func (l *Ledger) Subscribers() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.subs)
}
