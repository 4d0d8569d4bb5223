// Package repair repairs the log: what a disk has damaged, and what a source has said falsely.
//
// In: the files of the embedded broker, or a log that is served. Out: a log that can be read, and
// records that have what is lost read again. Guarantees: what does not come back is named.
package repair

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/ingest/reread"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Log is the log of the embedded broker. The broker must not run.
type Log struct {
	DataDir string
	Logger  *slog.Logger
	// Progress may be nil.
	Progress meter.Meter
	// EnsureTopics creates topics that are missing.
	EnsureTopics func(ctx context.Context, admin *kafka.Admin) error
	Out          io.Writer
}

func (r *Log) folder() string { return filepath.Join(r.DataDir, "kafka") }

func (r *Log) say(format string, args ...any) { _, _ = fmt.Fprintf(r.Out, format+"\n", args...) }

// Check prints what is damaged, and returns an error if something is.
func (r *Log) Check() error {
	report, err := kafkabroker.CheckLog(r.folder(), r.Progress)
	if err != nil {
		return err
	}
	for _, notice := range report.Notices {
		r.say("note: %s", notice)
	}
	for i := range report.Damages {
		r.say("damage: %s", &report.Damages[i])
	}
	for _, lost := range report.Lost {
		r.say("lost earlier: %s partition %d, offsets %d to %d", lost.Topic, lost.Partition, lost.From, lost.To)
	}
	if len(report.Damages) > 0 {
		return fmt.Errorf("the log is damaged in %d places: repair it with `mintlake repair --data-dir %s`", len(report.Damages), r.DataDir)
	}
	r.say("the log is sound: %d bytes of records", report.Bytes)
	return nil
}

// Repair repairs what is damaged, and prints which lost records it could not bring back.
func (r *Log) Repair(ctx context.Context) error {
	pending, err := kafkabroker.RepairLog(r.folder(), catalogue(), r.Progress)
	if err != nil {
		return err
	}
	if pending == nil {
		r.say("the log is sound, there is nothing to repair")
		return nil
	}
	for i := range pending.Damages {
		r.say("damage: %s", &pending.Damages[i])
	}
	slots, err := r.slotsToRead(ctx, pending.Damages)
	if err != nil {
		return err
	}
	if err := r.markSlots(ctx, slots); err != nil {
		return fmt.Errorf("repair: mark slots to be read again: %w; run it again", err)
	}
	if err := pending.Done(r.folder()); err != nil {
		return err
	}
	r.tell(pending, slots)
	return nil
}

// catalogue returns all topics, for a folder that has lost its own list of topics.
func catalogue() []segments.Topic {
	topics := schemas.Topics()
	known := make([]segments.Topic, 0, len(topics))
	for _, topic := range topics {
		known = append(known, segments.Topic{Name: topic.Name, Partitions: topic.Partitions, Configs: topic.Config()})
	}
	return known
}

// fromBlocks reports whether a topic's records are made from blocks: then they are made again when
// the blocks are read again.
func fromBlocks(topic string) bool {
	switch topic {
	case schemas.TopicTokenEvents, schemas.TopicSwaps, schemas.TopicPools, schemas.TopicBalances, schemas.TopicTransfers:
		return true
	}
	return false
}

// slotsToRead returns the slots to which a lost record may belong.
func (r *Log) slotsToRead(ctx context.Context, damages []segments.Damage) ([]uint64, error) {
	var windows []reread.Window
	for i := range damages {
		if d := &damages[i]; d.Loses() && fromBlocks(d.Topic) {
			windows = append(windows, reread.Window{From: d.After, To: d.Before})
		}
	}
	if len(windows) == 0 {
		return nil, nil
	}
	log, err := kafkabroker.OpenLog(r.folder(), nil, r.Progress)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	var ledger []reread.Line
	err = log.Read(ctx, []string{schemas.TopicSlots}, func(record *segments.Record) {
		slot := new(eventspb.SlotRecord)
		if string(record.Key) != schemas.SourceStatusKey && proto.Unmarshal(record.Value, slot) == nil {
			ledger = append(ledger, reread.Line{Slot: slot.GetSlot(), Status: slot.GetStatus(), Written: record.Time})
		}
	})
	if err != nil {
		return nil, err
	}
	return reread.Slots(ledger, windows), nil
}

