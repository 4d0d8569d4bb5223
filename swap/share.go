package swap

import (
	"context"
	"slices"
	"sync"
)

// counts counts what is open in all, and what each client has of it. A client is a key, or an
// address where no key is needed.
type counts struct {
	// refuse returns why a client that has own of total gets no more; nil if it does.
	refuse func(total, own int) error

	mu    sync.Mutex
	total int
	of    map[string]int
}

func newCounts(refuse func(total, own int) error) *counts {
	return &counts{refuse: refuse, of: map[string]int{}}
}

// take counts one more of a client, for which the caller must call give. Its error is that of
// refuse.
func (c *counts) take(client string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse(c.total, c.of[client]); err != nil {
		return err
	}
	c.total++
	c.of[client]++
	return nil
}

func (c *counts) give(client string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total--
	if c.of[client]--; c.of[client] == 0 {
		delete(c.of, client)
	}
}

// shared bounds what is answered at one time to most, and what one client may have of it to as many
// as are free beside it (dynamic thresholds: Choudhury and Hahne, 1998). So a client alone gets
// half of them, and n that want all they can get leave one of n+1 parts free. Many of them may take
// the last one. Then its error is a 503, and for a client that alone has too many a 429.
func shared(most int) func(total, own int) error {
	return func(total, own int) error {
		switch free := most - total; {
		case free <= 0:
			return tooMany()
		case own >= free:
			return tooManyOfOne()
		}
		return nil
	}
}

// turns gives the processors to the clients in turn: the search for a route is the work that a
// quote costs. A client that asks for a thousand quotes waits for them, and another one waits for
// the searches that run, not for the thousand.
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

// take waits for a turn of a client, after which the caller must call give. Its error is that of
// ctx.
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

// give ends a turn. The next one is the first of the client that waits longest for one.
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
