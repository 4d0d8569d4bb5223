// Package accounts fills a registry from the accounts of the token programs, read over JSON-RPC.
//
// In: getProgramAccounts of a Solana node, cut into shards by the first bytes of a field, or
// getProgramAccountsV2 where a provider has it.
// Out: one enrichment a mint and a metadata account, at the slot of the answer that held it.
// Guarantees: an answer is read as it arrives; however long it is, it takes the memory of one
// account. A shard is done when its facts are acknowledged. After a kill, a run goes on with the
// shards (or pages) that were not done. Every account of the program is in exactly one shard.
// Requests that fail are made again; a shard that is too large for the server is cut further.
package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
)

// firstByteTimeout is how long a server may scan before it answers.
const firstByteTimeout = 10 * time.Minute

// Config is what to read and at what rate. Zero values take the defaults named at each field.
type Config struct {
	// Endpoints are http(s) URLs of JSON-RPC servers that serve getProgramAccounts of the token
	// programs; at least one.
	Endpoints []string
	// Kinds names the kinds of accounts to read; default all.
	Kinds []string
	// Cuts is how many bytes of a field cut a kind into shards at the start: 0 makes one shard, 1
	// (the default) 256, 2 65,536. Unused with Paged.
	Cuts *int
	// Paged asks for pages with getProgramAccountsV2.
	Paged bool
	// PageLimit is how many accounts a page has at most. The default, 10,000, is also the maximum.
	PageLimit int
	// Concurrency is how many requests are in flight at once. Default 4.
	Concurrency int
	// RequestsPerSecond bounds the requests' rate; 0 = unbounded.
	RequestsPerSecond float64
	// attempts is how often one request is tried before the run gives up. Default 8. A request
	// whose answer seems too large is tried largeAttempts times at most; then its shard is cut.
	attempts int
	// firstPause is the pause before the second try. It doubles with each further try, up to 30 s.
	// Default 500 ms.
	firstPause time.Duration
	// idleTimeout is how long a server may be silent inside an answer. Default 1 min.
	idleTimeout time.Duration
	// StateFile is where progress is kept; its folder must exist.
	StateFile string
	// Log names the log that is written to, by the cluster id of its Kafka. Progress in another log
	// is refused.
	Log string
}

func (c Config) withDefaults() Config {
	c.PageLimit = cmp.Or(max(c.PageLimit, 0), 10_000)
	c.Concurrency = cmp.Or(max(c.Concurrency, 0), 4)
	c.attempts = cmp.Or(max(c.attempts, 0), 8)
	c.firstPause = cmp.Or(max(c.firstPause, 0), 500*time.Millisecond)
	c.idleTimeout = cmp.Or(max(c.idleTimeout, 0), time.Minute)
	if len(c.Kinds) == 0 {
		c.Kinds = AllKinds()
	}
	if c.Cuts == nil {
		one := 1
		c.Cuts = &one
	}
	return c
}

// cutsOf returns Cuts for a kind. Pages need no shards, and neither do the few mints without
// extensions.
func (c *Config) cutsOf(kind string) int {
	if c.Paged || kind == KindToken2022Plain {
		return 0
	}
	return *c.Cuts
}

func (c *Config) validate() error {
	var problems []error
	problems = append(problems, checkEndpoints(c.Endpoints))
	for _, name := range c.Kinds {
		_, err := kindOf(name)
		problems = append(problems, err)
	}
	if *c.Cuts < 0 || *c.Cuts > 2 {
		problems = append(problems, fmt.Errorf("cuts: %d: must be 0, 1 or 2", *c.Cuts))
	}
	problems = append(problems, checkPageLimit(c.PageLimit))
	if c.StateFile == "" {
		problems = append(problems, errors.New("state file: must name a file"))
	}
	return errors.Join(problems...)
}

func checkPageLimit(limit int) error {
	if limit > 10_000 {
		return fmt.Errorf("page limit: %d: must be at most 10000", limit)
	}
	return nil
}

// Deps are a reader's collaborators.
type Deps struct {
	Producer kafka.RecordProducer
	// Bounds says which slots a server can have reached; nil checks them against the clock alone.
	Bounds *bounds.Bounds
	Logger *slog.Logger
}

// Summary is what a run has done, with the earlier runs that it continues.
type Summary struct {
	// Accounts counts the accounts read and Records the records written, in earlier runs too. An
	// account that was read again after a kill counts once.
	Accounts int64
	Records  int64
	// FirstSlot and LastSlot bound the slots of the answers.
	FirstSlot uint64
	LastSlot  uint64
	// Skipped counts accounts of this run that state no fact, by reason.
	Skipped map[string]int64
}

// Reader reads the accounts of one bootstrap over RPC.
type Reader struct {
	repeater
	deps   Deps
	client *client
	plan   atomic.Pointer[plan]

	items   atomic.Int64
	records atomic.Int64
	note    atomic.Value

	mu      sync.Mutex
	skipped map[string]int64
}

// New checks the configuration; it does no I/O.
func New(cfg Config, deps Deps) (*Reader, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("bootstrap: %w", err)
	}
	if deps.Producer == nil || deps.Logger == nil {
		return nil, errors.New("bootstrap: producer and logger are required")
	}
	return &Reader{repeater: repeater{cfg: cfg, logger: deps.Logger}, deps: deps, client: newClient(cfg), skipped: map[string]int64{}}, nil
}

