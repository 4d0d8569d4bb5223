package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/operate/tables"
	"github.com/mintlake/mintlake/operate/verify"
)

// verifyCommand ends with exit code 1 for verify.ErrDiffers, and with 2 for all other errors.
func verifyCommand() *cobra.Command {
	var run verify.Run
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Compare ClickHouse's tables with the log and say what to rebuild",
		Long: `Compare ClickHouse's tables with the log that they are made of: counts and a checksum per table and range of slots, and the checksums of every part's files.

The log is projected once more, up to where the projectors have committed, into a database of its own (` + verify.Database + `), which takes as much disk as the tables
do and is dropped at the end. Prices and volumes are made there of its legs, and compared for the times of which the log has all legs. The tables themselves are only read. Without flags the data of a stopped "up" under --data-dir is compared; a running one, or
servers of your own, are named with --kafka-brokers and --clickhouse-dsn. What a running node writes meanwhile is no difference.

Each table is equal; or waiting, if rows that are not there are of minutes whose legs are still to be valued; or outdated, if an earlier version's rules made its
rows, which "up" makes anew in the background; or it DIFFERS: rows are missing or wrong.

The exit code is 0 when all is equal or waiting, 1 when rows are missing or wrong or a part is broken, 2 when that could not be told.`,
		Example: `  mintlake verify
  mintlake verify --tables token_events_raw,swaps_raw --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return verifyTables(ctx, cfg, logger, run, cmd.OutOrStdout(), asJSON)
	})
	cmd.Flags().StringSliceVar(&run.Names, "tables", nil, "compare these only; all projected tables without it")
	cmd.Flags().Uint64Var(&run.Slots, "slots", 100_000, "length of the ranges of slots that are compared")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := inner(cmd, args)
		if err != nil && !errors.Is(err, verify.ErrDiffers) {
			return &codedError{fmt.Errorf("verify: could not tell: %w", err), 2}
		}
		return err
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &codedError{nearFlag(cmd, err), 2} })
	check := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &codedError{err, 2}
		}
		return nil
	}
	return cmd
}

func verifyTables(ctx context.Context, cfg *Config, logger *slog.Logger, run verify.Run, out io.Writer, asJSON bool) error {
	if run.Slots == 0 {
		return errors.New("--slots must be at least 1")
	}
	if err := tables.Known(run.Names); err != nil {
		return err
	}
	return withStores(ctx, cfg, logger, madeStores, func(ctx context.Context, s *system) error {
		run.Tables, run.Volume = s.tables(ctx, s.conn), cfg.Volume
		reports, err := run.Compare(ctx)
		if err != nil {
			return err
		}
		return verify.Print(out, reports, asJSON)
	})
}
