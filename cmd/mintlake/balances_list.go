package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/ingest/balances"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

func balancesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "balances", Short: "Choose the mints whose balances are kept", Args: cli.Arguments}
	cmd.AddCommand(balancesListCommand())
	return cmd
}

func balancesListCommand() *cobra.Command {
	var above float64
	var file string
	var drop bool
	cmd := configured(&cobra.Command{
		Use:   "list",
		Short: "Write the mints that trade above a volume to a file for balances.mode list",
		Long: `Add the mints that traded for so many US dollars in the last 24 hours to a file with a mint a line, for balances.mode list.

Mints that are in the file stay, unless --drop is given. Ingest reads the file when it starts. With another list every mint is incomplete from
there on, until all its accounts are read (mintlake bootstrap holders --mints FILE), so the file is not touched if no mint is new.

It reads the tables: while mintlake up runs with its embedded ClickHouse, name that by --clickhouse-dsn.`,
		Example: `  mintlake balances list --above-usd 10000 --file mints.txt --clickhouse-dsn http://127.0.0.1:8123`,
		Args:    cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		if above <= 0 {
			return fmt.Errorf("--above-usd %g: must be above 0", above)
		}
		return withStores(ctx, cfg, logger, onlyTables, func(ctx context.Context, s *system) error {
			mints, err := accounts.NewTables(s.conn, schema.Database).Above(ctx, above)
			if err != nil {
				return err
			}
			done, err := balances.GrowList(file, mints, drop)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			tellMints(file, done)
			return nil
		})
	})
	cmd.Flags().Float64Var(&above, "above-usd", 0, "volume of the last 24 hours in US dollars from which a mint is taken")
	cmd.Flags().StringVar(&file, "file", "", "file to write; the mints in it stay")
	cmd.Flags().BoolVar(&drop, "drop", false, "take out the mints of the file that trade for less now")
	for _, name := range []string{"above-usd", "file"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}

func tellMints(file string, done balances.Grown) {
	if done.New == 0 && done.Gone == 0 {
		fmt.Printf("%s: all %d mints were in it, it is as it was\n", file, done.Mints)
		return
	}
	fmt.Printf("%s: %d mints, %d new, %d taken out. Restart ingest, then run: mintlake bootstrap holders --mints %[1]s\n", file, done.Mints, done.New, done.Gone)
}
