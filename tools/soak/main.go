// Command soak runs the whole of Mintlake on the demo chain for a long time and fails at what a
// user would call a fault.
//
// In: bin/mintlake, a duration, transactions a second. Out: a line a minute, a plot as PNG, all
// samples as CSV; on a stall, the engine's queries and what each of its threads waits for.
// Guarantees: the exit code is 1 when a room that has work stood still, when a lag did not return,
// or when memory, descriptors or goroutines grew without levelling off (judge.go has the rules);
// nothing is left running.
//
// It has a module of its own, so that the plotting library does not weigh on Mintlake's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

type options struct {
	mintlake, dataDir, out string
	duration, idle, every  time.Duration
	tps, tokens, maxTokens int
	args                   []string
	rules                  rules
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.StringVar(&o.mintlake, "mintlake", "../../bin/mintlake", "the binary to run")
	flags.StringVar(&o.dataDir, "data-dir", "", "folder for its data; empty: a new one that is removed at the end")
	flags.StringVar(&o.out, "out", "soak", "folder for soak.png, samples.csv and the stacks of stalls")
	flags.DurationVar(&o.duration, "duration", time.Hour, "how long the chain runs")
	flags.DurationVar(&o.idle, "idle", 15*time.Second, "how long requests to an idle broker are measured before")
	flags.DurationVar(&o.every, "every", time.Second, "time between two samples")
	flags.IntVar(&o.tps, "tps", 1500, "transactions a second of the demo chain")
	flags.IntVar(&o.tokens, "tokens", 500, "tokens of the demo chain's genesis")
	// All documents lie on one host, which is asked some ten times a second, and a token more is
	// memory more: without a bound, neither the lag of enrich nor memory would ever level off.
	flags.IntVar(&o.maxTokens, "max-tokens", 10_000, "tokens after which the demo chain creates no more")
	flags.DurationVar(&o.rules.stall, "stall", 10*time.Second, "how long a room that has work may stand still")
	flags.Float64Var(&o.rules.lag, "lag", 0, "records that may wait; 0: what ten seconds of the chain make")
	flags.DurationVar(&o.rules.lagReturns, "lag-returns", 2*time.Minute, "how long more than that may wait")
	flags.DurationVar(&o.rules.warmUp, "warm-up", time.Minute, "time at the beginning that no rule looks at")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.duration <= o.rules.warmUp || o.tps < 1 || o.every <= 0 {
		return o, errors.New("tps must be positive, and duration longer than warm-up")
	}
	if o.rules.lag == 0 {
		o.rules.lag = float64(o.tps) * 10 * recordsPerTransaction
	}
	o.args = flags.Args()
	return o, nil
}

// recordsPerTransaction is about how many records the demo chain's transactions become.
const recordsPerTransaction = 3

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	o, err := parse(os.Args[1:])
	if err == nil {
		err = soak(ctx, &o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, o *options) error {
	if err := os.MkdirAll(o.out, 0o750); err != nil {
		return err
	}
	if o.dataDir == "" {
		dir, err := os.MkdirTemp("", "mintlake-soak-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // what stays only takes disk space
		o.dataDir = dir
	}
	idle, err := measureIdle(ctx, o)
	if err != nil {
		return fmt.Errorf("idle: %w", err)
	}
	fmt.Printf("idle: %s\n", idle)
	n, err := start(ctx, o, fmt.Sprintf("demo:?past=0&tps=%d&tokens=%d&max_tokens=%d", o.tps, o.tokens, o.maxTokens))
	if err != nil {
		return err
	}
	defer n.stop()
	run, err := follow(ctx, o, n)
	if err != nil {
		return err
	}
	n.stop()
	fmt.Printf("loaded: %s\n", &run.requests)
	fmt.Printf("loaded over idle, p99: %s\n", run.requests.over(idle))
	if err := errors.Join(run.writeCSV(filepath.Join(o.out, "samples.csv")), run.plot(filepath.Join(o.out, "soak.png"))); err != nil {
		return err
	}
	fmt.Printf("plot: %s\n", filepath.Join(o.out, "soak.png"))
	return o.rules.judge(run.samples)
}

// measureIdle measures requests to a broker that has nothing else to do.
func measureIdle(ctx context.Context, o *options) (*requests, error) {
	n, err := start(ctx, o, "none")
	if err != nil {
		return nil, err
	}
	defer n.stop()
	var idle requests
	asker, err := newAsker(n.kafka)
	if err != nil {
		return nil, err
	}
	defer asker.close()
	for began := time.Now(); time.Since(began) < o.idle && ctx.Err() == nil; {
		asker.ask(ctx, &idle)
	}
	return &idle, ctx.Err()
}
