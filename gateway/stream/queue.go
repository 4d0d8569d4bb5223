package stream

import "sync"

// delivery is a transaction, or a note, for one subscriber. wants are the subscriber's filters that
// want the transaction, in their order. The transaction is shared with other subscribers. If one
// filter alone wants it, wants is entry.alone, which all deliveries of that filter share.
type delivery struct {
	tx    *transaction
	wants []*entry
	// note is set instead of tx; watch is the watch that wants it.
	note  *note
	watch *watch
}

// queueFirst is the first capacity of a queue; queueKept is the largest capacity that an empty
// queue keeps.
const (
	queueFirst = 4
	queueKept  = 16
)

// queue holds the deliveries that a subscriber has not been sent yet. It is a ring buffer that
// doubles when it is full, up to most deliveries. When it is empty it frees a ring above queueKept.
// A delivery refers to its transaction, which a slow subscriber shares with the others.
type queue struct {
	mu   sync.Mutex
	ring []delivery
	head int // index of the oldest delivery
	n    int // deliveries in the queue
	most int
	// ready has a value if the queue has deliveries and nobody has received the value yet. Whoever
	// receives it pops until the queue is empty.
	ready chan struct{}
	// drained has a value after deliveries were taken out.
	drained chan struct{}
}

func newQueue(most int) *queue {
	return &queue{most: most, ready: make(chan struct{}, 1), drained: make(chan struct{}, 1)}
}

// push appends a delivery. It returns false, and appends nothing, if the queue is full.
func (q *queue) push(d delivery) bool { return q.pushBelow(d, q.most) }

// pushBelow is like push, but also returns false if the queue has limit deliveries or more.
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
	if q.n == 1 {
		q.ready <- struct{}{} // there is room: pop emptied ready with the queue
	}
	q.mu.Unlock()
	return true
}

// backlog returns how many deliveries wait, and the slot of the oldest one; 0 if that is a note, or
// if none waits.
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

// pop removes the oldest delivery and returns it; false if there is none.
func (q *queue) pop() (delivery, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.n == 0 {
		return delivery{}, false
	}
	d := q.ring[q.head]
	q.ring[q.head] = delivery{}
	q.head = (q.head + 1) % len(q.ring)
	if q.n--; q.n == 0 {
		if len(q.ring) > queueKept {
			q.ring, q.head = nil, 0
		}
		select {
		case <-q.ready: // whoever received this value would find the queue empty
		default:
		}
	}
	select {
	case q.drained <- struct{}{}:
	default:
	}
	return d, true
}
