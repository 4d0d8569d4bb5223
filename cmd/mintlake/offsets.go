package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/operate/offsets"
)

func offsetsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "offsets",
		Short: "Note how far ClickHouse's tables are made of the log, and set their readers back there after a restore",
		Long: `Note how far ClickHouse's tables are made of the log, and set their readers back there after the tables were restored from a backup.

For a cluster, whose tables are backed up with ClickHouse's BACKUP: docs/operations.md has the order. "mintlake backup" does all this by itself on one
machine. Without --kafka-brokers they use the embedded broker of a running "mintlake up" at --kafka-addr.`,
	}
	cmd.AddCommand(saveOffsetsCommand(), resetOffsetsCommand())
	return cmd
}

func saveOffsetsCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "save",
		Short: "Write the committed offsets of the tables' readers to a file, before ClickHouse's BACKUP begins",
		Long: `Write the committed offsets of the consumer groups that fill ClickHouse's tables to a new file. Rooms may run meanwhile. Do it before BACKUP begins:
rows that come twice fall together, rows that are read by nobody would be missing.`,
		Example: `  mintlake offsets save --to offsets.json --kafka-brokers kafka:9092`,
		Args:    cli.Arguments,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return withStores(ctx, cfg, logger, runningLog("offsets"), func(ctx context.Context, s *system) error {
			if err := offsets.Save(ctx, s.admin, to, cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("offsets: %w", err)
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&to, "to", "", "file to write; must not exist")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func resetOffsetsCommand() *cobra.Command {
	var from string
	var first bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Let the tables' readers go on where a file of offsets says, after ClickHouse's RESTORE",
		Long: `Let the consumer groups that fill ClickHouse's tables go on at the offsets of a file that "mintlake offsets save" wrote. Projectors must be stopped; it
waits a minute for the last one's session to end.

With --first they begin at the first record of the log instead, which is always right and takes longest: for tables of a backup without offsets, and for
another Kafka cluster than the one that the offsets are of.`,
		Example: `  mintlake offsets reset --from offsets.json --kafka-brokers kafka:9092
  mintlake offsets reset --first --kafka-brokers kafka:9092`,
		Args: cli.Arguments,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if first == (from != "") {
			return errors.New("offsets: name the file with --from, or say --first")
		}
		return withStores(ctx, cfg, logger, runningLog("offsets"), func(ctx context.Context, s *system) error {
			if err := offsets.Reset(ctx, s.admin, from, cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("offsets: %w", err)
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&from, "from", "", "file that offsets save wrote")
	cmd.Flags().BoolVar(&first, "first", false, "begin at the log's first record")
	return cmd
}
