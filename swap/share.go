package swap

import (
	"context"
	"slices"
	"sync"
)

// turns is a semaphore for searches that serves the waiting clients round robin. The search for a
// route is most of the work of a quote. If one client has a thousand searches waiting, the next
// search of another client waits only for searches that run, not for the thousand.
type turns struct {
	mu sync.Mutex
	// free is how many searches may begin at once.
	free int
	// waiting has the searches that wait, by client. order has these clients, the next one first.
	waiting map[string][]chan struct{}
	order   []string
}

func newTurns(searches int) *turns {
	return &turns{free: searches, waiting: map[string][]chan struct{}{}}
}

// take waits for a turn of a client. If it returns nil, the caller must call give after its search.
// Its error is that of ctx.
func (t *turns) take(ctx context.Context, client string) error {
	t.mu.Lock()
	if t.free > 0 {
		t.free--
		t.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	if len(t.waiting[client]) == 0 {
		t.order = append(t.order, client)
	}
	t.waiting[client] = append(t.waiting[client], turn)
	t.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		if !t.leave(client, turn) {
			t.give() // the turn came at the same moment
		}
		return ctx.Err()
	}
}

// leave takes a search out of its queue. It returns false if its turn has come already.
func (t *turns) leave(client string, turn chan struct{}) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting[client], turn)
	if i < 0 {
		return false
	}
	t.waiting[client] = slices.Delete(t.waiting[client], i, i+1)
	if len(t.waiting[client]) == 0 {
		delete(t.waiting, client)
		t.order = slices.DeleteFunc(t.order, func(other string) bool { return other == client })
	}
	return true
}

// give ends a turn. The next turn is for the first client of order, and that client then goes to
// the end of order if it has more searches waiting.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.order) == 0 {
		t.free++
		return
	}
	client := t.order[0]
	t.order = t.order[1:]
	queue := t.waiting[client]
	if len(queue) > 1 {
		t.waiting[client] = queue[1:]
		t.order = append(t.order, client)
	} else {
		delete(t.waiting, client)
	}
	close(queue[0])
}

type clientKey struct{}

// withClient returns a context whose quotes are the client's.
func withClient(ctx context.Context, client string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

// turn waits until the client of ctx has its turn.
func (s *Server) turn(ctx context.Context) error {
	client, _ := ctx.Value(clientKey{}).(string)
	return s.turns.take(ctx, client)
}
