package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"net"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/unknowns"
	"github.com/mintlake/mintlake/solana/yellowstone"
	"github.com/mintlake/mintlake/swap/market"
	"github.com/mintlake/mintlake/swap/venue"
)

// Config of a Feed. Zero values take the defaults named at each field.
type Config struct {
	// Endpoint of the Yellowstone server, https://host:port or http://host:port. Required.
	Endpoint string
	// Token is sent as x-token; empty = none.
	Token string
	// Fold bounds what is held.
	Fold FoldConfig
	// File is the checkpoint from which a restart goes on; its folder is made if it is missing.
	// Empty = none.
	File string
	// silence is how long the connection may be without any message before it is given up. Default
	// 15 s; servers ping every 10 s.
	silence time.Duration
	// every is the time between two looks for wanted pools. Default 20 ms.
	every time.Duration
}

func (c Config) withDefaults() Config {
	c.silence = cmp.Or(max(c.silence, 0), 15*time.Second)
	c.every = cmp.Or(max(c.every, 0), 20*time.Millisecond)
	return c
}

// Deps are the collaborators.
type Deps struct {
	RPC    market.RPC
	Venues venue.List
	// Lister fills the Directory at the start; both may be nil: then each pair is listed by itself.
	Lister    market.Lister
	Directory *market.Directory
	// Observe is called with each new highest slot of the stream and, while the stream replays old
	// slots, with the slot of the JSON-RPC server; may be nil.
	Observe func(slot uint64)
	// Steps is called with each transaction that wrote a held pool, when its slot is complete. It
	// must not block, and may be nil.
	Steps func(Step)
	// Watched are other accounts to subscribe to; Wrote is called with their writes. Live is called
	// when the subscription to them is in force and when it ends, with the highest slot that the
	// stream reported. These functions must not block; all may be nil.
	Watched []venue.Key
	Wrote   func(w Write)
	Live    func(live bool, slot uint64)
	// Logger, Registerer and Now may be nil. Dial opens the connection; nil = TCP.
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
	Dial       func(ctx context.Context, address string) (net.Conn, error)
	// Unknowns counts fields and statuses from the stream that our code does not know; may be nil.
	Unknowns *unknowns.Book
}

// Feed holds, from a stream, the pools of the pairs that were asked for. Pair is safe for
// concurrent use.
type Feed struct {
	cfg     Config
	deps    Deps
	server  yellowstone.Server
	fold    *Fold
	metrics *metrics
	// tasks run one after the other in one goroutine. Only this goroutine uses the fold, but for
	// its Snapshot, and the fields below that are not atomic.
	tasks chan func()
	// listing are the pairs whose pools are being listed. reading are the lanes that wait for an
	// answer.
	listing map[pair]bool
	reading [lanes]bool
	// seen is the highest slot that the stream reported.
	seen uint64
	// behind says that the state is of the past: the stream replays the slots up to now.
	behind atomic.Bool
	saver  saver
	filler filler
	// changed is closed when there is a new snapshot.
	changed atomic.Pointer[chan struct{}]
}

// lanes is how many calls read pools at the same time.
const lanes = 4

var _ market.Held = (*Feed)(nil)

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Feed, error) {
	if deps.RPC == nil || len(deps.Venues) == 0 {
		return nil, errors.New("swap state: an RPC client and a venue are required")
	}
	u, err := yellowstone.ParseURL(cfg.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("swap state: %w", err)
	}
	if deps.Logger == nil {
		deps.Logger = slog.New(slog.DiscardHandler)
	}
	if deps.Now == nil {
		deps.Now = time.Now
	}
	if deps.Observe == nil {
		deps.Observe = func(uint64) {}
	}
	if deps.Live == nil {
		deps.Live = func(bool, uint64) {}
	}
	f := &Feed{
		cfg: cfg.withDefaults(), deps: deps, server: yellowstone.Server{URL: u, Token: cfg.Token, Dial: deps.Dial},
		fold: NewFold(cfg.Fold, deps.Venues), tasks: make(chan func(), 1024), listing: map[pair]bool{},
	}
	f.fold.steps = deps.Steps
	if deps.Directory != nil {
		f.fold.born = bornOf(deps.Directory, deps.Venues)
	}
	changed := make(chan struct{})
	f.changed.Store(&changed)
	if f.metrics, err = newMetrics(deps.Registerer, f.behind.Load); err != nil {
		return nil, fmt.Errorf("swap state: %w", err)
	}
	return f, nil
}

