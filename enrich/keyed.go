package enrich

import (
	"sync"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// keyed lets one job of each key (such as a mint) into a stage at a time; the others wait in order.
// The next job then finds the answer to the job before it in the stage's cache, and often has
// nothing left to do.
type keyed struct {
	key func(*job) pubkey.Key

	mu sync.Mutex
	// active has the key of each job in the stage, with the jobs of that key that wait.
	active map[pubkey.Key][]*job
}

func newKeyed(key func(*job) pubkey.Key) *keyed {
	return &keyed{key: key, active: map[pubkey.Key][]*job{}}
}

func byMint(j *job) pubkey.Key { return j.mint }

// enter reports whether j may go on now. If not, j waits until leave returns it.
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

// drop removes and returns waiting jobs of j's key. It begins with the job that came last, and ends
// at the first job for which unneeded returns false. It does not look further, because many jobs
// may wait and drop is called for every job that comes.
func (k *keyed) drop(j *job, unneeded func(waiting *job) bool) (dropped []*job) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.key(j)
	waiting := k.active[key]
	for n := len(waiting) - 1; n >= 0 && unneeded(waiting[n]); n-- {
		dropped = append(dropped, waiting[n])
		waiting[n] = nil
		k.active[key] = waiting[:n]
	}
	return dropped
}

// leave ends j's turn and returns the job that is next; nil if none waits.
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
