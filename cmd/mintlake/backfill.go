package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/ingest/balances"
	"github.com/mintlake/mintlake/ingest/ledger"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/solana"
)

// backfillOptions are the flags of `mintlake backfill`.
type backfillOptions struct {
	from, to    uint64
	gaps        bool
	parallel    int
	commitment  string
	showMetrics bool
}

// what describes the slots of the backfill for messages.
func (o *backfillOptions) what() string {
	if o.gaps {
		return "of the gaps"
	}
	return fmt.Sprintf("between %d and %d", o.from, o.to)
}

func backfillCommand() *cobra.Command {
	var o backfillOptions
	cmd := &cobra.Command{
		Use:   "backfill",
		Short: "Read a range of slots of the past by getBlock, beside whatever else runs",
		Long: `Read a range of slots of the past by getBlock into the same Kafka that ingest writes to, beside the live stream.

What the slot ledger holds already is not read again, so the same command goes on where it was stopped, and fills only gaps where the live
stream has been. Balances and transfers are kept as ingest does, see --balances-mode. Every slot is read, proved to have no block by the parent link of a later block, or told at the end with exit code 1. Without --kafka-brokers it writes to the embedded broker of a running "mintlake up" at --kafka-addr. Blocks come from
--rpc-upstream.`,
		Example: `  mintlake backfill --from 361774000 --to 361775000 --rpc-upstream https://rpc
  mintlake backfill --gaps --rpc-upstream https://rpc`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		// Metrics are served only on request: an `up` on the same machine already has their default
		// address.
		o.showMetrics = cmd.Flags().Changed("metrics-addr")
		return backfill(ctx, cfg, logger, o)
	})
	cmd.Flags().Uint64Var(&o.from, "from", 0, "first slot")
	cmd.Flags().Uint64Var(&o.to, "to", 0, "last slot; one that is still to come is waited for")
	cmd.Flags().BoolVar(&o.gaps, "gaps", false, "instead of a range: every gap between the first and the last slot of the ledger")
	cmd.Flags().IntVar(&o.parallel, "parallel", 8, "blocks fetched at a time")
	cmd.Flags().StringVar(&o.commitment, "commitment", string(solana.Finalized), "finalized or confirmed")
	cmd.MarkFlagsRequiredTogether("from", "to")
	cmd.MarkFlagsOneRequired("from", "gaps")
	cmd.MarkFlagsMutuallyExclusive("from", "gaps")
	return cmd
}

// kafkaPatience is how long a command waits for Kafka to answer before it fails.
const kafkaPatience = 10 * time.Second

func backfill(ctx context.Context, cfg *Config, logger *slog.Logger, o backfillOptions) (err error) {
	switch {
	case o.from > o.to:
		return fmt.Errorf("backfill: --from %d is behind --to %d", o.from, o.to)
	case len(cfg.RPC.Upstream) == 0:
		return errors.New("backfill: --rpc-upstream names no JSON-RPC server to read blocks from")
	case o.parallel < 1:
		return fmt.Errorf("backfill: --parallel is %d, must be at least 1", o.parallel)
	}
	s := newSystem(cfg, logger)
	defer func() {
		if stopErr := s.stop(); err == nil {
			err = stopErr
		}
	}()
	s.backends = &backends{brokers: cfg.Kafka.Brokers}
	if len(s.backends.brokers) == 0 {
		s.backends.brokers = []string{cfg.Kafka.Addr}
	}
	if err := s.connect(); err != nil {
		return err
	}
	room, err := s.backfillRoom(o)
	if err != nil {
		return err
	}
	if err := s.reachKafka(ctx); err != nil {
		return err
	}
	s.tellUnknowns()
	if err := s.checkChain(ctx, true); err != nil {
		return err
	}
	if o.showMetrics {
		if err := s.startMetrics(ctx); err != nil {
			return err
		}
		s.readiness.setState("")
	}
	return runBackfill(ctx, room, o)
}

// backfillRoom makes an ingest room for the backfill. Unlike the live one, it does not read which
// mints the log has introduced already, and sights every mint anew: a mint that the live stream saw
// first must have its earlier position too.
func (s *system) backfillRoom(o backfillOptions) (*runner.Runner, error) {
	blocks, err := s.backfillSource(o)
	if err != nil {
		return nil, err
	}
	return runner.New(runner.Config{Sources: []source.Source{blocks}, Beside: true, CheckLinks: s.cfg.CheckLinks}, runner.Deps{
		Producer: s.writers.For("ingest"), Ledger: s.eventlog().Slots(),
		Logger: s.logger, Registerer: s.registerer, Unknowns: s.unknowns, Bounds: s.chainBounds,
		BalancesAs: func(extent uint64, slots *ledger.Ledger) (*balances.Maker, error) {
			maker, err := s.balancesAs(extent)
			if err == nil && maker != nil && !o.gaps {
				err = reachesTip(slots, o.to)
			}
			return maker, err
		},
	})
}

