// Package documents asks for the off-chain documents of tokens that a bootstrap read from accounts.
// A document is asked for when a transaction sets its URI; for these tokens no transaction was
// seen.
//
// In: the registry's rows; the answers on registry.enrichments.v1. Out: enrichment requests: for
// each host as many at a time as it answers within some seconds. Guarantees: a host that is slow
// keeps no other host waiting; never more requests a minute than configured; enrichment takes other
// requests before these; tokens that are used come first at each host; after a kill some tokens are
// asked for twice, which does no harm.
package documents

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// restShort is the pause after a walk that found nothing to ask for, and after an error.
const restShort = 5 * time.Minute

// Config is how fast and how often an Asker asks.
type Config struct {
	// PerMinute is the most requests a minute, of all hosts together. Required.
	PerMinute int
	// StateFile keeps how far the walk has come. Required.
	StateFile string
	// page bounds the tokens of one host in one read of the table, pages the tokens of all hosts in
	// it. Each read scans the whole table. Defaults 10,000 and 100,000.
	page, pages int
	// rest is the time between the end of a walk and the next one, which asks again for documents
	// that did not come. Default 12 hours.
	rest time.Duration
}

func (c Config) withDefaults() Config {
	c.page, c.pages = cmp.Or(max(c.page, 0), 10_000), cmp.Or(max(c.pages, 0), 100_000)
	c.rest = cmp.Or(max(c.rest, 0), 12*time.Hour)
	return c
}

// classes is how many classes of tokens there are.
const classes = 3

// Cursor is a place in the walk over the tokens of one host: by class, then by mint. It stands in
// the state file and in SQL, so the mint is in base58. The mint is empty before the first token.
type Cursor struct {
	Class uint8  `json:"class"`
	Mint  string `json:"mint"`
}

// Wanted is a token with a URI and no document.
type Wanted struct {
	// Host is one of the hosts that were asked for.
	Host string
	// Class is 0 for tokens with a known volume, 1 for other tokens that were seen in transactions,
	// 2 for the rest.
	Class uint8
	Mint  pubkey.Key
	URI   string
	// Slot is a slot at which the token had this URI.
	Slot uint64
}

// Count is how many tokens of a host have a URI and no document. Host is empty for the hosts with
// few tokens together.
type Count struct {
	Host   string
	Tokens int64
}

// Place is where the walk over one host's tokens is.
type Place struct {
	Host  string
	After Cursor
}

// Source lists tokens that have a URI and no document.
type Source interface {
	// Count counts these tokens by host: the hosts with the most tokens, at most some thousand, and
	// all other hosts as one. A host without such tokens may be left out.
	Count(ctx context.Context) ([]Count, error)
	// Wanted lists, for each place, the tokens of its host and class that come after its mint, in
	// the order of their mints: at most limit of one host and total of all hosts. hosts are all
	// hosts that are walked on their own. The tokens of all other hosts are those of the host "".
	Wanted(ctx context.Context, hosts []string, places []Place, limit, total int) ([]Wanted, error)
}

// Deps are the collaborators. Registerer may be nil.
type Deps struct {
	Source   Source
	Producer kafka.RecordProducer
	// Waiting returns how many requests wait for enrichment.
	Waiting func(ctx context.Context) (int64, error)
	// OpenTail reads schemas.TopicEnrichments from its end on.
	OpenTail   func(ctx context.Context) (kafka.TailReader, error)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Asker asks for the missing documents of a registry.
type Asker struct {
	config  Config
	deps    Deps
	state   *bootstrap.StateFile
	metrics *metrics

	mu   sync.Mutex // guards walk
	walk walk

	// recorded is when progress was last written to the log, recordedLeft whether tokens were left
	// then.
	recorded     time.Time
	recordedLeft bool
}

// New makes an Asker that does nothing until Run.
func New(config Config, deps Deps) (*Asker, error) {
	if config.PerMinute <= 0 || config.StateFile == "" {
		return nil, errors.New("documents: a rate and a state file are required")
	}
	if deps.Source == nil || deps.Producer == nil || deps.Waiting == nil || deps.OpenTail == nil || deps.Logger == nil {
		return nil, errors.New("documents: source, producer, waiting, tail and logger are required")
	}
	a := &Asker{config: config.withDefaults(), deps: deps, state: bootstrap.NewStateFile(config.StateFile)}
	a.walk = newWalk(a.config)
	var err error
	a.metrics, err = newMetrics(deps.Registerer)
	return a, err
}

// saved is the content of the state file.
type saved struct {
	Hosts map[string]Cursor `json:"hosts"`
}

// Run asks until ctx ends. Errors are logged, and it goes on after restShort.
func (a *Asker) Run(ctx context.Context) error {
	var before saved
	if _, err := a.state.Load(&before); err != nil {
		before = saved{} // Load may have filled a part of it
		a.deps.Logger.Warn("the walk over documents begins anew", "err", err)
	}
	a.walk.resume(before.Hosts)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { a.follow(ctx); return nil })
	group.Go(func() error { a.scan(ctx); return nil })
	group.Go(func() error { a.askAll(ctx); return nil })
	return group.Wait()
}

const (
	// scanPause is the pause between two reads of the table. It is longer if a read takes long: at
	// least five times as long as the read.
	scanPause = 5 * time.Second
	// recount is how often the tokens of each host are counted.
	recount = 10 * time.Minute
)

// scan counts the tokens without a document and reads them, until ctx ends. When a walk is done, it
// begins the next one.
func (a *Asker) scan(ctx context.Context) {
	var counted time.Time
	for ctx.Err() == nil {
		began, wait := time.Now(), scanPause
		if counted.IsZero() || began.Sub(counted) >= recount {
			counts, err := a.deps.Source.Count(ctx)
			if err != nil {
				a.failed(ctx, err)
				continue
			}
			counted = time.Now()
			a.locked(func(w *walk) { w.count(counts) })
		}
		found, done, err := a.read(ctx)
		switch {
		case err != nil:
			a.failed(ctx, err)
			continue
		case done:
			wait = restShort
			a.locked(func(w *walk) {
				if w.asked > 0 {
					wait = a.config.rest
				}
				w.begin()
			})
			counted = time.Time{}
		case !found:
			wait = 0 // the next read is of another class
		}
		_ = pause.For(ctx, max(wait, 5*time.Since(began))) // the loop ends with ctx
	}
}

// read reads tokens of the hosts that have few tokens queued. found is false if it read the table
// and got none; done is true if no host has tokens left to read or to ask for.
func (a *Asker) read(ctx context.Context) (found, done bool, err error) {
	var hosts []string
	var places []Place
	a.locked(func(w *walk) { hosts, places, done = w.toRead() })
	if done || len(places) == 0 {
		return true, done, nil
	}
	wanted, err := a.deps.Source.Wanted(ctx, hosts, places, a.config.page, a.config.pages)
	if err != nil {
		return false, false, err
	}
	a.locked(func(w *walk) { w.add(places, wanted) })
	return len(wanted) > 0, false, nil
}

// failed logs an error and rests.
func (a *Asker) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	a.deps.Logger.Warn("the walk over missing documents rests", "err", err)
	_ = pause.For(ctx, restShort)
}

func (a *Asker) locked(use func(*walk)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	use(&a.walk)
}

// save writes how far the walk is to the state file. A failure is logged: some tokens are then
// asked for twice.
func (a *Asker) save() {
	var state saved
	a.locked(func(w *walk) { state.Hosts = w.cursors() })
	if err := a.state.Save(state); err != nil {
		a.deps.Logger.Warn("the place of the walk over documents is not kept", "err", err)
	}
}
