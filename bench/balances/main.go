// Command balances measures what is asked of a mint with many holders: the first page, their
// number, and who they were at a slot. PostgreSQL 15 with the obvious indexes is asked the same in
// the same run.
//
// In: -holders, -changes. Out: a report. Both servers run on this machine, one after the other's
// questions.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/mintlake/mintlake/bench/postgres"
	"github.com/mintlake/mintlake/bench/report"
	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

// Slots of the world: the mint is created at created, and changes are spread over span slots.
const (
	created = 400_000_000
	span    = 1_000_000
	middle  = created + span/2
)

type options struct {
	holders, changes, questions int
	postgresBin                 string
}

func main() {
	chengine.MaybeRunChild()
	var o options
	flag.IntVar(&o.holders, "holders", 1_000_000, "holders of the mint")
	flag.IntVar(&o.changes, "changes", 10_000_000, "changes of their balances")
	flag.IntVar(&o.questions, "questions", 200, "questions of each kind; those at a slot are asked a tenth as often")
	flag.StringVar(&o.postgresBin, "postgres-bin", "/usr/lib/postgresql/15/bin", "folder of initdb and postgres")
	flag.Parse()
	if err := run(context.Background(), &o); err != nil {
		slog.Error("bench balances", "err", err)
		os.Exit(1)
	}
}

// asked is one kind of question.
type asked struct {
	name string
	goal time.Duration
	// every is how many questions of the other kinds there are for one of this.
	every int
	ours  func(context.Context) error
	peer  func(context.Context) error
}

func run(ctx context.Context, o *options) error {
	ours, err := startOurs(ctx, o)
	if err != nil {
		return err
	}
	defer ours.close()
	dir, err := os.MkdirTemp("", "bench-balances-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	server, err := postgres.Start(ctx, o.postgresBin, dir)
	if err != nil {
		return err
	}
	defer server.Close()
	peer := &peer{server}
	if err := peer.load(ctx, o); err != nil {
		return err
	}
	figures := report.New("balances")
	figures.Add(report.Figure{Name: "counting the holders", Value: ours.counted.Seconds(), Unit: "s"})
	for _, kind := range []asked{
		{"first page of holders", 150 * time.Millisecond, 1, ours.page, peer.page},
		{"number of holders", 5 * time.Millisecond, 1, ours.count, peer.count},
		{"first page at a slot", time.Second, 10, ours.atSlot, peer.atSlot},
	} {
		took, err := ask(ctx, o.questions/kind.every, kind.ours)
		if err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		// The peer takes seconds: what it takes at best says enough.
		peers, err := ask(ctx, 5, kind.peer)
		if err != nil {
			return fmt.Errorf("%s of PostgreSQL: %w", kind.name, err)
		}
		p99 := took[len(took)*99/100]
		figures.Add(report.Figure{
			Name: kind.name + ", p99", Value: milliseconds(p99), Unit: "ms", Peer: "PostgreSQL, median", PeerValue: milliseconds(peers[len(peers)/2]),
			Goal: "at most " + kind.goal.String(), Met: p99 <= kind.goal, Note: fmt.Sprintf("p50 %.1f ms", milliseconds(took[len(took)/2])),
		})
	}
	return figures.Write()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// ask asks n times, and returns how long each took, sorted.
func ask(ctx context.Context, n int, question func(context.Context) error) ([]time.Duration, error) {
	took := make([]time.Duration, 0, n)
	for range n {
		began := time.Now()
		if err := question(ctx); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took, nil
}
