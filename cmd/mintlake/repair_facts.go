package main

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/operate/repair"
)

func repairFactsCommand() *cobra.Command {
	var r repair.Facts
	var slots, readFrom, readTo string
	var mints []string
	var yes bool
	cmd := &cobra.Command{
		Use:   "facts",
		Short: "Take back what a source has said falsely, and have the tokens concerned read anew",
		Long: `Take back facts that are not to be believed, such as those that an upstream has told falsely, while "mintlake up" runs. All that is given must
be true of a fact: the upstream that it was read from, its mint, its slot, when it was written.

Without --yes it only tells what it would take back. With it, each mint gets a retraction that names the slots of these facts: what was read of
the mint at those slots does not count any more, in whatever order records come. Then the mint is folded again from all that was said of it, and
a request to read it anew is written. First take the upstream out of rpc.upstream, or it is asked again.

Facts of blocks do not tell their upstream. --events takes those at the slots back too; what only a block tells (who launched a token, when it was
first seen) does not come back for these slots.

Without --kafka-brokers it uses the embedded broker of a running "mintlake up" at --kafka-addr.`,
		Example: `  mintlake repair facts --upstream rpc.example
  mintlake repair facts --upstream rpc.example --read-from 2026-11-27T08:00:00Z --read-to 2026-11-27T09:00:00Z --yes
  mintlake repair facts --mint DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263 --slots 361774000-361775000`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if err := r.Choose(mints, slots, readFrom, readTo); err != nil {
			return fmt.Errorf("repair facts: %w", err)
		}
		r.Out, r.Progress = cmd.OutOrStdout(), progressMeter(ctx)
		return withStores(ctx, cfg, logger, runningLog("repair facts"), func(ctx context.Context, s *system) error {
			return r.Run(ctx, s.eventlog().Topics("repair-facts"), s.writers.For("repair"), yes)
		})
	})
	cmd.Flags().StringSliceVar(&r.Upstreams, "upstream", nil, "only what was read from this upstream, named by its host as in metrics and logs")
	cmd.Flags().StringSliceVar(&mints, "mint", nil, "only what was said of this mint")
	cmd.Flags().StringVar(&slots, "slots", "", "only what was said at these slots: A-B, both included")
	cmd.Flags().StringVar(&readFrom, "read-from", "", "only what was written from this time on, such as 2026-11-27T08:00:00Z")
	cmd.Flags().StringVar(&readTo, "read-to", "", "only what was written up to this time")
	cmd.Flags().BoolVar(&r.Events, "events", false, "take back facts of blocks too")
	cmd.Flags().StringVar(&r.Reason, "reason", "taken back by an operator", "why: it is kept with the retractions")
	cmd.Flags().BoolVar(&yes, "yes", false, "take the facts back; without it they are only listed")
	return cmd
}
