package requests

import (
	"context"
	"slices"
	"sync"

	"github.com/mintlake/mintlake/access/limits"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Bounds of the HTTP requests that wait at one time. Each of them holds a goroutine and its mints,
// some 60 KB for 500 mints.
const (
	maxWaiting          = 512
	maxWaitingPerClient = 4
)

// waiters are the HTTP requests that wait until it is known what became of their mints, by mint.
// Each has a channel for a signal.
type waiters struct {
	mu      sync.Mutex
	byMint  map[pubkey.Key][]chan struct{}
	clients *limits.Crowd
	count   int
	closed  chan struct{}
	once    *sync.Once
}

func newWaiters(networks limits.Networks) waiters {
	return waiters{byMint: map[pubkey.Key][]chan struct{}{}, clients: limits.NewCrowd(maxWaitingPerClient, networks), closed: make(chan struct{}), once: &sync.Once{}}
}

// Wait returns when none of the mints is pending any more, when ctx ends, or after EndWaits. If too
// many HTTP requests wait already, on the node or of this client, it returns false without waiting.
// Wait calls pending for all mints, and for those that are left whenever one of the mints has
// changed.
func (q *Queue) Wait(ctx context.Context, client string, mints []pubkey.Key, pending func(mint pubkey.Key) bool) bool {
	wake, admitted := q.waiters.enter(client, mints)
	if !admitted {
		return false
	}
	defer q.waiters.leave(client, mints, wake)
	rest := slices.Clone(mints)
	for {
		rest = slices.DeleteFunc(rest, func(mint pubkey.Key) bool { return !pending(mint) })
		if len(rest) == 0 {
			return true
		}
		select {
		case <-wake:
		case <-q.waiters.closed:
			return true
		case <-ctx.Done():
			return true
		}
	}
}

// Apply implements replica.Listener. It wakes the HTTP requests that wait for a mint that is a
// member now.
func (q *Queue) Apply(changes []replica.Change) {
	w := &q.waiters
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count == 0 {
		return
	}
	for i := range changes {
		if changes[i].Token != nil {
			w.wakeLocked(changes[i].Mint)
		}
	}
}

func (w *waiters) wake(mint pubkey.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeLocked(mint)
}

// wakeLocked is wake for a caller that holds the lock.
func (w *waiters) wakeLocked(mint pubkey.Key) {
	for _, wake := range w.byMint[mint] {
		select {
		case wake <- struct{}{}:
		default: // a signal waits already
		}
	}
}

// enter registers an HTTP request that waits for mints; false if too many wait already. The channel
// gets a signal when one of the mints has changed.
func (w *waiters) enter(client string, mints []pubkey.Key) (chan struct{}, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count >= maxWaiting || w.clients.Full(client) {
		return nil, false
	}
	w.count++
	w.clients.Add(client)
	wake := make(chan struct{}, 1)
	for _, mint := range mints {
		w.byMint[mint] = append(w.byMint[mint], wake)
	}
	return wake, true
}

func (w *waiters) leave(client string, mints []pubkey.Key, wake chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count--
	w.clients.Remove(client)
	for _, mint := range mints {
		rest := slices.DeleteFunc(w.byMint[mint], func(other chan struct{}) bool { return other == wake })
		if len(rest) == 0 {
			delete(w.byMint, mint)
		} else {
			w.byMint[mint] = rest
		}
	}
}

// EndWaits ends all waits, also those that begin later. It is called when the node stops.
func (q *Queue) EndWaits() { q.waiters.once.Do(func() { close(q.waiters.closed) }) }
