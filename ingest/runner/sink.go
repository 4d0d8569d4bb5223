package runner

import (
	"context"
	"unicode/utf8"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana/unknowns"
)

// sink takes the blocks of one source.
type sink struct {
	runner   *Runner
	pipeline *pipeline
	kind     string
	index    int
}

// Block submits a block, unless it is known. A block is known if the ledger has it. A partial block
// is also known if this run had it before with as few unread transactions. Block returns an error
// if the block is of another chain, see checkLink.
func (s *sink) Block(ctx context.Context, block *chain.Block) (known bool, err error) {
	if block.InLedger() && s.runner.ledger.Ingested(block.Slot, block.Blockhash) {
		return true, ctx.Err()
	}
	if block.Partial() && !s.runner.unread.news(block) {
		return true, ctx.Err()
	}
	if err := s.runner.checkLink(block, s.kind); err != nil {
		return false, err
	}
	j := &job{block: block, receivedAt: block.ReceivedAt}
	if j.receivedAt.IsZero() {
		j.receivedAt = s.runner.deps.Clock()
	}
	if block.ParentGuessed && s.runner.guessed.CompareAndSwap(false, true) {
		s.runner.log.Warn("a block names itself as its parent; the slot before is taken for it, here and in every such block of this run",
			"source", s.kind, "slot", block.Slot)
	}
	if block.InLedger() {
		j.slot = slotRecord(block, s.kind)
	}
	if block.Partial() {
		s.partial(block, j)
	}
	s.runner.metrics.overLimit.Add(float64(block.OverLimit))
	s.runner.metrics.unclear.Add(float64(block.Unclear))
	return false, s.pipeline.submit(ctx, j)
}

// Skipped writes a slot record, unless the ledger knows the slot when the record's turn comes.
func (s *sink) Skipped(ctx context.Context, slot uint64) error {
	return s.submitRecord(ctx, slot, eventspb.SlotStatus_SLOT_STATUS_SKIPPED)
}

// Dead writes a slot record, unless the ledger has the slot as dead when the record's turn comes.
func (s *sink) Dead(ctx context.Context, slot uint64) error {
	return s.submitRecord(ctx, slot, eventspb.SlotStatus_SLOT_STATUS_DEAD)
}

// Finalized tells the public stream that the slot is finalized, after the blocks submitted before.
func (s *sink) Finalized(ctx context.Context, slot uint64) error {
	if s.runner.deps.Stream == nil {
		return ctx.Err()
	}
	return s.pipeline.submit(ctx, &job{recordOnly: true, status: eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_FINALIZED, statusOf: slot})
}

// submitRecord submits a slot record without a block. The pipeline decides whether the record says
// anything new only when the record's turn comes, because a block of the slot may be under way.
func (s *sink) submitRecord(ctx context.Context, slot uint64, status eventspb.SlotStatus) error {
	j := &job{
		receivedAt: s.runner.deps.Clock(),
		slot:       &eventspb.SlotRecord{Slot: slot, Status: status, Source: s.kind},
		recordOnly: true,
	}
	if status == eventspb.SlotStatus_SLOT_STATUS_DEAD {
		j.status, j.statusOf = eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_DEAD, slot
	}
	return s.pipeline.submit(ctx, j)
}

// maxReason bounds the text of a refusal, in bytes.
const maxReason = 500

// Refused counts an input that could not be read, and writes its dead letter. It returns when the
// dead letter is acknowledged. A failure to write it ends the run.
func (s *sink) Refused(ctx context.Context, name string, err error) {
	r := s.runner
	name, reason := shorten(name), shorten(err.Error())
	r.metrics.refused.Inc()
	r.meet(err, unknowns.Sighting{Place: name})
	r.status.refuse(name + ": " + reason)
	r.log.Warn("input refused", "source", s.kind, "input", name, "err", err)
	record := deadletter.OfInput(deadLetterSource, reason, name, receivedAtHeader(r.deps.Clock()))
	if err := r.deps.Producer.Produce(s.pipeline.base, record); err != nil && ctx.Err() == nil {
		s.pipeline.fail(err)
	}
}

// Progress notes how much of the source has been read.
func (s *sink) Progress(read, total uint64) { s.runner.status.progress(s.index, read, total) }

// shorten cuts text to valid UTF-8 of at most maxReason bytes.
func shorten(text string) string {
	if len(text) > maxReason {
		text = text[:maxReason]
	}
	if utf8.ValidString(text) {
		return text
	}
	return string([]rune(text[:min(len(text), maxReason/3)])) // U+FFFD has three bytes
}
