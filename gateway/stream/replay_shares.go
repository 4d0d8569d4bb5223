package stream

import (
	"context"
	"errors"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/mintlake/mintlake/access/keys"
)

// errKeyReplays refuses a replay while others of its key have all that one key may have.
var errKeyReplays = errors.New("other replays of this API key have all places that one key may have, a quarter of the server's; subscribe again when one of them has caught up, from the slot of one of them, or without from_slot")

// shareOf returns how many of n places one API key may have: a quarter, but at least one. It does
// not hold for keys.OpenID: without keys, all clients are on this machine.
func shareOf(n int) int { return max(1, n/4) }

// replayShares bounds the replays of each API key.
type replayShares struct {
	most   int // of all keys
	mu     sync.Mutex
	shares map[string]*replayShare
}

// replayShare are the places of one key. It is forgotten when no replay has or awaits one.
type replayShare struct {
	places *semaphore.Weighted
	users  int // guarded by replayShares.mu
}

func newReplayShares(most int) *replayShares {
	return &replayShares{most: most, shares: map[string]*replayShare{}}
}

// acquire waits for a place of the key until ctx ends. The caller calls release unless there is an
// error.
func (s *replayShares) acquire(ctx context.Context, key string) error {
	if key == keys.OpenID {
		return nil
	}
	s.mu.Lock()
	share := s.shares[key]
	if share == nil {
		share = &replayShare{places: semaphore.NewWeighted(int64(shareOf(s.most)))}
		s.shares[key] = share
	}
	share.users++
	s.mu.Unlock()
	err := share.places.Acquire(ctx, 1)
	if err != nil {
		s.leave(key, share)
	}
	return err
}

func (s *replayShares) release(key string) {
	if key == keys.OpenID {
		return
	}
	s.mu.Lock()
	share := s.shares[key]
	s.mu.Unlock()
	share.places.Release(1)
	s.leave(key, share)
}

func (s *replayShares) leave(key string, share *replayShare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if share.users--; share.users == 0 {
		delete(s.shares, key)
	}
}
