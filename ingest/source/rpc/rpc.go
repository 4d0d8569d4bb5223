// Package rpc is the source that reads blocks from a Solana JSON-RPC server by getBlock.
//
// In: a range of slots, or the tip to follow. Out: whole blocks in slot order, and the slots
// without a block. Guarantees: only a parent link proves that a slot has no block. Neither the list
// of getBlocks nor an answer of getBlock proves it. A parent that is missing is asked for again.
// Every slot of a range is read, proved to have no block, or refused, see prove. Blocks that are
// missing below the tip are asked for until they come. A server that is away is waited for. A block
// that cannot be had is refused with its reason, and the others go on. Some Config.Parallel blocks
// are in memory, and up to maxWalk more while missing parents are fetched.
package rpc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/order"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/repair"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/bounds"
	"github.com/mintlake/mintlake/solana/slottime"
)

// Client is the part of a JSON-RPC client that the source uses. *solana.Client is one.
type Client interface {
	GetSlot(ctx context.Context, commitment solana.Commitment) (uint64, error)
	GetBlocks(ctx context.Context, from, to uint64, commitment solana.Commitment) ([]uint64, error)
	GetBlock(ctx context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error)
}

// Config configures a Source. Zero values take the defaults named at each field.
type Config struct {
	// kind is the source's kind in metrics and the ledger: source.KindRPC (default) or
	// source.KindBackfill.
	kind string
	// From is the first slot. nil means the slot after the highest that the ledger has, or the tip
	// if the ledger has none.
	From *uint64
	// To is the last slot. nil means to follow the tip for ever.
	To *uint64
	// Commitment is solana.Confirmed (default) or solana.Finalized.
	Commitment solana.Commitment
	// Parallel is how many blocks are fetched at a time. Default 8. The client's own bounds hold
	// too.
	Parallel int
	// poll is the time between checks of the tip. Default slottime.Default, a slot.
	poll time.Duration
	// patience is for how long a failing call is repeated if the server answers it with an error,
	// such as for a block that it does not have yet, or answers other calls. Default 2 min. Calls
	// for the tip, and calls to a server that cannot be reached at all, are repeated for ever.
	patience time.Duration
	// repairEvery is how often gaps are looked for while the tip is followed. Default 10 s.
	repairEvery time.Duration
	// firstPause is the pause after a first failure; it doubles up to 15 s. Default 500 ms.
	firstPause time.Duration
	// Reader says up to which version transactions are asked for and read.
	Reader parse.Reader
}

func (c Config) withDefaults() Config {
	c.poll = cmp.Or(max(c.poll, 0), slottime.Default)
	c.patience = cmp.Or(max(c.patience, 0), 2*time.Minute)
	c.firstPause = cmp.Or(max(c.firstPause, 0), 500*time.Millisecond)
	c.repairEvery = cmp.Or(max(c.repairEvery, 0), 10*time.Second)
	c.kind = cmp.Or(c.kind, source.KindRPC)
	c.Commitment = cmp.Or(c.Commitment, solana.Confirmed)
	c.Parallel = cmp.Or(max(c.Parallel, 0), 8)
	return c
}