// reachesTip returns an error if slots behind the last one of a range are missing. An account that
// was open in the range and was closed in those slots would be open for ever: a read of all
// accounts, as by bootstrap holders, has closed those that were known then, and not this one.
func reachesTip(slots *ledger.Ledger, last uint64) error {
	missing := slots.Missing(last+1, slots.Coverage().ToSlot)
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("backfill: slots %d to %d behind the range are missing, so accounts that were closed there would come back as holders: "+
		"fill them in the same run (a later --to, or --gaps), or keep no balances of the range with --balances-mode off", missing[0].FromSlot, missing[0].ToSlot)
}

// balancesAs returns what makes records of balances for a backfill; nil when they are off. They
// must be of the same mints as those of the live slots, whose extent is given: otherwise the filled
// slots make every older mint incomplete. With mode auto the extent decides, because the source of
// this command, unlike ingest's, may be none beside a demo chain.
func (s *system) balancesAs(extent uint64) (*balances.Maker, error) {
	all := balances.New(nil)
	auto := s.cfg.Balances.Mode == balances.ModeAuto
	switch {
	case auto && extent == all.Extent():
		return all, nil
	case auto && extent != 0:
		return nil, errors.New("backfill: the slots of the log have balances of the mints of a list: name it with --balances-mode list --balances-mints FILE, as for ingest")
	}
	maker, err := s.balances()
	if err == nil && extent != 0 && (maker == nil || maker.Extent() != extent) {
		s.logger.Warn("the balances of the slots that are read now are of other mints than those of ingest: older mints will be incomplete", "balances_mode", s.cfg.Balances.Mode)
	}
	return maker, err
}

func (s *system) backfillSource(o backfillOptions) (source.Source, error) {
	cfg := rpc.Config{Commitment: solana.Commitment(o.commitment), Parallel: o.parallel, Reader: s.reader()}
	deps := rpc.Deps{Client: s.rpc, Bounds: s.chainBounds, Logger: s.logger, Registerer: s.registerer}
	if o.gaps {
		return rpc.NewGaps(cfg, deps)
	}
	cfg.From, cfg.To = &o.from, &o.to
	return rpc.NewBackfill(cfg, deps)
}

func (s *system) reachKafka(ctx context.Context) error {
	soon, stop := context.WithTimeout(ctx, kafkaPatience)
	defer stop()
	if err := s.admin.Ping(soon); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("backfill: no Kafka answers at %v: start `mintlake up`, or name the brokers with --kafka-brokers", s.backends.brokers)
	}
	return ensureTopics(ctx, s.cfg, s.admin)
}

// runBackfill runs the room and shows its progress. Blocks that the source refused are an error at
// the end.
func runBackfill(ctx context.Context, room *runner.Runner, o backfillOptions) error {
	showing, stop := context.WithCancel(ctx)
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		var pace estimate
		tellProgress(showing, func(now time.Time) string { return pace.line(room.Progress(), now) })
	}()
	began := time.Now()
	err := room.Run(ctx)
	stop()
	<-shown
	p := room.Progress()
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "backfill: %d blocks, %d transactions, %d events in %s\n", p.Blocks, p.Transactions, p.Events, time.Since(began).Round(100*time.Millisecond))
	switch {
	case !p.Done:
		fmt.Fprintln(os.Stderr, "backfill: stopped; the same command goes on from here")
	case room.CheckVersions() != nil:
		return fmt.Errorf("backfill: %d blocks %s could not be read whole: %w", p.Refused, o.what(), room.CheckVersions())
	case p.Refused > 0:
		return fmt.Errorf("backfill: %d blocks or runs of slots %s could not be had, nor proved to have no block (the log and /status name them): "+
			"run it again, with another --rpc-upstream where they are too old for this one", p.Refused, o.what())
	}
	return nil
}

// estimate computes the rate and the time left of a backfill, from the slots read since its first
// call with a known total.
type estimate struct {
	began time.Time
	from  uint64
}

func (e *estimate) line(p runner.Progress, now time.Time) string {
	if p.Total == 0 {
		return "backfill: reading the slot ledger"
	}
	if e.began.IsZero() {
		e.began, e.from = now, p.Read
	}
	line := fmt.Sprintf("backfill: %d of %d slots (%d %%), slot %d, %d blocks, %d transactions", p.Read, p.Total, p.Read*100/p.Total, p.Slot, p.Blocks, p.Transactions)
	if seconds := now.Sub(e.began).Seconds(); seconds > 0 && p.Read > e.from {
		rate := float64(p.Read-e.from) / seconds
		left := time.Duration(float64(p.Total-p.Read) / rate * float64(time.Second))
		line += fmt.Sprintf(", %.1f slots/s, %s left", rate, left.Round(time.Second))
	}
	if p.Refused > 0 {
		line += fmt.Sprintf(", %d blocks refused", p.Refused)
	}
	return line
}
