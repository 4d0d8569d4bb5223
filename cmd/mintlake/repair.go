package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/repair"
)

func repairCommand() *cobra.Command {
	var checkOnly bool
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
		log := &repair.Log{
			DataDir: cfg.DataDir, Logger: logger, Progress: progressMeter(ctx), Out: cmd.OutOrStdout(),
			EnsureTopics: func(ctx context.Context, admin *kafka.Admin) error { return ensureTopics(ctx, cfg, admin) },
		}
		if checkOnly {
			return log.Check()
		}
		return log.Repair(ctx)
	})
	cmd.Flags().BoolVar(&checkOnly, "check", false, "only tell what is damaged, and exit with 1 when something is")
	cmd.AddCommand(repairFactsCommand())
	return cmd
}
