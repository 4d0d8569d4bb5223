package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/ingest/balances"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

func bootstrapHoldersCommand() *cobra.Command {
	var names []string
	var file string
	var top int
	var read accounts.Config
	cmd := configured(&cobra.Command{
		Use:   "holders",
		Short: "Read all token accounts of mints over RPC, so that their holders are whole",
		Long: `Read all token accounts of mints from the servers of --rpc-upstream: in pages where the server has getProgramAccountsV2, which large mints
need, else in one answer (getProgramAccounts). From the slot of the answer, or of the last page, on a mint's holders are whole, as long as no
slot is missing since; with pages, since the first one. Accounts that are known and that the server does not have are closed.

It reads the tables for what is known, so a node, or ClickHouse, must run.`,
		Example: `  mintlake bootstrap holders --mint EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123
  mintlake bootstrap holders --mints mints.txt --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123
  mintlake bootstrap holders --top 1000 --rps 2 --kafka-brokers 127.0.0.1:9092 --clickhouse-dsn http://127.0.0.1:8123`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		mints, err := namedMints(names, file, top)
		if err != nil {
			return err
		}
		return bootstrapHolders(ctx, cfg, logger, read, mints, top)
	})
	cmd.Flags().StringSliceVar(&names, "mint", nil, "mint, base58; repeat for more")
	cmd.Flags().StringVar(&file, "mints", "", "file with a mint a line, as for balances.mints")
	cmd.Flags().IntVar(&top, "top", 0, "the mints with the highest volume of the last 24 hours, so many")
	cmd.Flags().IntVar(&read.PageLimit, "page-limit", 10_000, "accounts of a page, where the server has pages")
	cmd.Flags().Float64Var(&read.RequestsPerSecond, "rps", 0, "requests a second; 0 = as fast as the server answers")
	return cmd
}

// namedMints returns the mints that the flags name. For --top, whose mints are looked up later, it
// returns none. It returns an error unless exactly one of the flags is used.
func namedMints(names []string, file string, top int) ([]pubkey.Key, error) {
	given := 0
	for _, is := range []bool{len(names) > 0, file != "", top != 0} {
		if is {
			given++
		}
	}
	if given != 1 || top < 0 {
		return nil, errors.New("name mints by --mint, or by a file with --mints, or give their number by --top")
	}
	if file != "" {
		listed, err := balances.ReadList(file)
		if err != nil {
			return nil, err
		}
		return slices.SortedFunc(maps.Keys(listed), pubkey.Compare), nil
	}
	mints := make([]pubkey.Key, 0, len(names))
	for _, name := range names {
		mint, err := pubkey.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("--mint %s: %w", name, err)
		}
		mints = append(mints, mint)
	}
	return mints, nil
}

func bootstrapHolders(ctx context.Context, cfg *Config, logger *slog.Logger, read accounts.Config, mints []pubkey.Key, top int) error {
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
		read.Endpoints = slices.DeleteFunc(slices.Clone(cfg.RPC.Upstream), s.exclusions.Has)
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
			fmt.Printf("%s: %d accounts at slot %s, %d that were known are closed\n", mint, base.Accounts, baseSlots(base), base.Closed)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d mints were not read", failed, len(mints))
	}
	return nil
}

func baseSlots(base accounts.Base) string {
	if base.FirstSlot == base.Slot {
		return fmt.Sprint(base.Slot)
	}
	return fmt.Sprintf("%d to %d", base.FirstSlot, base.Slot)
}
