package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/registry"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/registry/root"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// rootHashCommand is `mintlake root`.
func rootHashCommand() *cobra.Command {
	var query rootQuery
	cmd := &cobra.Command{
		Use:   "root",
		Short: "Print the registry's root: one hash over what the chain says of every token, to compare registries by",
		Long: `Print the registry's root at a slot, from the log of all events: one hash over what the chain says of every token. Two operators whose registries
say the same have the same root; docs/registry-root.md tells what it covers and what it proves.

The log is read from --kafka-brokers, or from the embedded broker's data under --data-dir while "up" does not run.
The output is one line: slot=SLOT tokens=COUNT root=HASH.`,
		Example: `  mintlake root
  mintlake root --at-slot 361774429 --kafka-brokers 127.0.0.1:9092`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		query.out, query.progress = cmd.OutOrStdout(), progressMeter(ctx)
		return query.run(ctx, cfg, logger)
	})
	cmd.Flags().Uint64Var(&query.atSlot, "at-slot", root.EverySlot, "take only what is of this slot or earlier ones; everything without it")
	cmd.Flag("at-slot").DefValue = "0" // what pflag does not show
	cmd.Flags().BoolVar(&query.eventsOnly, "events-only", false, "leave out what was read from accounts: nodes that ingested the same blocks agree whatever they have read")
	return cmd
}

// rootQuery is one call of `mintlake root`.
type rootQuery struct {
	atSlot     uint64
	eventsOnly bool
	out        io.Writer
	log        eventlog.Log
	logger     *slog.Logger
	progress   meter.Meter
}

func (q *rootQuery) run(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	log, done, err := openLog(cfg, logger, "root", q.progress)
	if err != nil {
		return err
	}
	defer done()
	q.log, q.logger = log, logger
	// The ledger first: when it says that a slot was ingested, the slot's events are in the log
	// already.
	covered, err := q.coverage(ctx)
	if err != nil {
		return err
	}
	q.warnOfGaps(covered)
	found, err := q.replay(ctx)
	if err != nil {
		return fmt.Errorf("read the log: %w", err)
	}
	if q.atSlot == root.EverySlot {
		// The last blocks may have no event of any token.
		found.Slot = max(found.Slot, covered.ToSlot)
	}
	_, err = fmt.Fprintf(q.out, "slot=%d tokens=%d root=%s\n", found.Slot, found.Tokens, found.Hash)
	return err
}

// openLog opens the log of the configured brokers. Without them it reads the files of the embedded
// broker, which must not run. It starts no broker, since that would write to the files.
func openLog(cfg *Config, logger *slog.Logger, name string, progress meter.Meter) (log eventlog.Log, done func(), err error) {
	if len(cfg.Kafka.Brokers) > 0 {
		deps, err := kafkaDeps(cfg, logger, nil)
		if err != nil {
			return nil, nil, err
		}
		admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: cfg.Kafka.Brokers}, deps)
		if err != nil {
			return nil, nil, err
		}
		return eventlog.Kafka{Brokers: cfg.Kafka.Brokers, Admin: admin, Deps: deps}.Topics(name), admin.Close, nil
	}
	folder := filepath.Join(cfg.DataDir, "kafka")
	if _, err := os.Stat(folder); err != nil {
		return nil, nil, fmt.Errorf("no log here: %w; name a folder with --data-dir or brokers with --kafka-brokers", err)
	}
	files, err := kafkabroker.OpenLog(folder, logger, progress)
	if errors.Is(err, kafkabroker.ErrLocked) {
		return nil, nil, fmt.Errorf("%w; or ask the running one: --kafka-brokers with the address it printed for kafka, %s by default", err, cfg.Kafka.Addr)
	}
	if err != nil {
		return nil, nil, err
	}
	return &eventlog.Folder{Log: files}, files.Close, nil
}

// coverage returns which slots were ingested, by the slot ledger.
func (q *rootQuery) coverage(ctx context.Context) (coverage.Coverage, error) {
	ledger := coverage.New()
	if err := eventlog.ReadSlots(ctx, q.log, ledger.Apply); err != nil {
		return coverage.Coverage{}, err
	}
	return ledger.Coverage(), nil
}

// warnOfGaps logs a warning if the log does not have all slots up to the one of the root: the root
// of a complete registry may differ.
func (q *rootQuery) warnOfGaps(covered coverage.Coverage) {
	if q.atSlot != root.EverySlot && q.atSlot > covered.ToSlot {
		q.logger.Warn("the log does not reach the slot yet", "slot", q.atSlot, "ingested_to", covered.ToSlot)
	}
	if len(covered.Gaps) > 0 && covered.Gaps[0].FromSlot <= q.atSlot {
		q.logger.Warn("slots are missing: a registry that has them may have another root",
			"gaps", len(covered.Gaps), "first_from", covered.Gaps[0].FromSlot, "first_to", covered.Gaps[0].ToSlot)
	}
}

// replay folds the whole log and returns the root.
func (q *rootQuery) replay(ctx context.Context) (root.Root, error) {
	topics := []string{schemas.TopicTokenEvents}
	if !q.eventsOnly {
		topics = append(topics, schemas.TopicEnrichments)
	}
	replay := root.NewReplay(q.atSlot)
	if err := q.read(ctx, topics, replay); err != nil {
		return root.Root{}, err
	}
	if replay.Again() {
		if err := q.read(ctx, topics, replay); err != nil {
			return root.Root{}, err
		}
	}
	return replay.Root(), nil
}

// read adds all facts of the log to the replay.
func (q *rootQuery) read(ctx context.Context, topics []string, replay *root.Replay) error {
	begin, records, bad := time.Now(), 0, 0
	all, err := q.log.Records(ctx, topics)
	if err != nil {
		return err
	}
	count, stop := q.progress.Begin("root", "records", all)
	defer stop()
	err = q.log.Read(ctx, topics, func(record *kafka.Record) {
		facts, err := factsOfRecord(record)
		if err != nil {
			bad++ // the projector made a dead letter of it
		}
		replay.Apply(facts)
		records++
		count(1)
	})
	if err != nil {
		return err
	}
	q.logger.Info("log replayed", "records", records, "unreadable", bad, "seconds", time.Since(begin).Seconds())
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
