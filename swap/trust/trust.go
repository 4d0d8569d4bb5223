// Package trust decides whether our quotes of a venue are what its program does.
//
// In: how the programs are deployed; swaps on the chain with the state before them. Out: for each
// venue, which kinds of swaps may be quoted, and why not the others.
// Guarantees: when a program is deployed anew, the venue's quotes stop until the new build is known
// (KnownBuilds), the operator accepts it, or swaps prove it. A kind of swap is proved when several
// on the chain in a row gave exactly what our quote says. The first swap that gives something else
// stops the quotes again. A swap whose amounts other transfers of its transaction may have changed
// does not count. Each mismatch is written to a file, from which Verify computes it again. If there
// is a folder, builds and proofs survive a restart.
//
// A kind is the set of features that a swap uses (venue.Features): swaps of one kind are computed
// by one formula, on whatever pool.
//
// There are two sources of swaps. With a stream, state.Feed has the state before each transaction,
// and the transactions come over another connection. Where no stream brings a venue's swaps, pools
// that were asked for lately are read as often as Terms.Probe says, and the first transaction after
// the reading is looked up.
package trust

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/solana/yellowstone"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/state"
	"github.com/mintlake/mintlake/swap/venue"
	"github.com/mintlake/mintlake/swap/venue/guard"
)

// Config of a Trust. Zero values take the defaults named at each field.
type Config struct {
	// Accepted are the builds that the operator accepts, by program; see ParseAccepted.
	Accepted map[venue.Key][]string
	// Dir is the folder in which builds, proofs and mismatches are recorded. If it is empty,
	// nothing is recorded. Then each start trusts the build that is deployed, as the first one that
	// was seen, and a deployment during the downtime is not noticed.
	Dir string
	// Endpoint is the Yellowstone server that transactions come from; empty: none. Token is sent as
	// x-token.
	Endpoint, Token string
	// every is how often the programs are looked at, even while no quote is asked for. Default 10
	// s.
	every time.Duration
	// fresh is how long quotes may rely on a look at the programs. Default: slottime.Default.
	fresh time.Duration
}

func (c Config) withDefaults() Config {
	c.every = cmp.Or(max(c.every, 0), 10*time.Second)
	c.fresh = cmp.Or(max(c.fresh, 0), slottime.Default)
	return c
}

// Terms are the conditions of trust. Zero values take the defaults named at each field.
type Terms struct {
	// Known builds. Default KnownBuilds.
	Known []KnownBuild
	// Matches is how many matches in a row prove a kind of swap. Default 20.
	Matches int
	// Probe is how often pools of venues that are not trusted are looked at, if no stream brings
	// their swaps. Of a trusted venue one pool is looked at every fifteenth time. Default 2 s.
	Probe time.Duration
}

func (t Terms) withDefaults() Terms {
	if t.Known == nil {
		t.Known = KnownBuilds
	}
	t.Matches = cmp.Or(max(t.Matches, 0), 20)
	t.Probe = cmp.Or(max(t.Probe, 0), 2*time.Second)
	return t
}

// Pool is a pool that was asked for.
type Pool = market.Known

// Deps are the collaborators.
type Deps struct {
	RPC RPC
	// Venues as guard.Guard gives them.
	Venues venue.List
	// Pools returns the pools that were asked for lately; may be nil.
	Pools func() []Pool
	Terms Terms
	// Logger, Registerer and Now may be nil. Dial opens the stream's connection; nil = TCP.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
	Dial       func(ctx context.Context, address string) (net.Conn, error)
}

