package simulation_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// errKilled is the error of writes to a killed log.
var errKilled = errors.New("killed")

// memoryLog is a broker in memory: ingest writes to it, and reads from it at its start. Safe for
// concurrent use.
type memoryLog struct {
	mu     sync.Mutex
	killed bool
	// Events, Facts, Slots and DeadLetters are what was written, in order.
	Events      []*eventspb.TokenEvent
	Facts       []*eventspb.Enrichment
	Slots       []*eventspb.SlotRecord
	DeadLetters []*eventspb.DeadLetter
}

// Produce writes the records. A killed log writes the first half of them and returns errKilled.
func (l *memoryLog) Produce(ctx context.Context, records ...kafka.Record) error {
	time.Sleep(time.Millisecond) // a broker's latency, on the clock of the synctest bubble
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range records {
		if l.killed && i >= len(records)/2 {
			return errKilled
		}
		if err := l.take(&records[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *memoryLog) take(r *kafka.Record) error {
	var err error
	switch r.Topic {
	case schemas.TopicTokenEvents:
		e := new(eventspb.TokenEvent)
		err = proto.Unmarshal(r.Value, e)
		l.Events = append(l.Events, e)
	case schemas.TopicEnrichments:
		e := new(eventspb.Enrichment)
		err = proto.Unmarshal(r.Value, e)
		l.Facts = append(l.Facts, e)
	case schemas.TopicDeadLetters:
		d := new(eventspb.DeadLetter)
		err = proto.Unmarshal(r.Value, d)
		l.DeadLetters = append(l.DeadLetters, d)
	case schemas.TopicSlots:
		if string(r.Key) == schemas.SourceStatusKey {
			return nil
		}
		s := new(eventspb.SlotRecord)
		err = proto.Unmarshal(r.Value, s)
		l.Slots = append(l.Slots, s)
	}
	return err
}

// Kill makes every later Produce fail, until Revive.
func (l *memoryLog) Kill() { l.set(true) }

// Revive makes the log writable again.
func (l *memoryLog) Revive() { l.set(false) }

func (l *memoryLog) set(killed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.killed = killed
}

// ReadSlots visits the slot records in order.
func (l *memoryLog) ReadSlots(_ context.Context, visit func(*eventspb.SlotRecord)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.Slots {
		visit(s)
	}
	return nil
}

// ReadMints visits the mints that the log introduces, with the slot and whether the event has a
// block time.
func (l *memoryLog) ReadMints(_ context.Context, visit func(pubkey.Key, uint64, bool)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.Events {
		if e.GetSighting() != nil || e.GetInitializeMint() != nil {
			visit(pubkey.Key(e.GetMint()), e.GetPosition().GetSlot(), e.GetBlockTime() > 0)
		}
	}
	return nil
}

// Registry returns the fold of before, which are reads of a bootstrap, and of everything in the
// log.
func (l *memoryLog) Registry(before []*eventspb.Enrichment) map[pubkey.Key]*registry.State {
	l.mu.Lock()
	defer l.mu.Unlock()
	states := map[pubkey.Key]*registry.State{}
	apply := func(facts []registry.Fact) {
		for _, fact := range facts {
			if states[fact.Mint] == nil {
				states[fact.Mint] = new(registry.State)
			}
			states[fact.Mint].Apply(fact)
		}
	}
	for _, read := range before {
		apply(registry.FactsOfEnrichment(read))
	}
	for _, e := range l.Events {
		apply(registry.FactsOfEvent(e))
	}
	for _, e := range l.Facts {
		apply(registry.FactsOfEnrichment(e))
	}
	return states
}

// Statuses returns the last status of each slot.
func (l *memoryLog) Statuses() map[uint64]eventspb.SlotStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[uint64]eventspb.SlotStatus{}
	for _, s := range l.Slots {
		out[s.GetSlot()] = s.GetStatus()
	}
	return out
}
