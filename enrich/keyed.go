package enrich

import (
	"sync"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// keyed lets one job of each key (a mint, say) into a stage at a time; the others wait in order.
// The one that follows finds what the first did in the memory of the stage, and most often has
// nothing left to do.
type keyed struct {
	key func(*job) pubkey.Key

	mu     sync.Mutex
	active map[pubkey.Key][]*job
}

func newKeyed(key func(*job) pubkey.Key) *keyed {
	return &keyed{key: key, active: map[pubkey.Key][]*job{}}
}

func byMint(j *job) pubkey.Key { return j.mint }

// enter says whether j may go on now; else it waits until leave returns it.
func (k *keyed) enter(j *job) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.key(j)
	waiting, busy := k.active[key]
	if busy {
		k.active[key] = append(waiting, j)
		return false
	}
	k.active[key] = nil
	return true
}

// leave ends j's turn and returns the job whose turn it is now, nil when none waits.
func (k *keyed) leave(j *job) *job {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.key(j)
	waiting := k.active[key]
	if len(waiting) == 0 {
		delete(k.active, key)
		return nil
	}
	k.active[key] = waiting[1:]
	return waiting[0]
}