// bornOf returns a function that calls the directory's Born for pools of the venues that can be
// listed. The directory is not asked for pools of other venues.
func bornOf(d *market.Directory, venues venue.List) func(program, a, b, address pubkey.Key) {
	listable := map[pubkey.Key]bool{}
	for _, v := range venues {
		listable[v.Program()] = market.Listable(v)
	}
	return func(program, a, b, address pubkey.Key) {
		if listable[program] {
			d.Born(program, a, b, address)
		}
	}
}

// Pair implements market.Held. A pair that was never asked for is watched from now on. While the
// state is of the past, no pair is held.
func (f *Feed) Pair(a, b venue.Key) (*market.Snapshot, error) {
	found, err := f.fold.Snapshot().Pair(a, b)
	if f.behind.Load() && !errors.Is(err, errNotAsked) {
		found, err = nil, market.ErrNotHeld
	}
	if errors.Is(err, market.ErrNotHeld) {
		select {
		case f.tasks <- func() { f.askedFor(a, b) }:
		default: // the next call of Pair tries again
		}
	}
	return found, err
}

// Slot returns the slot of the state; 0 while there is none.
func (f *Feed) Slot() uint64 { return f.fold.Snapshot().Slot }

// Changed returns a channel that is closed at the next snapshot.
func (f *Feed) Changed() <-chan struct{} { return *f.changed.Load() }

// Run goes on from the checkpoint, if there is one, and follows the stream until ctx ends.
func (f *Feed) Run(ctx context.Context) error {
	f.restore(ctx)
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { f.runTasks(within); return nil })
	group.Go(func() error { f.follow(within); return nil })
	err := group.Wait()
	f.filler.running.Wait()
	f.saveLast(ctx)
	return err
}

// runTasks runs the tasks. In between it reads wanted pools, lists venues, writes checkpoints and
// publishes.
func (f *Feed) runTasks(ctx context.Context) {
	tick := time.NewTicker(f.cfg.every)
	defer tick.Stop()
	seconds := time.NewTicker(time.Second)
	defer seconds.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case task := <-f.tasks:
			task()
		case <-tick.C:
			f.read(ctx)
			f.fill(ctx)
		case <-seconds.C:
			f.metrics.observe(f.fold)
			f.save(ctx)
		}
		f.publish()
	}
}

// publish makes a new snapshot if the last one is out of date. If the stream lost blocks, it first
// resets the state.
func (f *Feed) publish() {
	if f.fold.Broken() {
		f.deps.Logger.Warn("the stream lost blocks: pools are read again", "slot", f.fold.Head())
		f.reset()
	}
	if f.fold.Pending() {
		f.fold.Publish()
		next := make(chan struct{})
		close(*f.changed.Swap(&next))
	}
}

// enqueue puts a task into the queue of tasks. It returns when the task is in the queue, before it
// has run, or when ctx ends.
func (f *Feed) enqueue(ctx context.Context, task func()) {
	select {
	case f.tasks <- task:
	case <-ctx.Done():
	}
}

