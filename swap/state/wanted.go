package state

import (
	"slices"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/swap/venue"
)

// Reading has accounts that one call must read, at slot Slot or later.
type Reading struct {
	Keys []venue.Key
	Slot uint64
}

// Wanted returns accounts of the pools of a lane that one call must read, up to the number most,
// those of urgent pairs first. Each pool is in one lane, so lanes may be read at the same time. A
// pool waits until its accounts are subscribed to, and until that slot is confirmed.
func (f *Fold) Wanted(most, lane, lanes int) Reading {
	r := Reading{Slot: f.tree.first}
	if !f.tree.started {
		return r
	}
	taken := map[venue.Key]bool{}
	// add returns false if there is no room for a pool.
	add := func(p *pool) bool {
		if p.lane(lanes) != lane {
			return true
		}
		missing, from := missing(p)
		if from > f.confirmed {
			return true
		}
		more := slices.DeleteFunc(missing, func(key venue.Key) bool { return taken[key] })
		if len(r.Keys)+len(more) > most {
			return false
		}
		for _, key := range more {
			taken[key] = true
		}
		r.Keys, r.Slot = append(r.Keys, more...), max(r.Slot, from)
		return true
	}
	for s := range f.pools.urgent {
		waits := false
		for _, one := range s.pools {
			if one.state == wanted {
				waits = true
				if !add(one) {
					return r
				}
			}
		}
		if !waits {
			delete(f.pools.urgent, s)
		}
	}
	// A pool that has to wait waits for a slot to be confirmed. So a second search before that
	// finds nothing new, and would find again what a call is reading.
	if f.searched[lane] == f.confirmed {
		return r
	}
	for p := range f.pools.wanted {
		if !add(p) {
			return r
		}
	}
	f.searched[lane] = f.confirmed
	return r
}

// missing returns the accounts of a pool that have no version at the head, and the first slot at
// which a reading of them counts: after it the stream tells their writes.
func missing(p *pool) (keys []venue.Key, from uint64) {
	for _, h := range p.needs {
		if _, ok := h.at(); !ok {
			keys, from = append(keys, h.key), max(from, h.since)
		}
	}
	return keys, from
}

// Hurry records that a caller waits for a pair, so that its pools are read before others.
func (f *Fold) Hurry(a, b pubkey.Key) {
	if s := f.pools.pairs[pairOf(a, b)]; s != nil && len(f.pools.urgent) < maxUrgent {
		f.pools.urgent[s] = struct{}{}
	}
}

// maxUrgent bounds the pairs whose pools are read first.
const maxUrgent = 1024
