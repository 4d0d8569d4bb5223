package stream

import "sync"

// delivery is a transaction for one subscriber, with the filters that want it, in the order of
// their names. All of it is shared: the transaction with other subscribers, the list of one filter
// with all deliveries of that filter.
type delivery struct {
	tx    *transaction
	wants []*entry
	// note is there instead of a transaction, for watch.
	note  *note
	watch *watch
}

// queueFirst is how many deliveries a queue has room for at first; queueKept is the room that an
// empty queue may keep.
const (
	queueFirst = 4
	queueKept  = 16
)

// queue is what a subscriber has not been sent yet: a ring buffer that doubles as it fills, and
// lets go of its room when it is empty. Its content is references, so an idle subscriber holds
// nothing and a slow one shares its transactions with the others.
type queue struct {
	mu   sync.Mutex
	ring []delivery
	head int
	n    int
	most int
	// ready has a value when the queue may have deliveries.
	ready chan struct{}
	// drained has a value when deliveries were taken out.
	drained chan struct{}
}

func newQueue(most int) *queue {
	return &queue{most: most, ready: make(chan struct{}, 1), drained: make(chan struct{}, 1)}
}

// push returns false, and takes nothing, when the queue is full.
func (q *queue) push(d delivery) bool { return q.pushBelow(d, q.most) }

// pushBelow returns false, and takes nothing, when the queue has as many deliveries as limit, or is
// full.
func (q *queue) pushBelow(d delivery, limit int) bool {
	q.mu.Lock()
	if q.n >= min(limit, q.most) {
		q.mu.Unlock()
		return false
	}
	if q.n == len(q.ring) {
		grown := make([]delivery, min(max(queueFirst, 2*q.n), q.most))
		copied := copy(grown, q.ring[q.head:])
		copy(grown[copied:], q.ring[:q.head])
		q.ring, q.head = grown, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = d
	q.n++
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// backlog is how many deliveries wait, and the slot of the oldest.
func (q *queue) backlog() (n int, oldest uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return 0, 0
	}
	if first := q.ring[q.head]; first.tx != nil {
		oldest = first.tx.slot
	}
	return q.n, oldest
}

// pop returns the oldest delivery; false when there is none.
func (q *queue) pop() (delivery, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return delivery{}, false
	}
	d := q.ring[q.head]
	q.ring[q.head] = delivery{}
	q.head = (q.head + 1) % len(q.ring)
	if q.n--; q.n == 0 && len(q.ring) > queueKept {
		q.ring, q.head = nil, 0
	}
	select {
	case q.drained <- struct{}{}:
	default:
	}
	return d, true
}
