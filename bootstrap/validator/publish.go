package validator

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// saveEvery is the least time between two writes of the progress file while facts are written.
const saveEvery = time.Second

// publish writes the staged facts of versions that no newer version replaces, from where an earlier
// run has stopped. Then it writes the holdings and the snapshot's own record.
func (l *Loader) publish(ctx context.Context, replaced *replaced) error {
	batch := bootstrap.NewBatch(l.deps.Producer, func(records int) { l.state.Records += int64(records) })
	saved := time.Now()
	err := l.stage.each(l.state.Published, func(fact *staged) error {
		if !replaced.has(fact.rank, fact.place) {
			if err := l.write(ctx, batch, fact.value); err != nil {
				return err
			}
		}
		if batch.Len() > 0 || time.Since(saved) < saveEvery {
			return nil
		}
		saved = time.Now()
		return l.notePublished(fact.end)
	})
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		return err
	}
	if err := l.notePublished(l.state.StagedBytes); err != nil {
		return err
	}
	if err := l.publishHoldings(ctx, replaced); err != nil {
		return err
	}
	l.state.Summary.Records, l.state.Summary.Holdings, l.state.Summary.Closed = l.state.Records, l.state.HeldRecords, l.state.Closed
	return l.record(ctx)
}

// record writes into the log which snapshot was read, and how far it was checked.
func (l *Loader) record(ctx context.Context) error {
	summary := &l.state.Summary
	hash, err := pubkey.Parse(summary.BankHash)
	if err != nil {
		return fmt.Errorf("the progress is damaged: bank hash: %w: begin anew with --restart", err)
	}
	value, err := proto.Marshal(&eventspb.ValidatorSnapshot{
		Name: l.state.Archives[len(l.state.Archives)-1].Name, Slot: summary.Slot, BankHash: hash[:], Check: string(summary.Check),
		Accounts: uint64(summary.Accounts), Facts: uint64(summary.Records), RecordedAtMs: time.Now().UnixMilli(),
	})
	if err != nil {
		return fmt.Errorf("encode the snapshot's record: %w", err)
	}
	err = l.deps.Producer.Produce(ctx, kafka.Record{Topic: schemas.TopicIdentity, Key: []byte(schemas.ValidatorSnapshotKey), Value: value, Headers: []kafka.Header{
		{Key: schemas.HeaderType, Value: []byte(schemas.TypeValidatorSnapshot)}, {Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
	}})
	if err != nil {
		return fmt.Errorf("write the snapshot's record: %w", err)
	}
	return nil
}

// write adds a staged fact to the batch, at the snapshot's slot.
func (l *Loader) write(ctx context.Context, batch *bootstrap.Batch, value []byte) error {
	fact := new(eventspb.Enrichment)
	if err := proto.Unmarshal(value, fact); err != nil {
		return fmt.Errorf("the staged facts are damaged: %w: begin anew with --restart", err)
	}
	fact.Slot, fact.Upstream = l.state.Summary.Slot, Upstream
	return batch.Add(ctx, fact)
}

// notePublished notes that all facts that are staged before a byte offset are in the log.
func (l *Loader) notePublished(offset int64) error {
	l.state.Published = offset
	l.tell(stepWrite, offset, l.state.StagedBytes, "writing the facts")
	return l.file.Save(l.state)
}