// follow opens one session after the other until ctx ends.
func (f *Feed) follow(ctx context.Context) {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval, delays.MaxInterval = 250*time.Millisecond, 10*time.Second
	for failures := uint(1); ctx.Err() == nil; failures++ {
		s := &session{Feed: f}
		err := s.run(ctx)
		// Live is called by a task, so that it runs after the updates of this session.
		f.enqueue(ctx, func() { f.deps.Live(false, f.seen) })
		if ctx.Err() != nil {
			return
		}
		f.metrics.reconnects.Inc()
		if s.received > 1 { // the connection worked
			delays.Reset()
			failures = 1
		}
		if s.replay && s.updates == 0 { // the server may not have those slots any more
			f.enqueue(ctx, f.reset)
		}
		if bits.OnesCount(failures) == 1 { // sampled
			f.deps.Logger.Warn("pools' stream given up", "err", err, "failures", failures)
		}
		_ = pause.For(ctx, delays.NextBackOff())
	}
}

// message handles one update of the stream.
func (f *Feed) message(u *pb.SubscribeUpdate) {
	f.noteFields(u)
	if impossible(u) {
		f.metrics.updates.WithLabelValues("impossible").Inc()
		return
	}
	switch m := u.GetUpdateOneof().(type) {
	case *pb.SubscribeUpdate_Account:
		f.metrics.updates.WithLabelValues("account").Inc()
		f.see(m.Account.GetSlot())
		f.account(m.Account)
	case *pb.SubscribeUpdate_BlockMeta:
		f.metrics.updates.WithLabelValues("block").Inc()
		b, now := m.BlockMeta, f.deps.Now()
		blockTime := now.Unix()
		if t := b.GetBlockTime(); t != nil && t.GetTimestamp() > 0 {
			blockTime = t.GetTimestamp()
		}
		f.see(b.GetSlot())
		f.fold.Block(Block{
			Slot: b.GetSlot(), Parent: b.GetParentSlot(), Bank: b.GetBankId(), Hash: hashOrZero(b.GetBlockhash()), ParentHash: hashOrZero(b.GetParentBlockhash()),
			UnixTime: blockTime, At: now,
		})
	case *pb.SubscribeUpdate_Slot:
		f.metrics.updates.WithLabelValues("slot").Inc()
		number, id := m.Slot.GetSlot(), m.Slot.GetBankId()
		f.see(number)
		switch status := m.Slot.GetStatus(); status {
		case pb.SlotStatus_SLOT_CREATED_BANK:
			if f.fold.Created(number, m.Slot.GetParent(), id) {
				f.metrics.switches.Inc()
			}
		case pb.SlotStatus_SLOT_DEAD:
			f.fold.Dead(number)
		case pb.SlotStatus_SLOT_CONFIRMED:
			f.fold.Confirmed(number, id)
		case pb.SlotStatus_SLOT_FINALIZED:
			f.fold.Finalized(number, id)
		default:
			f.noteStatus(status, number)
		}
	}
}

// impossible returns whether an update is of a slot that no chain can have reached, or of a block
// whose parent is above it: the head would stand still for ever.
func impossible(u *pb.SubscribeUpdate) bool {
	var anyChain *bounds.Bounds // a nil Bounds knows only the clock
	switch m := u.GetUpdateOneof().(type) {
	case *pb.SubscribeUpdate_Account:
		return anyChain.Slot(m.Account.GetSlot()) != nil
	case *pb.SubscribeUpdate_BlockMeta:
		slot, parent := m.BlockMeta.GetSlot(), m.BlockMeta.GetParentSlot()
		// Surfpool names a block as its own parent.
		return anyChain.Slot(slot) != nil || parent > slot
	case *pb.SubscribeUpdate_Slot:
		return anyChain.Slot(m.Slot.GetSlot()) != nil
	}
	return false
}

// hashOrZero reads a block's hash. Servers of other versions may not tell it.
func hashOrZero(text string) pubkey.Key {
	hash, err := pubkey.Parse(text)
	if err != nil {
		return pubkey.Key{}
	}
	return hash
}

// see notes a slot that the stream reported.
func (f *Feed) see(slot uint64) {
	if slot > f.seen {
		f.seen = slot
		f.deps.Observe(slot)
	}
}
