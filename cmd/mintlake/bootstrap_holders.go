package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/client/cli"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func bootstrapHoldersCommand() *cobra.Command {
	var mints []string
	var top int
	var rps float64
	cmd := configured(&cobra.Command{
		Use:   "holders",
		Short: "Read all token accounts of mints over RPC, so that their holders are whole",
		Long: `Read all token accounts of mints from the servers of --rpc-upstream, each mint at one slot (getProgramAccounts). From that slot on a mint's
holders are whole, as long as no slot is missing. Accounts that are known and that the server does not have are closed.

It reads the tables for what is known, so a node, or ClickHouse, must run.`,
		Example: `  mintlake bootstrap holders --mint EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123
  mintlake bootstrap holders --top 1000 --rps 2 --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		if (len(mints) == 0) == (top == 0) || top < 0 {
			return errors.New("name mints by --mint, or give their number by --top")
		}
		return bootstrapHolders(ctx, cfg, logger, mints, top, rps)
	})
	cmd.Flags().StringSliceVar(&mints, "mint", nil, "mint, base58; repeat for more")
	cmd.Flags().IntVar(&top, "top", 0, "the mints with the highest volume of the last 24 hours, so many")
	cmd.Flags().Float64Var(&rps, "rps", 0, "requests a second; 0 = as fast as the server answers")
	return cmd
}

func bootstrapHolders(ctx context.Context, cfg *Config, logger *slog.Logger, names []string, top int, rps float64) error {
	mints := make([]pubkey.Key, 0, len(names))
	for _, name := range names {
		mint, err := pubkey.Parse(name)
		if err != nil {
			return fmt.Errorf("--mint %s: %w", name, err)
		}
		mints = append(mints, mint)
	}
	return withStores(ctx, cfg, logger, newStores, func(ctx context.Context, s *system) error {
		if err := s.checkChain(ctx, true); err != nil {
			return err
		}
		tables := accounts.NewTables(s.conn, schema.Database)
		if top > 0 {
			var err error
			if mints, err = tables.Top(ctx, top); err != nil {
				return err
			}
		}
		read := accounts.Config{Endpoints: slices.DeleteFunc(slices.Clone(cfg.RPC.Upstream), s.exclusions.Has), RequestsPerSecond: rps}
		holders, err := accounts.NewHolders(read, accounts.Deps{Producer: s.writers.For("bootstrap"), Bounds: s.chainBounds, Logger: logger}, tables)
		if err != nil {
			return err
		}
		return readHolders(ctx, holders, mints)
	})
}

// readHolders reads one mint after the other. A mint that cannot be read does not keep the others
// from being read.
func readHolders(ctx context.Context, holders *accounts.Holders, mints []pubkey.Key) error {
	failed := 0
	for _, mint := range mints {
		base, err := holders.Read(ctx, mint)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("stopped at %s: run it again, what was written changes nothing", mint)
		case err != nil:
			failed++
			fmt.Printf("%s: not read: %v\n", mint, err)
		default:
			fmt.Printf("%s: %d accounts at slot %d, %d that were known are closed\n", mint, base.Accounts, base.Slot, base.Closed)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d mints were not read", failed, len(mints))
	}
	return nil
}
