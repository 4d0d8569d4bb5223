// Package market knows the pools of a pair and their state at one slot.
//
// In: pairs of mints; accounts over JSON-RPC. Out: immutable snapshots.
// Guarantees: all accounts of one pool in a snapshot, and the clock, were read by one call and so
// at one slot; a vault and its pool are never of different slots. State that a stream holds comes
// from package state, with its guarantees. Requests for the same pair at the same time share one
// read. Memory is bounded by the number of pairs remembered.
package market

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/sharedcall"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/slottime"
	"github.com/mintlake/mintlake/swap/mint"
	"github.com/mintlake/mintlake/swap/venue"
)

// RPC reads accounts: *solana.Client.
type RPC interface {
	GetMultipleAccounts(ctx context.Context, keys []venue.Key, opts solana.AccountOptions) (uint64, []*solana.Account, error)
	Call(ctx context.Context, method string, params []any, result any) error
}

// Held has pool state that is kept up to date by a stream: *state.Feed.
type Held interface {
	// Pair returns the pools of a pair. The error wraps ErrNotHeld if the pair must be read.
	Pair(a, b venue.Key) (*Snapshot, error)
}

// ErrNotHeld is returned for a pair whose state is not held, or not certain.
var ErrNotHeld = errors.New("the state of the pair is not held")

// Config of a Market. Zero values take the defaults named at each field.
type Config struct {
	// PoolsTTL is how long a pair's list of pools is used; default 30 s. An empty list is used for
	// noPoolsTTL at most.
	PoolsTTL time.Duration
	// StateTTL is how long a snapshot is used; default slottime.Default, a slot.
	StateTTL time.Duration
	// timeout bounds one reading of a pair; default 8 s.
	timeout time.Duration
	// maxPairs bounds the pairs remembered; default 2,048.
	maxPairs int
	// maxPools bounds the pools of one pair that are read on one venue; default 64.
	maxPools int
}

// noPoolsTTL is how long an empty list of pools is used: somebody may be opening the first one.
const noPoolsTTL = 2 * time.Second

// Commitment is the commitment of what is read. A higher one would give older prices, which are
// worse.
const Commitment = solana.Processed

func (c Config) withDefaults() Config {
	c.PoolsTTL = cmp.Or(max(c.PoolsTTL, 0), 30*time.Second)
	c.StateTTL = cmp.Or(max(c.StateTTL, 0), slottime.Default)
	c.timeout = cmp.Or(max(c.timeout, 0), 8*time.Second)
	c.maxPairs = cmp.Or(max(c.maxPairs, 0), 2048)
	c.maxPools = cmp.Or(max(c.maxPools, 0), 64)
	return c
}

// Deps are the collaborators.
type Deps struct {
	RPC    RPC
	Venues venue.List
	// Held may be nil: then all pools are read when they are asked for.
	Held Held
	// Directory knows the pools of venues that were listed whole; nil = none.
	Directory *Directory
	// Logger and Registerer may be nil. Now is the wall clock; default time.Now.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Pool is a pool in a snapshot with its venue's name.
type Pool struct {
	venue.Pool
	Venue string
	// Slot is the slot of the pool's state: when it was read or, if it is held from a stream, last
	// written. Clock is the chain's clock for quotes.
	Slot  uint64
	Clock venue.Clock
	// Ref is what the state was decoded from.
	Ref venue.Ref
}

// Refused is a pool that gives no quote, and why: Err wraps a venue.Refusal.
type Refused struct {
	Venue   string
	Address venue.Key
	Err     error
}

// Snapshot is the state of a pair. Each pool has its own slot.
type Snapshot struct {
	// Mints of the pair, in either order.
	Mints [2]*mint.Mint
	Pools []Pool
	// Refused are pools that exist, but whose state cannot be quoted.
	Refused []Refused
	// Slot is the slot up to which the whole state is known to hold: the lowest of the calls that
	// read it, or the head of the held state.
	Slot uint64
	// ReadAt is when the reading began or, for held state, when the block of Slot was complete, by
	// the wall clock.
	ReadAt time.Time
}

// pair is two mints in the order of their bytes.
type pair struct{ a, b venue.Key }

func pairOf(a, b venue.Key) pair {
	a, b = venue.Ordered(a, b)
	return pair{a, b}
}

// String returns the bytes of both mints. It is the key by which callers share a reading.
func (p pair) String() string { return string(p.a[:]) + string(p.b[:]) }

// Market reads pairs. Safe for concurrent use.
type Market struct {
	cfg    Config
	deps   Deps
	pools  *lru.Cache[pair, kept[[]located]]
	states *lru.Cache[pair, kept[*Snapshot]]
	// reading lets callers that ask for the same pair at the same time share a reading.
	reading sharedcall.Group[*Snapshot]
	tip     tip
	metrics *metrics
}

// New checks the collaborators and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Market, error) {
	if deps.RPC == nil || len(deps.Venues) == 0 {
		return nil, errors.New("market: an RPC client and a venue are required")
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	m := &Market{cfg: cfg.withDefaults(), deps: deps}
	var errs [3]error
	m.pools, errs[0] = lru.New[pair, kept[[]located]](m.cfg.maxPairs)
	m.states, errs[1] = lru.New[pair, kept[*Snapshot]](m.cfg.maxPairs)
	venues := make([]string, len(deps.Venues))
	for i, v := range deps.Venues {
		venues[i] = v.Name()
	}
	m.metrics, errs[2] = newMetrics(deps.Registerer, venues)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, fmt.Errorf("market: %w", err)
	}
	return m, nil
}

