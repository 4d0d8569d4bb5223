// Command api measures the search index against PostgreSQL with pg_trgm, the embedded
// ClickHouse and Bleve.
//
// In: the token lists, expanded to a registry of any size (see registrytest.Corpus), and the peers
// to compare with. Out: a table of latency and throughput for each class of queries. Guarantees:
// all engines hold the same tokens on the same machine and answer the same question: the best 50
// tokens in the order of DESIGN section 9, and the exact total. Answers that differ from Mintlake's
// are counted and printed. The same seed gives the same tokens and queries.
//
// It is in a module of its own, so that Mintlake does not depend on the peers' libraries.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/mintlake/mintlake/bench/report"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
	"github.com/mintlake/mintlake/internal/testkit/registrytest"
)

func main() {
	chengine.MaybeRunChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-api:", err)
		os.Exit(1)
	}
}

type options struct {
	tokens, queries int
	seed            uint64
	lists, peers    string
	budget          time.Duration
	postgresBin     string
	best            int
	updates         time.Duration
	slowest         int
	profile         string
	report          *report.Report
}

func parse(args []string) (options, error) {
	o := options{report: report.New("bench-api")}
	flags := flag.NewFlagSet("bench-api", flag.ContinueOnError)
	flags.IntVar(&o.tokens, "tokens", 2_000_000, "size of the registry")
	flags.IntVar(&o.queries, "queries", 1000, "distinct queries of each class")
	flags.Uint64Var(&o.seed, "seed", 1, "of the made-up tokens and the queries")
	flags.StringVar(&o.lists, "lists", "../shared/data/tokenlists", "folder of the real token lists")
	flags.StringVar(&o.peers, "peers", "postgres,clickhouse,bleve", "who to compare with; empty: nobody")
	flags.DurationVar(&o.budget, "budget", 20*time.Second, "most time for one class of queries of one peer")
	flags.StringVar(&o.postgresBin, "postgres-bin", "/usr/lib/postgresql/15/bin", "folder of initdb and postgres")
	flags.IntVar(&o.best, "best", 1, "ask each query so often, as if for the first time, and count the best: for a machine that does other work, too")
	flags.DurationVar(&o.updates, "updates", 0, "measure Mintlake for so long while 5,000 tokens change each second")
	flags.IntVar(&o.slowest, "slowest", 0, "tell so many queries of each class that took Mintlake the most processor time")
	flags.StringVar(&o.profile, "cpuprofile", "", "write a profile of Mintlake's searches to this file")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 || o.tokens < 1 || o.queries < 1 || o.best < 1 {
		return o, errors.New("tokens, queries and best must be positive, and there are no arguments but flags")
	}
	return o, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	lists, err := registrytest.ReadLists(o.lists)
	if err != nil {
		return fmt.Errorf("read the token lists: %w", err)
	}
	c := registrytest.NewCorpus(o.seed, lists)
	ours := newMintlake()
	started := time.Now()
	if err := ours.load(ctx, c, o.tokens); err != nil {
		return err
	}
	fmt.Printf("%d tokens\n", o.tokens)
	fmt.Printf("mintlake: loaded in %.1f s, heap %d MiB, resident %d MiB\n\n", time.Since(started).Seconds(), heap(), resident())
	classes := makeQueries(c, &o)
	var want map[string]measured
	err = profiled(o.profile, func() error {
		if o.updates > 0 {
			return ours.measureUpdates(ctx, c, classes, &o)
		}
		want = measureAll(ctx, ours, classes, nil, &o)
		return nil
	})
	if err != nil {
		return err
	}
	if o.updates > 0 {
		return o.report.Write()
	}
	for _, name := range strings.FieldsFunc(o.peers, func(r rune) bool { return r == ',' }) {
		if err := comparePeer(ctx, name, c, classes, want, &o); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return o.report.Write()
}

// profiled calls measure and writes its CPU profile to file, unless file is empty.
func profiled(file string, measure func() error) error {
	if file == "" {
		return measure()
	}
	profile, err := os.Create(file) //nolint:gosec // the user's to name
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(profile); err != nil {
		return errors.Join(err, profile.Close())
	}
	err = measure()
	pprof.StopCPUProfile()
	return errors.Join(err, profile.Close())
}

// engine is a way to search.
type engine interface {
	name() string
	load(ctx context.Context, c *registrytest.Corpus, tokens int) error
	search(ctx context.Context, q *query) (answer, error)
	// notes describe its indexes and settings, for the report.
	notes() []string
	close()
}

// answer has the best 50 tokens, as numbers in the corpus, and how many match in all.
type answer struct {
	ids   []int
	total int
}

func (a answer) equal(b answer) bool {
	return a.total == b.total && fmt.Sprint(a.ids) == fmt.Sprint(b.ids)
}

func comparePeer(ctx context.Context, name string, c *registrytest.Corpus, classes []class, want map[string]measured, o *options) (err error) {
	dir, err := os.MkdirTemp("", "bench-api-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var e engine
	switch name {
	case "postgres":
		e, err = newPostgres(ctx, o.postgresBin, dir)
	case "clickhouse":
		e, err = newClickHouse(ctx, dir)
	case "bleve":
		e = newBleve(dir)
	default:
		err = errors.New("is no peer: postgres, clickhouse or bleve")
	}
	if err != nil {
		return err
	}
	defer e.close()
	started := time.Now()
	if err := e.load(ctx, c, o.tokens); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	fmt.Printf("%s: loaded and indexed in %.1f s\n  %s\n\n", name, time.Since(started).Seconds(), strings.Join(e.notes(), "\n  "))
	measureAll(ctx, e, classes, want, o)
	return nil
}
