package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/operate/backup"
)

func restoreCommand() *cobra.Command {
	var run backup.Restore
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Make a data folder of a backup",
		Long: `Make the data folder --data-dir of a folder that "mintlake backup" wrote, here or on another machine. Every file is compared with the backup's list
first. The data folder must be empty or new; a restore that was interrupted is run again as it was.

The next "mintlake up" makes anew what is not in the backup: the rows that the log has and the tables have not, and the slots since, as after any stop.`,
		Example: `  mintlake restore --from /backup/2026-11-23 --data-dir /var/lib/mintlake`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if len(cfg.Kafka.Brokers) > 0 || cfg.ClickHouse.DSN != "" {
			return errors.New("restore: it is for one machine with embedded engines; a cluster is restored with its own tools (docs/operations.md)")
		}
		run.DataDir, run.Engine, run.Progress, run.Out = cfg.DataDir, engineForCopies(cfg, logger), progressMeter(ctx), cmd.OutOrStdout()
		run.Claim = func() (string, error) { return cfg.dataPath(backup.RestoreFolder) }
		if err := run.Run(ctx); err != nil {
			return fmt.Errorf("restore: %w", err)
		}
		return nil
	})
	cmd.Flags().StringVar(&run.From, "from", "", "folder of the backup")
	_ = cmd.MarkFlagRequired("from")
	return cmd
}