// Snapshot returns the pair's pools, of which there may be none. The state is held, remembered for
// StateTTL, or read now. The error wraps mint.ErrUntradable for a mint that cannot be swapped, is
// ctx's, or comes from reading.
func (m *Market) Snapshot(ctx context.Context, a, b venue.Key) (*Snapshot, error) {
	if found, ok, err := m.Get(a, b); ok {
		return found, err
	}
	return m.Read(ctx, a, b)
}

// Get is Snapshot without I/O: ok is false if Read must read the pair.
func (m *Market) Get(a, b venue.Key) (found *Snapshot, ok bool, err error) {
	p := pairOf(a, b)
	if m.deps.Held != nil {
		found, err := m.deps.Held.Pair(p.a, p.b)
		if err == nil && m.live(found) || err != nil && !errors.Is(err, ErrNotHeld) {
			m.metrics.held.Inc()
			return found, true, err
		}
	}
	if found, ok = remembered(m, m.states, p); ok {
		m.metrics.cached.Inc()
	}
	return found, ok, nil
}

// Read reads the pair's pools. Callers that ask for one pair at the same time share a reading. Its
// errors are those of Snapshot.
func (m *Market) Read(ctx context.Context, a, b venue.Key) (*Snapshot, error) {
	p := pairOf(a, b)
	snapshot, err := m.reading.Do(ctx, p.String(), m.cfg.timeout, func(ctx context.Context) (*Snapshot, error) {
		if found, ok := remembered(m, m.states, p); ok {
			return found, nil // another call read it since Get
		}
		began := time.Now()
		snapshot, err := m.read(ctx, p)
		m.metrics.readSeconds.Observe(time.Since(began).Seconds())
		return snapshot, err
	})
	switch {
	case err == nil:
		m.metrics.reads.WithLabelValues("read").Inc()
	case ctx.Err() == nil:
		m.metrics.reads.WithLabelValues("failed").Inc()
	}
	return snapshot, err
}

// Held state that is older than these limits is not used. The pair is read instead.
const (
	// HeldSlots is how many slots behind the chain the state may be: four seconds of 200 ms slots.
	HeldSlots = 20
	// heldAge is how long ago, by our clock, the block of the state may have been complete.
	heldAge = 5 * time.Second
)

// live returns whether held state is recent enough, by its slot and by our clock.
func (m *Market) live(s *Snapshot) bool {
	now := m.deps.Now()
	return s.Slot+HeldSlots >= m.tip.observe(0, now) && now.Sub(s.ReadAt) <= heldAge
}

// read finds the pair's pools, reads their state and remembers it.
func (m *Market) read(ctx context.Context, p pair) (*Snapshot, error) {
	refs, err := m.find(ctx, p)
	if err != nil {
		return nil, err
	}
	began := m.deps.Now()
	snapshot, err := m.load(ctx, p, refs)
	if err != nil {
		return nil, err
	}
	snapshot.ReadAt = began
	remember(m, m.states, p, snapshot, m.cfg.StateTTL)
	return snapshot, nil
}

// clockSize is the size of the Clock sysvar in bytes.
const clockSize = 40