// Trust watches the venues' programs. Safe for concurrent use.
type Trust struct {
	cfg      Config
	deps     Deps
	server   yellowstone.Server
	programs *programs
	book     *book
	venues   map[string]venue.Venue
	metrics  *metrics
	looks    sharedcall.Group[struct{}]
	// queue has the swaps to be replayed. joined matches steps with transactions.
	queue  chan paired
	joined *join
	// probes are the states of pools that probeAll has read. Only its goroutine uses them.
	probes map[venue.Key]*probe

	mu sync.Mutex
	// looked is when the programs were last looked at, and slot the slot of that look; zero before
	// the first one.
	looked time.Time
	slot   uint64
	// reading are the executables that are being read.
	reading map[venue.Key]mark
	// retry is when an executable that could not be read is read again. It may have megabytes, so
	// that is not done at once.
	retry map[venue.Key]time.Time
	// fed is when the stream last brought a transaction on a pool of a venue.
	fed map[string]time.Time
	// dirty says that something must be recorded.
	dirty bool
	// failures counts failures to record; only for the watching goroutine.
	failures uint
	// connected says that the stream has a connection. live says that it reports deployments, and
	// that the programs were looked at since it does. sessions counts what ends live: the
	// beginnings and ends of connections, and writes that do not tell how a program is deployed.
	sessions  uint64
	connected bool
	live      atomic.Bool
	// least is the slot that a look must have reached to make the stream live: a server may be
	// behind the stream.
	least   uint64
	leastAt time.Time // when least was raised
	// wake triggers a look at the programs.
	wake chan struct{}
}

// New checks the configuration, reads what is recorded and registers the metrics.
func New(cfg Config, deps Deps) (*Trust, error) {
	cfg = cfg.withDefaults()
	if deps.RPC == nil || len(deps.Venues) == 0 {
		return nil, errors.New("trust: an RPC client and a venue are required")
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	deps.Terms = deps.Terms.withDefaults()
	t := &Trust{
		cfg: cfg, deps: deps, book: newBook(deps.Venues, deps.Terms, cfg.Accepted), venues: map[string]venue.Venue{},
		queue: make(chan paired, maxQueue), joined: newJoin(), probes: map[venue.Key]*probe{}, reading: map[venue.Key]mark{}, retry: map[venue.Key]time.Time{}, fed: map[string]time.Time{}, wake: make(chan struct{}, 1),
	}
	for _, v := range deps.Venues {
		t.venues[v.Name()] = v
	}
	var err error
	if t.programs, err = newPrograms(deps.Venues); err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	if cfg.Endpoint != "" {
		u, err := yellowstone.ParseURL(cfg.Endpoint)
		if err != nil {
			return nil, fmt.Errorf("trust: %w", err)
		}
		t.server = yellowstone.Server{URL: u, Token: cfg.Token, Dial: deps.Dial}
	}
	if err := t.load(); err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	if t.metrics, err = newMetrics(deps.Registerer, t.book.order); err != nil {
		return nil, fmt.Errorf("trust: %w", err)
	}
	return t, nil
}

// maxQueue is how many swaps may wait to be replayed. A busy slot has some hundreds.
const maxQueue = 4096

// ParseAccepted parses builds that an operator accepts: PROGRAM:SHA256, as in GET /api/v2/venues.
func ParseAccepted(texts []string) (map[venue.Key][]string, error) {
	accepted := map[venue.Key][]string{}
	for _, text := range texts {
		name, sum, _ := strings.Cut(text, ":")
		program, err := pubkey.Parse(name)
		if err != nil || len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
			return nil, fmt.Errorf("%q: must be PROGRAM:SHA256, the program's address and 64 hexadecimal digits", text)
		}
		accepted[program] = append(accepted[program], sum)
	}
	return accepted, nil
}

// Gate returns the gate of a venue's quotes. The gate of an unknown venue refuses all.
func (t *Trust) Gate(name string) guard.Gate {
	if r := t.book.records[name]; r != nil {
		return r
	}
	return unwatched
}

// Run watches the programs and replays swaps until ctx ends.
func (t *Trust) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { t.watch(ctx); return nil })
	group.Go(func() error { t.work(ctx); return nil })
	group.Go(func() error { t.probeAll(ctx); return nil })
	if t.cfg.Endpoint != "" {
		group.Go(func() error { t.follow(ctx); return nil })
	}
	err := group.Wait()
	t.save()
	return err
}

// Step takes in a transaction that wrote a held pool, see state.Deps.Steps.
func (t *Trust) Step(s state.Step) {
	if t.venues[s.Venue] != nil {
		t.submit(t.joined.step(s))
	}
}

// submit queues swaps of the stream. It does not block: swaps are dropped if the queue is full.
func (t *Trust) submit(pairs []paired) {
	for _, p := range pairs {
		t.mu.Lock()
		t.fed[p.step.Venue] = t.deps.Now()
		t.mu.Unlock()
		select {
		case t.queue <- p:
		default:
			t.metrics.dropped.Inc()
		}
	}
}