// Deps are the source's collaborators; Client is required.
type Deps struct {
	Client Client
	// Bounds say which slots the chain can have reached; nil knows only the clock.
	Bounds     *bounds.Bounds
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Source reads blocks by getBlock.
type Source struct {
	cfg     Config
	client  Client
	bounds  *bounds.Bounds
	log     *slog.Logger
	metrics *source.Metrics
	refused *refusals
	partial *partial
	hashes  *lru.Cache[pubkey.Key, uint64] // slots by the hash of their block
	// worked means that the server has given a block.
	worked *atomic.Bool
	// noLists is the time until which getBlocks is not called, because the server refused it. It is
	// a time of steady.Now.
	noLists *atomic.Int64
}

var _ source.Source = (*Source)(nil)

// New checks the configuration and registers the metrics; it does no I/O.
func New(cfg Config, deps Deps) (*Source, error) {
	cfg = cfg.withDefaults()
	switch {
	case deps.Client == nil:
		return nil, errors.New("new rpc source: no client")
	case cfg.Commitment != solana.Confirmed && cfg.Commitment != solana.Finalized:
		return nil, fmt.Errorf("new rpc source: commitment %q, want confirmed or finalized", cfg.Commitment)
	case cfg.To != nil && (cfg.From == nil || *cfg.From > *cfg.To):
		return nil, errors.New("new rpc source: to needs a from that is not behind it")
	}
	m, err := source.NewMetrics(cfg.kind, deps.Registerer)
	if err != nil {
		return nil, fmt.Errorf("new rpc source: %w", err)
	}
	m.Preset(source.Reasons{Reconnect: []string{"rpc_error"}, Refused: []string{"malformed", "rpc_error", "unproved", "version"}})
	hashes, err := lru.New[pubkey.Key, uint64](maxHashes)
	if err != nil {
		return nil, fmt.Errorf("new rpc source: %w", err)
	}
	s := &Source{
		cfg: cfg, client: deps.Client, bounds: deps.Bounds, log: deps.Logger, metrics: m, refused: &refusals{}, partial: &partial{},
		hashes: hashes, worked: &atomic.Bool{}, noLists: &atomic.Int64{},
	}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	return s, nil
}

// Kind returns the source's name in metrics and slot records.
func (s *Source) Kind() string { return s.cfg.kind }

// Run reads the range and returns nil, also when ctx ends. Without To it returns only then. It
// refuses slots at the end of a range if within cfg.patience no later block proves that they have
// no block. It returns an error of the sink, or if the server refuses the first calls for good
// (wrong key, method not offered). Progress counts slots; the total is 0 if the tip is followed.
func (s *Source) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	if s.cfg.To == nil {
		return s.follow(ctx, ledger, sink)
	}
	return s.read(ctx, &run{
		Source: s, ledger: ledger, resume: ledger.Resume(), carrier: order.NewCarrier(sink, nil, s.metrics), report: sink.Progress, waits: true,
	})
}

// follow reads along the tip for ever. At the same time it closes the gaps of blocks that the
// server did not have when it was asked.
func (s *Source) follow(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	carrier, resume := order.NewCarrier(sink, nil, s.metrics), ledger.Resume()
	repairer := repair.New(repair.Config{Every: s.cfg.repairEvery, Resume: resume},
		repair.Deps{Ledger: ledger, Sink: carrier, Filler: s, Time: &carrier.Time, Metrics: s.metrics, Logger: s.log})
	carrier.OnGap = repairer.OnGap
	group, inner := errgroup.WithContext(ctx)
	group.Go(func() error {
		return s.read(inner, &run{
			Source: s, ledger: ledger, resume: resume, carrier: carrier, report: sink.Progress, repairer: repairer,
		})
	})
	group.Go(func() error { return repairer.Run(inner) })
	err := group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// read runs produce, which fetches blocks, and consume, which passes them on in order.
func (s *Source) read(ctx context.Context, r *run) (err error) {
	if r.from, err = r.first(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	if r.cfg.To != nil {
		r.carrier.OnGap = func(from, to uint64) { r.gaps = append(r.gaps, repair.Gap{From: from, To: to}) }
	}
	group, inner := errgroup.WithContext(ctx)
	queue := make(chan *job, s.cfg.Parallel)
	group.Go(func() error {
		defer close(queue)
		return r.produce(inner, group, queue)
	})
	group.Go(func() error {
		// The line starts after the slot below the range, so a parent within the range is read too.
		r.line = order.New(order.Config{Skips: true}, max(r.from, 1)-1)
		return r.consume(inner, queue)
	})
	err = group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Fill reads the slots from..to, both included, once. The geyser source closes its gaps with it. If
// the block of a slot cannot be read, Fill refuses the slot, but only the first time. It does not
// ask for a slot if asking again brings nothing, see partial, and makes no call if that holds for
// all slots. Slots that it neither reads nor proves to have no block stay a gap of the ledger, and
// are not refused.
func (s *Source) Fill(ctx context.Context, from, to uint64, ledger source.Ledger, sink source.Sink) error {
	if s.partial.allEnough(from, to) {
		return nil
	}
	return s.readRange(ctx, from, to, &run{ledger: ledger, carrier: order.NewCarrier(sink, nil, s.metrics), report: sink.Progress})
}

// readRange reads the slots from..to, both included, as r says. The ledger is known to lack them,
// so readRange fetches each block by one call, and no header first.
func (s *Source) readRange(ctx context.Context, from, to uint64, r *run) error {
	part := *s
	part.cfg.From, part.cfg.To = &from, &to
	r.Source = &part
	return part.read(ctx, r)
}
