package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/operate/backup"
)

func backupCommand() *cobra.Command {
	var run backup.Backup
	cmd := &cobra.Command{
		Use:   "backup",
		Short: "Copy the log and the tables of one machine to a folder, while it runs or not",
		Long: `Copy what is under --data-dir to a folder: the embedded Kafka's log up to its last whole batch, every checksum compared; the tables of the embedded
ClickHouse; keys, logos and small files. A running node goes on meanwhile. "mintlake restore" makes a data folder of it, and what the node did during
the backup is done again from the log.

With --log-only the tables are left out: they are made anew from the log, but for what the log keeps no longer (swaps and slots of more than 30 days).
For a cluster use the tools of Kafka and ClickHouse: docs/operations.md.`,
		Example: `  mintlake backup --data-dir /var/lib/mintlake --to /backup/2026-11-23`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if len(cfg.Kafka.Brokers) > 0 {
			return errors.New("backup: it is for one machine with the embedded Kafka; a cluster is backed up with its own tools (docs/operations.md)")
		}
		run.DataDir, run.DSN, run.ClickHouseAddr, run.Engine = cfg.DataDir, cfg.ClickHouse.DSN, cfg.ClickHouse.Addr, engineForCopies(cfg, logger)
		run.Version, run.Progress, run.Out = version, progressMeter(ctx), cmd.OutOrStdout()
		if err := run.Run(ctx); err != nil {
			return fmt.Errorf("backup: %w", err)
		}
		return nil
	})
	cmd.Flags().StringVar(&run.To, "to", "", "folder to write to; must be empty or new")
	cmd.Flags().BoolVar(&run.LogOnly, "log-only", false, "leave ClickHouse's tables out")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

// engineForCopies returns the settings of the ClickHouse engine that copies tables while no node
// runs.
func engineForCopies(cfg *Config, logger *slog.Logger) backup.Engine {
	return backup.Engine{MaxMemoryBytes: cfg.ClickHouse.MemoryBytes, Threads: cfg.ClickHouse.Threads, Logger: logger}
}