// Run reads all that the progress file does not list as done. After an error the next run goes on
// from there.
func (r *Reader) Run(ctx context.Context) (Summary, error) {
	plan, err := loadPlan(r.cfg, bootstrap.NewStateFile(r.cfg.StateFile))
	if err != nil {
		return Summary{}, fmt.Errorf("bootstrap: %w", err)
	}
	r.plan.Store(plan)
	if done, total, _ := plan.counts(); done == total {
		return r.summary(), fmt.Errorf("bootstrap: %w", errComplete)
	}
	group, ctx := errgroup.WithContext(ctx)
	for worker := range r.cfg.Concurrency {
		group.Go(func() error { return r.work(ctx, plan, worker) })
	}
	if err := errors.Join(group.Wait(), plan.save()); err != nil {
		return r.summary(), fmt.Errorf("bootstrap: %w", err)
	}
	return r.summary(), nil
}

// Complete reports whether err is the error of Run that says that an earlier run has read
// everything.
func Complete(err error) bool { return errors.Is(err, errComplete) }

// Progress returns how far the run is. It may be called at any time.
func (r *Reader) Progress() bootstrap.Progress {
	p := bootstrap.Progress{Items: r.items.Load(), Records: r.records.Load(), Retries: r.retries.Load()}
	p.Note, _ = r.note.Load().(string)
	if plan := r.plan.Load(); plan != nil {
		p.Done, p.Total, _ = plan.counts()
	}
	if r.cfg.Paged {
		p.Done, p.Total = 0, 0 // a page does not say how many follow
	}
	return p
}

func (r *Reader) summary() Summary {
	_, _, state := r.plan.Load().counts()
	r.mu.Lock()
	defer r.mu.Unlock()
	return Summary{Accounts: state.Accounts, Records: state.Records, FirstSlot: state.FirstSlot, LastSlot: state.LastSlot, Skipped: r.skipped}
}

// lookAgain is how long a worker without a shard waits: another worker may cut its shard meanwhile.
const lookAgain = 50 * time.Millisecond

// work reads shards until all are done. A worker without a shard waits for the others, as a shard
// that is being read may still be cut.
func (r *Reader) work(ctx context.Context, plan *plan, worker int) error {
	for {
		s, more := plan.next()
		if !more {
			return nil
		}
		if s == nil {
			if err := pause.For(ctx, lookAgain); err != nil {
				return err
			}
			continue
		}
		r.note.Store(s.String())
		if err := r.readShard(ctx, plan, s, worker); err != nil {
			return fmt.Errorf("read %s: %w", s, err)
		}
	}
}

// readShard reads a shard, page by page if Paged, and makes its facts durable. A shard that is too
// large for the server is cut instead, unless Paged.
func (r *Reader) readShard(ctx context.Context, plan *plan, s *shard, worker int) error {
	k, err := kindOf(s.Kind)
	if err != nil {
		return err
	}
	path, err := s.path()
	if err != nil {
		return err
	}
	for {
		req := &request{kind: k, path: path, paged: r.cfg.Paged, limit: r.cfg.PageLimit, cursor: s.Cursor}
		step, err := r.persist(ctx, req, worker)
		if tooLarge(err) && !r.cfg.Paged {
			if plan.cut(s) {
				return nil
			}
			return fmt.Errorf("%w: the server refuses it however it is cut; a provider with getProgramAccountsV2 serves it with --paged", err)
		}
		if err != nil {
			return err
		}
		if r.cfg.Paged && step.page.cursor != "" && step.page.cursor == s.Cursor {
			return fmt.Errorf("%w: the page's paginationKey is its own", errMalformed)
		}
		step.done = !r.cfg.Paged || step.page.cursor == ""
		if err := plan.advance(s, step); err != nil {
			return err
		}
		if step.done {
			return nil
		}
	}
}

// fetch makes one request and writes the facts of its answer to Kafka.
func (r *Reader) fetch(ctx context.Context, req *request, turn int) (progress, error) {
	var step progress
	skipped := map[string]int64{}
	batch := bootstrap.NewBatch(r.deps.Producer, func(records int) {
		step.records += int64(records)
		r.records.Add(int64(records))
	})
	upstream := solana.Host(r.client.endpoint(turn))
	checked := false
	checkSlot := func(slot uint64) error { // once, because an answer has one slot
		if checked {
			return nil
		}
		checked = true
		return r.deps.Bounds.Read(upstream, slot)
	}
	answer, err := r.client.do(ctx, turn, req, func(slot uint64, a *account) error {
		if err := checkSlot(slot); err != nil {
			return err
		}
		r.items.Add(1)
		fact, why := factOf(req.kind.program, slot, a)
		if fact == nil {
			skipped[why]++
			return nil
		}
		fact.Upstream = upstream
		if err := batch.Add(ctx, fact); err != nil {
			return &writeError{err}
		}
		return nil
	})
	if err == nil {
		err = checkSlot(answer.slot) // not checked yet if there were no accounts
	}
	if err != nil {
		return progress{}, err
	}
	if err := batch.Flush(ctx); err != nil {
		return progress{}, &writeError{err}
	}
	r.mu.Lock()
	for why, n := range skipped {
		r.skipped[why] += n
	}
	r.mu.Unlock()
	step.page = answer
	return step, nil
}
