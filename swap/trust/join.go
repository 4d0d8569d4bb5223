package trust

import (
	"maps"
	"sync"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"

	"github.com/mintlake/mintlake/swap/state"
)

// A replay needs two halves: a transaction, and a step, which is the state of a pool before it.
// These are bounds of the halves that wait for their other half.
const (
	// joinSlots is how many slots a half waits: some three seconds of 200 ms slots. A transaction
	// comes when it ran, its step when its block is complete, each over another connection.
	joinSlots = 16
	// resetSlots is how far below the newest slot a half must be to mean that the chain has begun
	// anew. A half that is less far below is only late: a stream that was interrupted tells what it
	// missed.
	resetSlots = 1000
	// maxHalves is how many halves of each kind are kept. When there are more, all halves of the
	// kind are dropped. joinSlots busy slots have some ten thousand transactions of venues.
	maxHalves = 1 << 15
)

// half names a transaction: its slot, and the hash of its signature.
type half struct{ slot, hash uint64 }

// paired is a transaction with the state of a pool before it.
type paired struct {
	step   state.Step
	update *pb.SubscribeUpdateTransaction
}

// join matches steps with transactions. Most transactions never get a step, so they are kept
// unparsed.
type join struct {
	mu     sync.Mutex
	steps  map[half][]state.Step
	seen   map[half]*pb.SubscribeUpdateTransaction
	newest uint64
}

func newJoin() *join {
	return &join{steps: map[half][]state.Step{}, seen: map[half]*pb.SubscribeUpdateTransaction{}}
}

// step takes in a step. It returns a pair if the step's transaction has come already.
func (j *join) step(s state.Step) []paired {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := half{s.Slot, s.Transaction}
	if u := j.seen[h]; u != nil {
		return []paired{{s, u}}
	}
	if len(j.steps) >= maxHalves {
		clear(j.steps)
	}
	j.steps[h] = append(j.steps[h], s)
	j.age(s.Slot)
	return nil
}

// transaction takes in a transaction. It returns a pair for each of its steps that have come
// already.
func (j *join) transaction(u *pb.SubscribeUpdateTransaction) (whole []paired) {
	if meta := u.GetTransaction().GetMeta(); meta != nil {
		meta.LogMessages = nil // most of its bytes, and never used
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	h := half{u.GetSlot(), state.HashOf(u.GetTransaction().GetSignature())}
	for _, s := range j.steps[h] {
		whole = append(whole, paired{s, u})
	}
	delete(j.steps, h)
	if len(j.seen) >= maxHalves {
		clear(j.seen)
	}
	j.seen[h] = u // it may have written other pools, whose states come later
	j.age(u.GetSlot())
	return whole
}

// age forgets halves that are more than joinSlots away from slot. Halves of much later slots go
// too: then the chain has begun anew. Most calls do nothing: it acts only if slot is at least
// joinSlots/4 above newest, or more than resetSlots below it.
func (j *join) age(slot uint64) {
	if slot < j.newest+joinSlots/4 && slot+resetSlots >= j.newest {
		return
	}
	j.newest = slot
	far := func(h half) bool { return h.slot+joinSlots < slot || slot+joinSlots < h.slot }
	maps.DeleteFunc(j.steps, func(h half, _ []state.Step) bool { return far(h) })
	maps.DeleteFunc(j.seen, func(h half, _ *pb.SubscribeUpdateTransaction) bool { return far(h) })
}
