package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/operate/rebuild"
)

func rebuildCommand() *cobra.Command {
	var run rebuild.Run
	var loseHistory bool
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make ClickHouse's tables anew from the log: all of them, or the rows that `verify` misses",
		Long: `Without --tables: throw ClickHouse's tables away, all of the database mintlake. The projector begins at the log's first record again and makes the same
rows. "up" (or the projector) must not run. Swaps, prices, volumes and slots are in the log for 30 days, the history of balances for 7 (who holds what now is in the last base), and what was there before an import into a new log is not in it
at all: if the tables have more than the log, the command says what, and does nothing without --lose-history.

With --tables: put broken parts of these tables aside and make their rows once more from the log, into the tables as they are. Rows that are there already fall
together with their copies, and rows that the log no longer has stay. So does a part that was put aside and may have such rows: the command names it.
Prices and volumes are made of the legs in swaps_raw, at the next start. "mintlake verify" prints the command. A running node, or servers of your own, are named
with --kafka-brokers and --clickhouse-dsn.`,
		Example: `  mintlake rebuild
  mintlake rebuild --tables token_events_raw --from-slot 361774000 --to-slot 361774999`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		run.Out = cmd.OutOrStdout()
		if len(run.Names) > 0 {
			return rebuildRows(ctx, cfg, logger, run)
		}
		if run.From != 0 || run.To != 0 {
			return errors.New("rebuild: --from-slot and --to-slot need --tables")
		}
		return withStores(ctx, cfg, logger, newStores, func(ctx context.Context, s *system) error {
			return rebuild.All(ctx, s.tables(ctx, s.conn), loseHistory, run.Out)
		})
	})
	cmd.Flags().StringSliceVar(&run.Names, "tables", nil, "make the rows of these tables again; without it all tables are thrown away")
	cmd.Flags().Uint64Var(&run.From, "from-slot", 0, "with --tables: first slot")
	cmd.Flags().Uint64Var(&run.To, "to-slot", 0, "with --tables: last slot, needed with --from-slot; without both all slots")
	cmd.Flags().BoolVar(&loseHistory, "lose-history", false, "without --tables: throw away rows too that the log no longer has")
	return cmd
}

func rebuildRows(ctx context.Context, cfg *Config, logger *slog.Logger, run rebuild.Run) error {
	if err := run.Check(); err != nil {
		return err
	}
	return withStores(ctx, cfg, logger, madeStores, func(ctx context.Context, s *system) error {
		run.Tables = s.tables(ctx, s.conn)
		if cfg.ClickHouse.DSN == "" {
			run.Manifest = partsManifest(cfg)
		}
		return run.Rows(ctx)
	})
}