// markSlots writes into the slot ledger that the slots must be read again.
func (r *Log) markSlots(ctx context.Context, slots []uint64) (err error) {
	if len(slots) == 0 {
		return nil
	}
	broker, stop, err := kafkabroker.Start(ctx, kafkabroker.Config{DataDir: r.folder(), Addr: "127.0.0.1:0", Repairing: true}, kafkabroker.Deps{Logger: r.Logger, Meter: r.Progress})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	deps, brokers := kafka.Deps{Logger: r.Logger}, []string{broker.Addr()}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps)
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := r.EnsureTopics(ctx, admin); err != nil {
		return err
	}
	producer, err := kafka.NewProducer(kafka.ProducerConfig{Brokers: brokers}, deps)
	if err != nil {
		return err
	}
	defer producer.Close()
	records := make([]kafka.Record, 0, len(slots))
	for _, slot := range slots {
		value, err := proto.Marshal(&eventspb.SlotRecord{Slot: slot, Status: eventspb.SlotStatus_SLOT_STATUS_LOST, Source: "repair"})
		if err != nil {
			return fmt.Errorf("encode slot record: %w", err)
		}
		records = append(records, kafka.Record{
			Topic: schemas.TopicSlots, Key: strconv.AppendUint(nil, slot, 10), Value: value,
			Headers: []kafka.Header{
				{Key: schemas.HeaderType, Value: []byte(schemas.TypeSlot)},
				{Key: schemas.HeaderSchemaVersion, Value: []byte(schemas.SchemaVersion)},
				{Key: schemas.HeaderReceivedAt, Value: strconv.AppendInt(nil, time.Now().UnixMilli(), 10)},
			},
		})
	}
	return producer.Produce(ctx, records...)
}

// tell prints which lost records come back, and which do not.
func (r *Log) tell(pending *segments.Pending, slots []uint64) {
	named := make(map[string]bool)
	for i := range pending.Damages {
		d := &pending.Damages[i]
		if !d.Loses() || fromBlocks(d.Topic) || named[d.Topic] {
			continue
		}
		named[d.Topic] = true
		r.say("lost on %s: %s", d.Topic, comesBack(d.Topic))
	}
	if len(slots) > 0 {
		r.say("%d slots between %d and %d are gaps of the coverage now; the next `mintlake up` reads them again from its source (those it cannot reach: mintlake backfill --gaps)",
			len(slots), slots[0], slots[len(slots)-1])
	}
	r.say("repaired; the files as they were are in %s", filepath.Join(r.folder(), pending.Aside))
}

// comesBack describes what becomes of a topic's lost records if reading blocks again does not
// restore them.
func comesBack(topic string) string {
	switch topic {
	case schemas.TopicSlots:
		return "lines of the slot ledger; what they covered becomes a gap, and is read again like any other"
	case schemas.TopicEnrichments:
		return "facts that were read from accounts and documents. They do not come back by themselves, except as tokens are read again. What ClickHouse holds can be " +
			"written back: mintlake export --to DIR --key FILE, then mintlake import --from DIR --trust KEY"
	case schemas.TopicGatewayKeys:
		return "events of API keys. Nothing brings them back: look at each key that was made, changed or revoked in this time"
	case schemas.TopicEnrichmentRequests:
		return "requests for facts; they come again when somebody asks for the token"
	case schemas.TopicBalanceBases:
		return "open token accounts as they were once a day; the next base has them again"
	case schemas.TopicTransactions:
		return "transactions that the stream could replay"
	default:
		return "nothing brings them back"
	}
}
