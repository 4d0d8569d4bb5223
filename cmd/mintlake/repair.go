package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/ingest/reread"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func repairCommand() *cobra.Command {
	var checkOnly bool
	var run repairRun
	cmd := &cobra.Command{
		Use:   "repair",
		Short: "Repair the embedded Kafka's log after damage on disk, and have what is lost read again where it can be",
		Long: `Check the log of the embedded Kafka under --data-dir, while "up" does not run, and repair what is damaged.

The files as they were are kept under kafka/damaged. A single wrong bit, and a wrong header, are put right. Other records that are damaged or
gone cannot be brought back: a marker takes their place, every other record keeps its offset. Where the lost records came from blocks, their
slots become gaps of the coverage, and the next "mintlake up" reads them again from its source; what the source cannot reach any more stays a
gap, which mintlake backfill --gaps may close. What no block tells is named: facts that were read, keys.

The output names every damage and every lost range. docs/kafka.md tells more. What a source has said falsely is no damage:
"mintlake repair facts" takes it back.`,
		Example: `  mintlake repair --check
  mintlake repair`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if len(cfg.Kafka.Brokers) > 0 {
			return errors.New("repair: it is for the embedded Kafka; a cluster is repaired with its own tools")
		}
		run.cfg, run.logger, run.out = cfg, logger, cmd.OutOrStdout()
		run.folder = filepath.Join(cfg.DataDir, "kafka")
		if checkOnly {
			return run.check(ctx)
		}
		return run.run(ctx)
	})
	cmd.Flags().BoolVar(&checkOnly, "check", false, "only tell what is damaged, and exit with 1 when something is")
	cmd.AddCommand(repairFactsCommand())
	return cmd
}

// repairRun is one call of the command.
type repairRun struct {
	cfg    *Config
	logger *slog.Logger
	folder string
	out    io.Writer
}

func (r *repairRun) say(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format+"\n", args...) }

func (r *repairRun) check(ctx context.Context) error {
	report, err := kafkabroker.CheckLog(r.folder, progressMeter(ctx))
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
		return fmt.Errorf("the log is damaged in %d places: repair it with `mintlake repair --data-dir %s`", len(report.Damages), r.cfg.DataDir)
	}
	r.say("the log is sound: %d bytes of records", report.Bytes)
	return nil
}

func (r *repairRun) run(ctx context.Context) error {
	pending, err := kafkabroker.RepairLog(r.folder, catalogue(), progressMeter(ctx))
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
	if err := pending.Done(r.folder); err != nil {
		return err
	}
	r.tell(pending, slots)
	return nil
}

// catalogue returns all topics, for a folder whose own list of topics is lost.
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
	case schemas.TopicTokenEvents, schemas.TopicSwaps, schemas.TopicPools:
		return true
	}
	return false
}

// slotsToRead returns the slots that a lost record may be of.
func (r *repairRun) slotsToRead(ctx context.Context, damages []segments.Damage) ([]uint64, error) {
	var windows []reread.Window
	for i := range damages {
		if d := &damages[i]; d.Loses() && fromBlocks(d.Topic) {
			windows = append(windows, reread.Window{From: d.After, To: d.Before})
		}
	}
	if len(windows) == 0 {
		return nil, nil
	}
	log, err := kafkabroker.OpenLog(r.folder, nil, progressMeter(ctx))
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
func (r *repairRun) markSlots(ctx context.Context, slots []uint64) (err error) {
	if len(slots) == 0 {
		return nil
	}
	lifecycle := newLifecycle(r.logger, r.cfg.StopTimeout)
	defer func() { err = errors.Join(err, lifecycle.stop()) }()
	broker, err := kafkabroker.New(kafkabroker.Config{DataDir: r.folder, Addr: "127.0.0.1:0", Repairing: true}, kafkabroker.Deps{Logger: r.logger, Meter: progressMeter(ctx)})
	if err != nil {
		return err
	}
	lifecycle.start("embedded Kafka", broker.Run)
	if err := lifecycle.await(ctx, broker.Ready()); err != nil {
		return err
	}
	deps, brokers := kafka.Deps{Logger: r.logger}, []string{broker.Addr()}
	admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: brokers}, deps)
	if err != nil {
		return err
	}
	defer admin.Close()
	if err := ensureTopics(ctx, r.cfg, admin); err != nil {
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

// tell reports which lost records come back, and which do not.
func (r *repairRun) tell(pending *segments.Pending, slots []uint64) {
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
	r.say("repaired; the files as they were are in %s", filepath.Join(r.folder, pending.Aside))
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
	case schemas.TopicTransactions:
		return "transactions that the stream could replay"
	default:
		return "nothing brings them back"
	}
}
