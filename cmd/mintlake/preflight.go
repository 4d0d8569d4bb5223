package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/operate/preflight"
)

// preflightCommand ends with exit code 1 for preflight.ErrLess, and with 2 for all other errors.
func preflightCommand() *cobra.Command {
	var asJSON bool
	var ask preflight.Config
	cmd := &cobra.Command{
		Use:   "preflight",
		Short: "Ask a source and JSON-RPC upstreams what they offer, and tell what a day with them costs",
		Long: `Ask the endpoints of --source (geyser+ or rpc+), --rpc-upstream and --rpc-upstream-ws what they offer, before "up" relies on them: blocks filtered by accounts,
from_slot, accounts, versions of transactions, getBlock and how far back, getMultipleAccounts, getProgramAccounts and its pages, WebSockets, rates. Latencies are
medians.

Then ingest runs dry for some time: it reads the source as "up" does, into a broker of its own in a temporary folder. From that come calls, bytes and disk of a day.
The stream is paid for like any other, and an upstream is asked for some seconds at the rate that it will be asked at.

The exit code is 0 when all of it works, 1 when Mintlake works with less, 2 when it does not work, or that could not be told.`,
		Example: `  MINTLAKE_GEYSER_TOKEN=… mintlake preflight --source geyser+https://provider:443 --rpc-upstream https://rpc
  mintlake preflight --source rpc+https://rpc --for 0s --json`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return askEndpoints(ctx, cfg, logger, ask, cmd.OutOrStdout(), asJSON)
	})
	cmd.Flags().DurationVar(&ask.For, "for", time.Minute, "how long ingest runs dry, up to 10m; 0s leaves it out, and with it what a day costs")
	cmd.Flags().DurationVar(&ask.Wait, "wait", 10*time.Second, "how long to wait for one answer")
	cmd.Flags().Int64Var(&ask.Tokens, "tokens", 2_000_000, "tokens of a bootstrap whose documents are to be read")
	cmd.Flags().Float64Var(&ask.HostRate, "document-rate", 10, "documents a second that the host with most of them is assumed to bear")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	inner := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := inner(cmd, args)
		if err != nil && !errors.Is(err, preflight.ErrLess) {
			return &codedError{err, 2}
		}
		return err
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return &codedError{nearFlag(cmd, err), 2} })
	return cmd
}

func askEndpoints(ctx context.Context, cfg *Config, logger *slog.Logger, ask preflight.Config, out io.Writer, asJSON bool) error {
	if len(cfg.Source) != 1 {
		return fmt.Errorf("preflight: %d sources are named: name one, geyser+https://host:port or rpc+https://host", len(cfg.Source))
	}
	var err error
	if ask.Source, err = source.ParseSpec(cfg.Source[0]); err != nil {
		return err
	}
	ask.Token, ask.Commitment = cfg.Geyser.Token, cfg.commitmentOf(ask.Source)
	ask.AllTransactions, ask.AccountUpdates = cfg.allTransactions(), cfg.Geyser.Accounts
	ask.Upstreams, ask.UpstreamsWS = cfg.RPC.Upstream, cfg.RPC.UpstreamWS
	ask.Swap = slices.Contains(cfg.Rooms, roomSwap)
	ask.Gateway = slices.Contains(cfg.Rooms, roomGateway)
	if cfg.Enrich.Rereads {
		ask.RereadCalls = cfg.Enrich.RereadCalls
	}
	ask.RereadQuiet, ask.RereadMaxWait = cfg.Enrich.RereadQuiet, cfg.Enrich.RereadMaxWait
	ask.Documents, ask.MissingPerMinute, ask.Compression = cfg.Enrich.Offchain, cfg.Enrich.MissingPerMinute, cfg.Kafka.Compression
	if cfg.Log.Level != "debug" {
		logger = nil // the report says what went wrong
	}
	report, err := preflight.Run(ctx, ask, logger)
	if err != nil {
		return err
	}
	show := preflight.Print
	if asJSON {
		show = preflight.PrintJSON
	}
	if err := show(out, report); err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return report.Err()
}

// costsOfNoUpstream is told when a Geyser source has no JSON-RPC upstream.
const costsOfNoUpstream = "no rpc.upstream is named: " + preflight.WithoutUpstream

// lacksUpstream reports whether a Geyser source has no JSON-RPC upstream.
func (c *Config) lacksUpstream() bool {
	if len(c.RPC.Upstream) > 0 || len(c.Source) != 1 {
		return false
	}
	spec, err := source.ParseSpec(c.Source[0])
	return err == nil && spec.Kind == source.KindGeyser
}
