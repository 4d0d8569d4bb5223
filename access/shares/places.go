package shares

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Places bounds how many places each client has at one time: a client that wants one more waits. A
// client without a place is forgotten. Many goroutines may use it at once.
type Places struct {
	most func(client string) int

	mu sync.Mutex
	of map[string]*places
}

// places has the places of one client.
type places struct {
	free  *semaphore.Weighted
	users int // calls of Take that have a place or wait for one; guarded by Places.mu
}

// NewPlaces returns the places of clients. most returns how many places a client may have. It is
// called under a mutex, when a client that is forgotten or new asks for a place.
func NewPlaces(most func(client string) int) *Places {
	return &Places{most: most, of: map[string]*places{}}
}

// Take waits for a place of the client. It returns ctx's error if ctx ends first. Otherwise the
// caller must call Give.
func (p *Places) Take(ctx context.Context, client string) error {
	p.mu.Lock()
	own := p.of[client]
	if own == nil {
		own = &places{free: semaphore.NewWeighted(int64(p.most(client)))}
		p.of[client] = own
	}
	own.users++
	p.mu.Unlock()
	err := own.free.Acquire(ctx, 1)
	if err != nil {
		p.leave(client, own)
	}
	return err
}

// Give gives a place back.
func (p *Places) Give(client string) {
	p.mu.Lock()
	own := p.of[client]
	p.mu.Unlock()
	own.free.Release(1)
	p.leave(client, own)
}

func (p *Places) leave(client string, own *places) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if own.users--; own.users == 0 {
		delete(p.of, client)
	}
}

// Clients returns how many clients have a place or wait for one.
func (p *Places) Clients() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.of)
}
