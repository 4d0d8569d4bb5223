package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap/validator"
	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/operate/backup"
)

func bootstrapValidatorCommand() *cobra.Command {
	var read validator.Config
	var restart bool
	cmd := configured(&cobra.Command{
		Use:   "validator-snapshot FILE|URL",
		Short: "Read every mint and its metadata from the snapshot of a Solana validator",
		Long: `Read every mint of both token programs and every Metaplex metadata account from the snapshot that a Solana validator publishes:
snapshot-SLOT-HASH.tar.zst or .tar.lz4, a file, a URL or - for standard input. With --incremental, also from an incremental snapshot over it.

Nothing is written before the whole snapshot is checked: the lattice hash of its accounts and its bank hash. These lie in the same archive, so
they show that it is whole, not who made it: name the bank hash that a second source says with --expect-hash.

With --balances-mode all or list it takes the token accounts of these mints too: their holders are whole from the snapshot's slot on.
Accounts that the node knows and that the snapshot does not have are closed. So if the log has balances already, the node must run, and is named
with --kafka-brokers and --clickhouse-dsn.

Under --data-dir it needs 40 bytes for each account, and about 300 for each mint and for its metadata; a download is kept there until all is
done. After a kill the same command goes on.`,
		Example: `  mintlake bootstrap validator-snapshot snapshot-400000000-HASH.tar.zst --incremental incremental-snapshot-400000000-400020000-HASH.tar.zst
  mintlake bootstrap validator-snapshot http://validator.example:8899/snapshot.tar.bz2 --incremental http://validator.example:8899/incremental-snapshot.tar.bz2`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, args []string) error {
		read.Full = args[0]
		var err error
		if read.Folder, err = cfg.dataPath(backup.ValidatorFolder); err != nil {
			return err
		}
		if restart {
			if err := validator.Forget(read.Folder); err != nil {
				return err
			}
		}
		return bootstrapValidator(ctx, cfg, logger, read)
	})
	cmd.Flags().StringVar(&read.Incremental, "incremental", "", "an incremental snapshot over the full one: a file or a URL")
	cmd.Flags().StringVar(&read.ExpectHash, "expect-hash", "", "the bank hash that a second source says, base58; another one is refused")
	cmd.Flags().BoolVar(&read.SkipHash, "skip-hash", false, "do not hash the accounts: quicker, and a damaged archive may be believed")
	cmd.Flags().BoolVar(&restart, "restart", false, "forget what an earlier run has done")
	return cmd
}

func bootstrapValidator(ctx context.Context, cfg *Config, logger *slog.Logger, read validator.Config) error {
	return withStores(ctx, cfg, logger, onlyLog, func(ctx context.Context, s *system) error {
		var err error
		if read.Log, err = s.admin.ClusterID(ctx); err != nil {
			return err
		}
		deps := validator.Deps{Producer: s.writers.For("bootstrap"), Bounds: s.chainBounds, Logger: logger}
		if deps.Follow, deps.All, err = s.followed(); err != nil {
			return err
		}
		inLog, err := s.hasBalances(ctx)
		if err != nil {
			return err
		}
		needs, err := validator.NeedsTables(read.Folder, inLog)
		if err != nil {
			return err
		}
		if deps.Follow == nil || !needs {
			return s.readValidator(ctx, read, deps)
		}
		return s.withNodeTables(ctx, logger, func(ctx context.Context, tables validator.Tables) error {
			deps.Tables = tables
			return s.readValidator(ctx, read, deps)
		})
	})
}

// readValidator reads a snapshot into the log.
func (s *system) readValidator(ctx context.Context, read validator.Config, deps validator.Deps) error {
	loader, err := validator.New(read, deps)
	if err != nil {
		return err
	}
	written, err := validator.Written(read.Folder)
	if err != nil {
		return err
	}
	if err := s.checkLog(ctx, read.Folder, written); err != nil {
		return err
	}
	started := time.Now()
	stop := showBootstrap(loader.Progress, "accounts")
	summary, err := loader.Run(ctx)
	stop()
	if errors.Is(err, validator.ErrComplete) {
		fmt.Printf("nothing to do: an earlier run wrote %d facts at slot %d; --restart begins anew\n", summary.Records, summary.Slot)
		return nil
	}
	if err != nil {
		return interrupted(ctx, err, "the same command goes on where it stopped")
	}
	tellValidator(&summary, time.Since(started))
	return nil
}

func tellValidator(summary *validator.Summary, took time.Duration) {
	fmt.Printf("%d facts written at slot %d, in %s\n", summary.Records, summary.Slot, took.Round(time.Second))
	fmt.Printf("%d versions of %d accounts read; %d MB were spilled and %d MB staged on disk\n", summary.Versions, summary.Accounts,
		summary.SpillBytes>>20, summary.StagedBytes>>20)
	if summary.Holdings > 0 {
		fmt.Printf("%d balances written\n", summary.Holdings)
	}
	if summary.Closed > 0 {
		fmt.Printf("%d balances of accounts that are gone, or that others own now, were ended\n", summary.Closed)
	}
	for why, n := range summary.Skipped {
		fmt.Printf("%d accounts state nothing: %s\n", n, why)
	}
	switch summary.Check {
	case validator.CheckVerified:
		fmt.Printf("verified: the accounts make the bank hash %s, which a second source says too\n", summary.BankHash)
	case validator.CheckConsistent:
		fmt.Printf("consistent: the accounts make the bank hash %s; whether that is the chain's, only a second source can say (--expect-hash)\n", summary.BankHash)
	case validator.CheckSkipped:
		fmt.Println("skipped: the accounts were not hashed, and the archive is believed as it is")
	}
}
