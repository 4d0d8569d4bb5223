package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/bootstrap/accounts"
	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/internal/config"
	"github.com/mintlake/mintlake/operate/backup"
	"github.com/mintlake/mintlake/schemas"
)

func bootstrapCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bootstrap",
		Short: "Fill a registry that starts empty",
		Long: `Fill a registry that starts empty: from the snapshot of a Solana validator, from accounts read over RPC, or from token lists. And read all accounts of mints whose holders are to be whole. A snapshot of
another Mintlake is read by mintlake import.

Everything goes to Kafka, so it may run before, beside or after the live tail, and twice. While mintlake up runs with its embedded broker,
name that: --kafka-brokers 127.0.0.1:9092.`,
	}
	cmd.AddCommand(bootstrapValidatorCommand(), bootstrapRPCCommand(), bootstrapTokenlistCommand(), bootstrapHoldersCommand())
	return cmd
}

// configured adds the flags of all settings to a command that has flags and arguments of its own.
// run gets the loaded configuration.
func configured(cmd *cobra.Command, run func(ctx context.Context, cfg *Config, logger *slog.Logger, args []string) error) *cobra.Command {
	config.AddFlags(cmd.Flags(), defaults())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := loadConfig(cmd)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cfg, newLogger(cfg), args)
	}
	return cmd
}

func bootstrapRPCCommand() *cobra.Command {
	var kinds []string
	var read accounts.Config
	var cuts int
	var restart bool
	cmd := configured(&cobra.Command{
		Use:   "rpc",
		Short: "Read every mint and its metadata over RPC (getProgramAccounts)",
		Long: `Read every mint of both token programs and every Metaplex metadata account from the servers of --rpc-upstream.

A server answers shard by shard; what is done is remembered under --data-dir, so that after a kill the same command goes on.`,
		Example: `  mintlake bootstrap rpc --rpc-upstream https://rpc.example
  mintlake bootstrap rpc --rpc-upstream https://mainnet.helius-rpc.com/?api-key=… --paged --rps 5`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		read.Endpoints, read.Cuts, read.Kinds = cfg.RPC.Upstream, &cuts, kinds
		var err error
		if read.StateFile, err = cfg.dataPath(backup.BootstrapFile); err != nil {
			return err
		}
		return bootstrapRPC(ctx, cfg, logger, read, restart)
	})
	cmd.Flags().StringSliceVar(&kinds, "kinds", accounts.AllKinds(), "kinds of accounts to read")
	cmd.Flags().IntVar(&cuts, "cuts", 1, "bytes that cut a kind into shards: 0 one request, 1 256, 2 65,536; one too large for the server is cut further")
	cmd.Flags().BoolVar(&read.Paged, "paged", false, "use getProgramAccountsV2, which some providers have")
	cmd.Flags().IntVar(&read.PageLimit, "page-limit", 10_000, "accounts of a page")
	cmd.Flags().IntVar(&read.Concurrency, "concurrency", 4, "requests in flight")
	cmd.Flags().Float64Var(&read.RequestsPerSecond, "rps", 0, "requests a second; 0 = as fast as the server answers")
	cmd.Flags().BoolVar(&restart, "restart", false, "forget what an earlier run has done")
	return cmd
}

func bootstrapRPC(ctx context.Context, cfg *Config, logger *slog.Logger, read accounts.Config, restart bool) error {
	if restart {
		if err := bootstrap.NewStateFile(read.StateFile).Remove(); err != nil {
			return err
		}
	}
	return withStores(ctx, cfg, logger, onlyLog, func(ctx context.Context, s *system) error {
		if err := s.checkChain(ctx, true); err != nil {
			return err
		}
		var err error
		if read.Log, err = s.admin.ClusterID(ctx); err != nil {
			return err
		}
		read.Endpoints = slices.DeleteFunc(slices.Clone(read.Endpoints), s.exclusions.Has)
		reader, err := accounts.New(read, accounts.Deps{Producer: s.writers.For("bootstrap"), Bounds: s.chainBounds, Logger: logger})
		if err != nil {
			return err
		}
		written, err := accounts.Written(read.StateFile)
		if err != nil {
			return err
		}
		if err := s.checkLog(ctx, read.StateFile, written); err != nil {
			return err
		}
		started := time.Now()
		stop := showBootstrap(reader.Progress, "accounts")
		summary, err := reader.Run(ctx)
		stop()
		if accounts.Complete(err) {
			fmt.Printf("nothing to do: an earlier run wrote %d facts at slots %d to %d; --restart begins anew\n",
				summary.Records, summary.FirstSlot, summary.LastSlot)
			return nil
		}
		if err != nil {
			return interrupted(ctx, err, "the same command goes on where it stopped")
		}
		fmt.Printf("%d accounts read, %d facts written at slots %d to %d, in %s\n", summary.Accounts, summary.Records,
			summary.FirstSlot, summary.LastSlot, time.Since(started).Round(time.Second))
		for why, n := range summary.Skipped {
			fmt.Printf("%d accounts state nothing: %s\n", n, why)
		}
		return nil
	})
}

// checkLog returns an error if the state file claims more records than the log has: then it belongs
// to another log.
func (s *system) checkLog(ctx context.Context, stateFile string, written int64) error {
	if written == 0 {
		return nil
	}
	ends, err := s.admin.EndOffsets(ctx, []string{schemas.TopicEnrichments})
	if err != nil {
		return fmt.Errorf("read the end of the log: %w", err)
	}
	held := int64(0)
	for _, end := range ends {
		held += end
	}
	if held < written {
		return fmt.Errorf("%s says %d records were written, the log of this Kafka holds %d: begin anew with --restart", stateFile, written, held)
	}
	return nil
}

// during runs work. If a component fails meanwhile, the context of work ends, and during returns
// the component's error instead of the one of work.
func (l *lifecycle) during(ctx context.Context, work func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case c := <-l.failed:
			cancel(fmt.Errorf("%s: %w", c.name, c.err))
		case <-ctx.Done():
		}
	}()
	err := work(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// interrupted returns the error of a run. If ctx has ended, the error says instead what to do next.
func interrupted(ctx context.Context, err error, next string) error {
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped: %s", next)
	}
	return err
}

// progressNote joins what a run shows besides its numbers.
func progressNote(p bootstrap.Progress) string {
	return strings.Join(slices.DeleteFunc([]string{p.Note, retriesNote(p.Retries)}, func(s string) bool { return s == "" }), ", ")
}

func retriesNote(retries int64) string {
	if retries == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests made again", retries)
}
