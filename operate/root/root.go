// Package root computes the registry's root from the log.
//
// In: all events and enrichments of a log. Out: a line with slot, count of tokens and hash.
// Guarantees: it writes nothing to the log; its memory is bounded, however many mints there are, by
// spilling large logs to disk; it warns if slots are missing.
package root

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Query is one computation of the root.
type Query struct {
	// AtSlot bounds what is taken; root.EverySlot for everything.
	AtSlot uint64
	// Version is that of the hash, 1 to root.Versions.
	Version int
	// EventsOnly leaves out what was read from accounts.
	EventsOnly bool
	Log        eventlog.Log
	// Folder is where a log whose mints do not fit in memory is spilled; the system's folder for
	// temporary files if it is empty.
	Folder string
	Logger *slog.Logger
	// Progress may be nil.
	Progress meter.Meter
	Out      io.Writer
}

// Run prints the root in one line.
func (q *Query) Run(ctx context.Context) error {
	if _, known := new(root.Root).HashOf(q.Version); !known {
		return fmt.Errorf("--root-version %d: there are versions 1 to %d", q.Version, root.Versions)
	}
	// Read the ledger first: when it says that a slot was ingested, the slot's events are in the
	// log already.
	covered, err := q.coverage(ctx)
	if err != nil {
		return err
	}
	q.warnOfGaps(covered)
	found, err := q.replay(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if q.AtSlot == root.EverySlot {
		// The last blocks may have no event of any token.
		found.Slot = max(found.Slot, covered.ToSlot)
	}
	hash, _ := found.HashOf(q.Version)
	_, err = fmt.Fprintln(q.Out, root.Line(found.Slot, found.Tokens, hash, q.Version))
	return err
}

// coverage returns which slots were ingested, by the slot ledger.
func (q *Query) coverage(ctx context.Context) (coverage.Coverage, error) {
	ledger := coverage.New()
	if err := eventlog.ReadSlots(ctx, q.Log, ledger.Apply); err != nil {
		return coverage.Coverage{}, err
	}
	return ledger.Coverage(), nil
}

// warnOfGaps logs a warning if the log does not have all slots up to the one of the root: the root
// of a complete registry may differ.
func (q *Query) warnOfGaps(covered coverage.Coverage) {
	if q.AtSlot != root.EverySlot && q.AtSlot > covered.ToSlot {
		q.Logger.Warn("the log does not reach the slot yet", "slot", q.AtSlot, "ingested_to", covered.ToSlot)
	}
	if len(covered.Gaps) > 0 && covered.Gaps[0].FromSlot <= q.AtSlot {
		q.Logger.Warn("slots are missing: a registry that has them may have another root",
			"gaps", len(covered.Gaps), "first_from", covered.Gaps[0].FromSlot, "first_to", covered.Gaps[0].ToSlot)
	}
}

// replay folds the whole log and returns the root. A log whose mints do not fit into memory is
// folded in several passes, each over a part of the mints.
func (q *Query) replay(ctx context.Context) (root.Root, error) {
	topics := []string{schemas.TopicTokenEvents}
	if !q.EventsOnly {
		topics = append(topics, schemas.TopicEnrichments)
	}
	records, err := q.Log.Records(ctx, topics)
	if err != nil {
		return root.Root{}, err
	}
	if parts := partsOf(records); parts > 1 {
		return q.replayParts(ctx, topics, parts)
	}
	replay := root.NewReplay(q.AtSlot)
	apply := func(_ *kafka.Record, facts []registry.Fact) { replay.Apply(facts) }
	if err := q.read(ctx, topics, apply); err != nil {
		return root.Root{}, err
	}
	// A fact that was taken back may have replaced an older one, which the first pass did not keep.
	// The second pass finds it.
	if replay.Again() {
		if err := q.read(ctx, topics, apply); err != nil {
			return root.Root{}, err
		}
	}
	return replay.Root(), nil
}

// read visits the records of the log with their facts.
func (q *Query) read(ctx context.Context, topics []string, visit func(*kafka.Record, []registry.Fact)) error {
	begin, records, bad := time.Now(), 0, 0
	all, err := q.Log.Records(ctx, topics)
	if err != nil {
		return err
	}
	count, stop := q.Progress.Begin("root", "records", all)
	defer stop()
	err = q.Log.Read(ctx, topics, func(record *kafka.Record) {
		facts, err := factsOfRecord(record)
		if err != nil {
			bad++ // the projector made a dead letter of it
		}
		visit(record, facts)
		records++
		count(1)
	})
	if err != nil {
		return err
	}
	q.Logger.Info("log replayed", "records", records, "unreadable", bad, "seconds", time.Since(begin).Seconds())
	return nil
}

// factsOfRecord returns the facts in a record of one of the two topics that make the registry.
func factsOfRecord(record *kafka.Record) ([]registry.Fact, error) {
	if record.Topic == schemas.TopicEnrichments {
		enrichment := new(eventspb.Enrichment)
		if err := proto.Unmarshal(record.Value, enrichment); err != nil {
			return nil, fmt.Errorf("decode enrichment: %w", err)
		}
		return registry.FactsOfEnrichment(enrichment), nil
	}
	event := new(eventspb.TokenEvent)
	if err := proto.Unmarshal(record.Value, event); err != nil {
		return nil, fmt.Errorf("decode token event: %w", err)
	}
	return registry.FactsOfEvent(event), nil
}
