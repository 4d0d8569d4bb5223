package projector_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"

	"time"
)

// world is everything around a projector, and the order in which it was used.
type world struct {
	batches [][]kafka.Record
	log     []string

	writeErrors   []error
	produceErrors []error
	stored        []*projector.Batch
	folded        []projector.Dirty
	letters       []kafka.Record
	committed     []kafka.Record
	outdated      bool
	stop          context.CancelFunc
}

func (w *world) FetchBatch(ctx context.Context, _ int, _ time.Duration) ([]kafka.Record, error) {
	if len(w.batches) == 0 {
		w.stop()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	batch := w.batches[0]
	w.batches = w.batches[1:]
	return batch, nil
}

func (w *world) Commit(_ context.Context, records []kafka.Record) error {
	w.log = append(w.log, "commit")
	w.committed = append(w.committed, records...)
	return nil
}

func (w *world) Produce(_ context.Context, records ...kafka.Record) error {
	w.log = append(w.log, "dead letter")
	if err := next(&w.produceErrors); err != nil {
		return err
	}
	for i := range records {
		if len(records[i].Key)+len(records[i].Value) > kafka.DefaultMaxRecordBytes {
			return kafka.ErrRecordTooLarge
		}
	}
	w.letters = append(w.letters, records...)
	return nil
}

var errBusy, errSchema = errors.New("busy"), errors.New("no such column")

func (w *world) Insert(_ context.Context, batch *projector.Batch) error {
	w.log = append(w.log, "write")
	if err := next(&w.writeErrors); err != nil {
		return err
	}
	w.stored = append(w.stored, batch)
	return nil
}

func (w *world) Fold(_ context.Context, dirty projector.Dirty) error {
	w.log = append(w.log, "fold")
	w.folded = append(w.folded, dirty)
	return nil
}

func (w *world) Outdated(context.Context) (bool, error) { return w.outdated, nil }

func (w *world) Retryable(err error) bool { return errors.Is(err, errBusy) }

func next(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	err := (*errs)[0]
	*errs = (*errs)[1:]
	return err
}

func run(t *testing.T, w *world) error {
	t.Helper()
	var err error
	synctest.Test(t, func(t *testing.T) { // back-off waits cost no time
		p, newErr := projector.New(projector.Config{}, projector.Deps{
			Consumer: w, Producer: w, Store: w, Logger: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, newErr)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.stop = cancel
		err = p.Run(ctx)
	})
	return err
}

func tokenEvent(t *testing.T) kafka.Record {
	t.Helper()
	value, err := proto.Marshal(&eventspb.TokenEvent{
		Position: &eventspb.Position{Slot: 1}, Mint: registrytest.Mint(1), ProgramId: registrytest.Mint(2),
		Payload: &eventspb.TokenEvent_Burn{Burn: &eventspb.AmountChange{Amount: 1}},
	})
	require.NoError(t, err)
	return kafka.Record{Topic: schemas.TopicTokenEvents, Offset: 7, Value: value}
}

func TestCommitsAfterTheWrite(t *testing.T) {
	w := &world{batches: [][]kafka.Record{{tokenEvent(t)}}, writeErrors: []error{errBusy, errBusy}}
	require.NoError(t, run(t, w))
	require.Equal(t, []string{"write", "write", "write", "fold", "commit"}, w.log)
	require.Len(t, w.stored, 1)
	require.Len(t, w.stored[0].TokenEvents, 1)
	require.Equal(t, int64(7), w.committed[0].Offset)
}

func TestAPoisonRecordBecomesADeadLetterAndTheRestGoesOn(t *testing.T) {
	for name, poison := range map[string]kafka.Record{
		"no protobuf":  {Topic: schemas.TopicTokenEvents, Offset: 3, Key: []byte("k"), Value: []byte{0xff}},
		"no position":  {Topic: schemas.TopicTokenEvents, Offset: 3, Key: []byte("k"), Value: nil},
		"short mint":   {Topic: schemas.TopicTokenEvents, Offset: 3, Key: []byte("k"), Value: []byte{0x0a, 0x00, 0x2a, 0x01, 0x07}},
		"enrichment":   {Topic: schemas.TopicEnrichments, Offset: 3, Key: []byte("k"), Value: []byte("x")},
		"slot":         {Topic: schemas.TopicSlots, Offset: 3, Key: []byte("k"), Value: []byte{0x08, 0x01}},
		"wrong topic":  {Topic: "elsewhere", Offset: 3, Key: []byte("k")},
		"binary noise": {Topic: schemas.TopicEnrichments, Offset: 3, Key: []byte("k"), Value: []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{batches: [][]kafka.Record{{poison, tokenEvent(t)}}}
			require.NoError(t, run(t, w))
			require.Equal(t, []string{"dead letter", "write", "fold", "commit"}, w.log)
			require.Len(t, w.stored[0].TokenEvents, 1)
			require.True(t, slices.ContainsFunc(w.committed, func(r kafka.Record) bool { return r.Offset == 7 }))
			require.True(t, slices.ContainsFunc(w.committed, func(r kafka.Record) bool { return r.Topic == poison.Topic && r.Offset >= 3 }))
			letter := new(eventspb.DeadLetter)
			require.NoError(t, proto.Unmarshal(w.letters[0].Value, letter))
			require.Equal(t, poison.Topic, letter.GetTopic())
			require.Equal(t, int64(3), letter.GetOffset())
			require.Equal(t, poison.Value, letter.GetValue())
			require.NotEmpty(t, letter.GetReason())
		})
	}
}

// TestALargePoisonRecordDoesNotStopTheProjector: the broker takes a record of 1,040,000 bytes, and
// its dead letter must be smaller.
func TestALargePoisonRecordDoesNotStopTheProjector(t *testing.T) {
	for _, poison := range []kafka.Record{
		{Topic: schemas.TopicTokenEvents, Offset: 3, Key: []byte("k"), Value: bytes.Repeat([]byte{0xff}, 1_040_000)},
		{Topic: schemas.TopicTokenEvents, Offset: 3, Key: bytes.Repeat([]byte{0xff}, 1_040_000), Value: []byte{0xff}},
	} {
		w := &world{batches: [][]kafka.Record{{poison, tokenEvent(t)}}}
		require.NoError(t, run(t, w))
		require.Equal(t, []string{"dead letter", "write", "fold", "commit"}, w.log)
		letter := new(eventspb.DeadLetter)
		require.NoError(t, proto.Unmarshal(w.letters[0].Value, letter))
		hash := sha256.Sum256(poison.Value)
		require.Equal(t, hash[:], letter.GetValueSha256())
		require.EqualValues(t, len(poison.Value), letter.GetValueBytes())
	}
}

func TestStopsWithoutCommitWhenItCannotGoOn(t *testing.T) {
	w := &world{batches: [][]kafka.Record{{tokenEvent(t)}}, writeErrors: []error{errSchema}}
	require.ErrorIs(t, run(t, w), errSchema)
	require.Equal(t, []string{"write"}, w.log)

	w = &world{batches: [][]kafka.Record{{{Topic: "elsewhere"}}}, produceErrors: []error{errSchema}}
	require.ErrorIs(t, run(t, w), errSchema)
	require.Equal(t, []string{"dead letter"}, w.log, "a record whose dead letter was not written stays uncommitted")
}

func TestSourceStatusIsNoSlot(t *testing.T) {
	w := &world{batches: [][]kafka.Record{{{Topic: schemas.TopicSlots, Key: []byte(schemas.SourceStatusKey), Value: []byte{0xff}}}}}
	require.NoError(t, run(t, w))
	require.Empty(t, w.letters)
	require.Empty(t, w.stored[0].Slots)
}
