package bases

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// writer writes one base.
type writer struct {
	deps   *Deps
	row    Row
	tables string
	// log and base are the offsets of the marks, by partition.
	log, base []int64

	// open is the part that is being gathered, and mint is its mint.
	open *eventspb.BalanceBase
	mint string
	// records wait to be written, of size bytes.
	records []kafka.Record
	size    int
}

// begin waits until the projector has read what the topics have now, and notes how far it is.
func (w *writer) begin(ctx context.Context) (err error) {
	if w.tables, err = w.deps.Store.Tables(ctx); err != nil {
		return err
	}
	starts, ends, err := kafka.Bounds(ctx, w.deps.Offsets, topics...)
	if err != nil {
		return err
	}
	var read map[kafka.TopicPartition]int64
	for {
		if read, err = w.deps.Offsets.CommittedOffsets(ctx, schemas.GroupBalances, topics); err != nil {
			return err
		}
		for partition, start := range starts {
			read[partition] = max(read[partition], start) // nobody will read what has expired
		}
		if kafka.Covers(read, ends) {
			break
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
	}
	if ends, err = w.deps.Offsets.EndOffsets(ctx, []string{schemas.TopicBalanceBases}); err != nil {
		return err
	}
	for partition := range len(ends) {
		w.log = append(w.log, read[kafka.TopicPartition{Topic: schemas.TopicBalances, Partition: partition}])
		w.base = append(w.base, ends[kafka.TopicPartition{Topic: schemas.TopicBalanceBases, Partition: partition}])
	}
	if w.row.Began, err = w.deps.Store.Now(ctx); err != nil {
		return err
	}
	reach, err := w.deps.Store.Reach(ctx)
	if err != nil {
		return err
	}
	w.row.Slot = reach.Last
	// The view holder_counts finds out which mints are complete by the reach that was noted last.
	return w.deps.Store.NoteReach(ctx, reach)
}

// each calls do for all mints, one page after the other. It rests after a page as long as that
// took: the projector and readers go first.
func (w *writer) each(ctx context.Context, do func(context.Context, Range) error) error {
	// Every mint's text is above that of 32 zeros. The key of 32 zeros is no mint: it stands for
	// all.
	after := pubkey.Key{}.String()
	for {
		began := time.Now()
		of, more, err := w.deps.Store.Page(ctx, after, pageMints)
		if err != nil || !more {
			return err
		}
		if err := do(ctx, of); err != nil {
			return err
		}
		if err := w.write(ctx); err != nil {
			return err
		}
		if err := pause.For(ctx, time.Since(began)); err != nil {
			return err
		}
		after = of.Last
	}
}

// accounts writes the open accounts of mints, and what their delegates spent.
func (w *writer) accounts(ctx context.Context, of Range) error {
	err := w.deps.Store.Accounts(ctx, of, func(mint string, account *eventspb.HeldAccount) error {
		w.row.Accounts++
		if err := w.turnTo(ctx, mint); err != nil {
			return err
		}
		w.open.Accounts = append(w.open.Accounts, account)
		return nil
	})
	if err != nil {
		return err
	}
	err = w.deps.Store.Spends(ctx, of, func(mint string, spend *eventspb.DelegateSpend) error {
		if err := w.turnTo(ctx, mint); err != nil {
			return err
		}
		w.open.Spends = append(w.open.Spends, spend)
		return nil
	})
	if err != nil {
		return err
	}
	return w.close()
}

// awaitCounts waits until all mints that the base has are counted: only counts tell which mints are
// complete.
func (w *writer) awaitCounts(ctx context.Context) error {
	for began := time.Now(); ; {
		waiting, err := w.deps.Store.Uncounted(ctx, w.row.Began)
		if err != nil || waiting == 0 {
			return err
		}
		if time.Since(began) > longestCounts {
			w.deps.Logger.Warn("the base of balances says of mints that they are not complete, as they are not counted", "mints", waiting)
			return nil
		}
		if err := pause.For(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// marks writes the marks of mints.
func (w *writer) marks(ctx context.Context, of Range) error {
	err := w.deps.Store.Marks(ctx, of, w.row.Began, func(m Mark) error {
		if w.row.Mints++; m.Since > 0 {
			w.row.Complete++
		}
		if err := w.turnTo(ctx, m.Mint); err != nil {
			return err
		}
		w.open.Mark = &eventspb.BaseMark{
			Slot: w.row.Slot, First: m.First, Based: m.Based, BasedFrom: m.BasedFrom, CompleteSince: m.Since, LogOffsets: w.log, BaseOffsets: w.base,
		}
		return nil
	})
	if err != nil {
		return err
	}
	return w.close()
}

// turnTo makes open a part of mint that has room. It closes the open part if that is of another
// mint or full, and begins a new one.
func (w *writer) turnTo(ctx context.Context, mint string) error {
	if w.open != nil && w.mint == mint && len(w.open.GetAccounts())+len(w.open.GetSpends()) < partAccounts {
		return nil
	}
	if err := w.close(); err != nil {
		return err
	}
	if w.size >= flushBytes {
		if err := w.write(ctx); err != nil {
			return err
		}
	}
	key, err := pubkey.Parse(mint)
	if err != nil {
		return fmt.Errorf("mint %q: %w", mint, err)
	}
	w.open, w.mint = &eventspb.BalanceBase{Mint: key.Bytes()}, mint
	return nil
}

// close makes the record of the part that is open.
func (w *writer) close() error {
	if w.open == nil {
		return nil
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(w.open)
	if err != nil {
		return fmt.Errorf("encode base: %w", err)
	}
	w.open = nil
	w.records = append(w.records, kafka.Record{Topic: schemas.TopicBalanceBases, Key: []byte(w.mint), Value: value, Headers: []kafka.Header{
		{Key: schemas.HeaderType, Value: []byte(schemas.TypeBalanceBase)}, {Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
		{Key: schemas.HeaderTables, Value: []byte(w.tables)},
	}})
	w.size += len(value) + len(w.mint)
	return nil
}

// write makes the records durable.
func (w *writer) write(ctx context.Context) error {
	if err := w.deps.Producer.Produce(ctx, w.records...); err != nil {
		return fmt.Errorf("write a base: %w", err)
	}
	w.row.Bytes += uint64(w.size)
	w.records, w.size = nil, 0
	return nil
}
