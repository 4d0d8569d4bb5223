// Command memory measures an API node over a registry of millions of tokens: how soon it is ready,
// how much memory it takes, and how fast it answers with and without live updates.
//
// In: the mintlake binary, the real token lists, the numbers of tokens. Out: a table. Guarantees:
// the node is `mintlake api` itself, a process of its own, with the embedded ClickHouse and Kafka
// beside it; the tokens are registrytest.Corpus's, the same in every run; everything is in a
// temporary folder, which is removed.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/mintlake/mintlake/bench/report"
	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
)

type options struct {
	binary, lists, folder string
	sizes                 []int
	rate                  int
	phase                 time.Duration
	report                *report.Report
}

func main() {
	chengine.MaybeRunChild()
	var o options
	pflag.StringVar(&o.binary, "mintlake", "bin/mintlake", "the binary to measure")
	pflag.StringVar(&o.lists, "lists", "../shared/data/tokenlists", "folder of the real token lists")
	pflag.StringVar(&o.folder, "folder", "", "where to put data; empty: a temporary folder")
	pflag.IntSliceVar(&o.sizes, "tokens", []int{2_000_000, 5_000_000}, "numbers of tokens, ascending")
	pflag.IntVar(&o.rate, "rate", 5_000, "live updates a second")
	pflag.DurationVar(&o.phase, "phase", 20*time.Second, "how long each rate of updates is measured")
	seed := pflag.Uint64("seed", 0, "of the client's questions; for the program itself")
	asked := pflag.String("ask", "", "be the client of a node of that URL; for the program itself")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *asked == "" {
		o.report = report.New("bench-memory")
		if err = run(ctx, &o); err == nil {
			err = o.report.Write()
		}
	} else {
		c := client{*asked, o.sizes[0], *seed}
		err = c.run(&o)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-memory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) (err error) {
	listed, err := registrytest.ReadLists(o.lists)
	if err != nil {
		return err
	}
	if o.folder, err = os.MkdirTemp(o.folder, "mintlake-bench-memory-"); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(o.folder)) }()
	ctx, stop := context.WithCancel(ctx)
	b, err := startBackends(ctx, o.folder)
	if err != nil {
		stop()
		return err
	}
	defer b.wait()
	defer stop()
	corpus := registrytest.NewCorpus(1, listed)
	loaded := 0
	for _, size := range o.sizes {
		begin := time.Now()
		if err := b.load(ctx, corpus, loaded, size); err != nil {
			return err
		}
		written := time.Since(begin)
		if err := b.settle(ctx); err != nil {
			return err
		}
		fmt.Printf("\n%d tokens (those added took %.0f s to write to ClickHouse, and %.0f s to merge)\n",
			size, written.Seconds(), (time.Since(begin) - written).Seconds())
		loaded = size
		if err := measure(ctx, o, b, corpus, size); err != nil {
			return err
		}
	}
	return nil
}

// backends are the engines that the node needs.
type backends struct {
	engine *chengine.Engine
	broker *kafkabroker.Broker
	slot   uint64 // of the last updates
	ended  []chan struct{}
}

func (b *backends) wait() {
	for _, ended := range b.ended {
		<-ended
	}
}

func startBackends(ctx context.Context, folder string) (*backends, error) {
	b := &backends{}
	logger := slog.New(slog.DiscardHandler)
	var err error
	b.engine, err = chengine.New(chengine.Config{
		DataDir: filepath.Join(folder, "clickhouse"), Addr: "127.0.0.1:0", NoSync: true,
	}, chengine.Deps{Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("start ClickHouse: %w", err)
	}
	b.broker, err = kafkabroker.New(kafkabroker.Config{DataDir: filepath.Join(folder, "kafka"), Addr: "127.0.0.1:0"}, kafkabroker.Deps{Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("start Kafka: %w", err)
	}
	for _, runner := range []func(context.Context) error{b.engine.Run, b.broker.Run} {
		ended := make(chan struct{})
		b.ended = append(b.ended, ended)
		go func() {
			defer close(ended)
			if err := runner(ctx); err != nil {
				fmt.Fprintln(os.Stderr, "bench-memory:", err)
			}
		}()
	}
	for _, ready := range []<-chan struct{}{b.engine.Ready(), b.broker.Ready()} {
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, ctx.Err() // interrupted
		}
	}
	return b, b.prepare(ctx)
}
