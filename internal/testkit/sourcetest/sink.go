package sourcetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// Sink remembers what a source passes on. Safe for concurrent use.
type Sink struct {
	// OnBlock, if set, is called in every Block call, before the block is remembered.
	OnBlock func(ctx context.Context, b *chain.Block) error
	// Ledger has the blocks that are known. They are not remembered.
	Ledger Ledger

	mu          sync.Mutex
	blocks      []*chain.Block
	skipped     []uint64
	dead        []uint64
	finalized   []uint64
	refused     map[string]error
	inside      int
	concurrent  bool
	read, total uint64
	changed     chan struct{}
}

var _ source.Sink = (*Sink)(nil)

// Block remembers b, unless the ledger has it.
func (s *Sink) Block(ctx context.Context, b *chain.Block) (known bool, err error) {
	if b.InLedger() && s.Ledger.Ingested(b.Slot, b.Blockhash) {
		return true, ctx.Err()
	}
	s.mu.Lock()
	s.inside++
	s.concurrent = s.concurrent || s.inside > 1
	s.mu.Unlock()
	if s.OnBlock != nil {
		err = s.OnBlock(ctx, b)
	}
	s.update(func() {
		s.inside--
		if err == nil {
			s.blocks = append(s.blocks, b)
		}
	})
	return false, err
}

// Skipped remembers slot.
func (s *Sink) Skipped(ctx context.Context, slot uint64) error {
	s.update(func() { s.skipped = append(s.skipped, slot) })
	return ctx.Err()
}

// Dead remembers slot.
func (s *Sink) Dead(ctx context.Context, slot uint64) error {
	s.update(func() { s.dead = append(s.dead, slot) })
	return ctx.Err()
}

// Finalized remembers slot.
func (s *Sink) Finalized(ctx context.Context, slot uint64) error {
	s.update(func() { s.finalized = append(s.finalized, slot) })
	return ctx.Err()
}

// Refused remembers the last error of name.
func (s *Sink) Refused(_ context.Context, name string, err error) {
	s.update(func() {
		if s.refused == nil {
			s.refused = map[string]error{}
		}
		s.refused[name] = err
	})
}

// Progress remembers the progress.
func (s *Sink) Progress(read, total uint64) { s.update(func() { s.read, s.total = read, total }) }

func (s *Sink) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// Blocks returns the blocks passed on, in order.
func (s *Sink) Blocks() []*chain.Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.blocks)
}

// Slots returns the slots of the blocks passed on, in order.
func (s *Sink) Slots() (slots []uint64) {
	for _, b := range s.Blocks() {
		slots = append(slots, b.Slot)
	}
	return slots
}

// SkippedSlots returns the skipped slots, ascending, each once.
func (s *Sink) SkippedSlots() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Compact(slices.Sorted(slices.Values(s.skipped)))
}

// DeadSlots returns the dead slots in order.
func (s *Sink) DeadSlots() []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dead)
}

// RefusedInputs returns the last error of each refused input.
func (s *Sink) RefusedInputs() map[string]error {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]error{}
	for k, v := range s.refused {
		out[k] = v
	}
	return out
}

// ProgressSaid returns the last progress.
func (s *Sink) ProgressSaid() (read, total uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read, s.total
}

// Wait returns once done is true. It calls done after every change, and fails the test after two
// minutes.
func (s *Sink) Wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		s.mu.Lock()
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		if done() {
			return
		}
		select {
		case <-changed:
		case <-time.After(50 * time.Millisecond): // done may look at more than the sink
		case <-deadline:
			require.Fail(t, "timed out waiting for "+what, "slots so far %v, refused %v", s.Slots(), s.RefusedInputs())
		}
	}
}

// Ledger has the blocks that an earlier run ingested.
type Ledger struct {
	From  uint64
	Known map[pubkey.Key]bool
	// Chain is the chain of the blocks in Known. Only Missing uses it.
	Chain Chain
}

var _ source.Ledger = Ledger{}

// Ingested looks the hash up.
func (l Ledger) Ingested(_ uint64, hash pubkey.Key) bool { return l.Known[hash] }

// Resume returns From.
func (l Ledger) Resume() uint64 { return l.From }

// Missing returns the part of from..to after the last known block of Chain.
func (l Ledger) Missing(from, to uint64) []coverage.Gap {
	for _, b := range l.Chain {
		if b.Slot >= from && l.Known[b.Hash] {
			from = b.Slot + 1
		}
	}
	if from > to {
		return nil
	}
	return []coverage.Gap{{FromSlot: from, ToSlot: to}}
}

// LedgerOf returns a ledger with the first n blocks of a chain.
func LedgerOf(c Chain, n int) Ledger {
	l := Ledger{Known: map[pubkey.Key]bool{}, Chain: c}
	for _, b := range c[:n] {
		l.Known[b.Hash], l.From = true, b.Slot
	}
	return l
}