// clockSysvar is SysvarC1ock11111111111111111111111111111111.
var clockSysvar = venue.Key{
	0x06, 0xa7, 0xd5, 0x17, 0x18, 0xc7, 0x74, 0xc9, 0x28, 0x56, 0x63, 0x98, 0x69, 0x1d, 0x5e, 0xb6,
	0x8b, 0x5e, 0xb8, 0xa3, 0x9b, 0x4b, 0x6d, 0x5c, 0x73, 0x55, 0x5b, 0x21, 0x00, 0x00, 0x00, 0x00,
}

// maxCalls is how many calls a reading of one pair makes at a time.
const maxCalls = 4

// load reads the state of the pools. All accounts of a pool are read by one call.
func (m *Market) load(ctx context.Context, p pair, refs []located) (*Snapshot, error) {
	batches := split(p, refs)
	parts := make([]*Snapshot, len(batches))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxCalls)
	for i, batch := range batches {
		group.Go(func() (err error) {
			parts[i], err = m.loadBatch(ctx, p, batch)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	whole := parts[0]
	for _, part := range parts[1:] {
		whole.Pools = append(whole.Pools, part.Pools...)
		whole.Refused = append(whole.Refused, part.Refused...)
		whole.Slot = min(whole.Slot, part.Slot)
	}
	return whole, nil
}

// batch is pools that are read by one call. keys are the accounts of all of them, each once.
type batch struct {
	refs []located
	keys []venue.Key
}

// split divides pools into batches whose accounts fit one call. There is always at least one batch.
func split(p pair, refs []located) []batch {
	fixed := []venue.Key{clockSysvar, p.a, p.b}
	batches := []batch{{keys: fixed}}
	for _, r := range refs {
		last := &batches[len(batches)-1]
		needs := venue.Needs(r.Ref)
		keys := withNew(last.keys, needs)
		if len(keys) > solana.MaxAccountsPerCall && len(last.refs) > 0 {
			batches = append(batches, batch{})
			last = &batches[len(batches)-1]
			keys = withNew(fixed, needs)
		}
		last.refs, last.keys = append(last.refs, r), keys
	}
	return batches
}

// withNew returns a copy of keys, to which it adds each key of more that is missing.
func withNew(keys, more []venue.Key) []venue.Key {
	keys = slices.Clone(keys)
	for _, k := range more {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func (m *Market) loadBatch(ctx context.Context, p pair, b batch) (*Snapshot, error) {
	slot, accounts, err := m.deps.RPC.GetMultipleAccounts(ctx, b.keys, solana.AccountOptions{Commitment: Commitment})
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	m.Observe(slot)
	read := make(map[venue.Key]*solana.Account, len(b.keys))
	for i, k := range b.keys {
		read[k] = accounts[i]
	}
	state := venue.NewAccounts(read)
	snapshot := &Snapshot{Slot: slot}
	for i, k := range []venue.Key{p.a, p.b} {
		if snapshot.Mints[i], err = venue.Mint(state, k); err != nil {
			return nil, err
		}
	}
	clock := m.clock(slot, read[clockSysvar])
	for _, r := range b.refs {
		pool, err := r.Decode(state)
		if errors.Is(err, venue.ErrAnotherPair) {
			continue
		}
		if err != nil {
			m.metrics.badPools.WithLabelValues(r.venue).Inc()
			m.deps.Logger.Debug("pool left out", "venue", r.venue, "pool", r.Address().String(), "err", err)
			snapshot.Refused = append(snapshot.Refused, Refused{r.venue, r.Address(), err})
			continue
		}
		snapshot.Pools = append(snapshot.Pools, Pool{Pool: pool, Venue: r.venue, Slot: slot, Clock: clock, Ref: r.Ref})
	}
	return snapshot, nil
}

// clock reads the Clock sysvar (solana-clock: slot u64, epoch_start i64, epoch u64,
// leader_schedule_epoch u64, unix_timestamp i64). If the node does not serve it, the epoch is
// computed from the slot and the time is our clock's.
func (m *Market) clock(slot uint64, account *solana.Account) venue.Clock {
	if account == nil || len(account.Data) < clockSize {
		return venue.ClockAt(slot, m.deps.Now().Unix())
	}
	at := func(offset int) uint64 { return binary.LittleEndian.Uint64(account.Data[offset:]) }
	return venue.Clock{Slot: at(0), Epoch: at(16), UnixTime: int64(at(32))}
}
