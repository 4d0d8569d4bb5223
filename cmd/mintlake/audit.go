package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/enrich/audit"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
	"github.com/mintlake/mintlake/solana"
)

// auditRun is one call of `mintlake audit`.
type auditRun struct {
	cfg                   audit.Config
	minAccuracy, minKnown float64
	asJSON                bool
	out                   io.Writer
}

func auditCommand() *cobra.Command {
	var run auditRun
	var cmd *cobra.Command
	cmd = configured(&cobra.Command{
		Use:   "audit",
		Short: "Compare the registry with the chain's accounts and report the accuracy of every field",
		Long: `Read a random sample of the registry's mints from the JSON-RPC server of --rpc-upstream and compare every field with what the registry says as of the
slot of the read. It writes nothing. The exit code is 1 when a field's accuracy is below --min-accuracy; docs/audit.md tells what the columns mean.

While mintlake up runs with its embedded ClickHouse, name that: --clickhouse-dsn http://127.0.0.1:8123.`,
		Example: `  mintlake audit --sample 1000 --rpc-upstream https://rpc --clickhouse-dsn http://127.0.0.1:8123
  mintlake audit --sample 0 --json --min-accuracy 0.999 --rpc-upstream https://rpc`,
		Args: cli.Arguments,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger, _ []string) error {
		run.out = cmd.OutOrStdout()
		return run.run(ctx, cfg, logger)
	})
	flags := cmd.Flags()
	flags.IntVar(&run.cfg.Sample, "sample", 1000, "how many mints; 0 = all of them")
	flags.Uint64Var(&run.cfg.Seed, "seed", 1, "which sample")
	flags.DurationVar(&run.cfg.Wait, "wait", time.Minute, "how long the registry may take to pass the slot of a read; 0 = compare it as it is")
	flags.IntVar(&run.cfg.Rounds, "rounds", 4, "how often a mint that differs or moves is read at most")
	flags.Float64Var(&run.cfg.CallsPerSecond, "calls-per-second", 10, "RPC calls a second, 50 mints each")
	flags.IntVar(&run.cfg.MaxDifferences, "max-differences", 100, "how many differences are listed")
	flags.Float64Var(&run.minAccuracy, "min-accuracy", 0, "lowest accuracy of any field that is no failure, from 0 to 1")
	flags.Float64Var(&run.minKnown, "min-known", 0, "lowest share of what the chain says that the registry must know of any field, from 0 to 1")
	flags.BoolVar(&run.asJSON, "json", false, "print JSON")
	return cmd
}

func (r *auditRun) run(ctx context.Context, cfg *Config, logger *slog.Logger) error {
	if len(cfg.RPC.Upstream) == 0 {
		return errors.New("an audit needs the chain: name a JSON-RPC server with --rpc-upstream")
	}
	if r.minAccuracy < 0 || r.minAccuracy > 1 || r.minKnown < 0 || r.minKnown > 1 {
		return errors.New("--min-accuracy and --min-known are between 0 and 1")
	}
	r.cfg.Commitment = solana.Commitment(cfg.blockCommitment())
	client, err := solana.NewClient(solana.Config{Endpoints: cfg.RPC.Upstream}, solana.Deps{Logger: logger})
	if err != nil {
		return err
	}
	return withStores(ctx, cfg, logger, onlyTables, func(ctx context.Context, s *system) error {
		auditor, err := audit.New(r.cfg, audit.Deps{Registry: audit.NewClickHouse(s.conn, schema.Database), RPC: client, Logger: logger, Meter: progressMeter(ctx)})
		if err != nil {
			return err
		}
		report, err := auditor.Run(ctx)
		if errors.Is(err, audit.ErrBehind) {
			return fmt.Errorf("audit: %w; wait longer with --wait, or compare it as it is with --wait 0", err)
		}
		if err != nil {
			return fmt.Errorf("audit: %w", err)
		}
		return r.print(report)
	})
}

// print writes the report, whether it is good or not.
func (r *auditRun) print(report *audit.Report) error {
	var err error
	if r.asJSON {
		encoder := json.NewEncoder(r.out)
		encoder.SetIndent("", "  ")
		err = encoder.Encode(report)
	} else {
		err = report.WriteText(r.out)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	if report.Sampled == 0 {
		return errors.New("the registry is empty: there is nothing to compare")
	}
	return report.Check(r.minAccuracy, r.minKnown)
}
