package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/solana"
)

// maxChunk is how many slots one getBlocks call asks about. Nodes allow 500,000.
const maxChunk = 5_000

// job is the fetch of one slot. block and err are set before done is closed.
type job struct {
	slot uint64
	// known means that the ledger may have the block, so the header is fetched first.
	known bool
	done  chan struct{}
	block *chain.Block
	err   error
	// through is the slot up to which everything has been read once this job is done.
	through uint64
}

// produce starts a fetch for every slot that has a block, in order. The capacity of the queue
// bounds the blocks in memory.
func (r *run) produce(ctx context.Context, group *errgroup.Group, queue chan<- *job) error {
	next, err := r.first(ctx)
	if err != nil {
		return err
	}
	for r.cfg.To == nil || next <= *r.cfg.To {
		tip, err := r.tip(ctx)
		if err != nil {
			return err
		}
		if r.cfg.To != nil {
			tip = min(tip, *r.cfg.To)
		}
		if next > tip {
			if err := pause.For(ctx, r.cfg.poll); err != nil {
				return err
			}
			continue
		}
		last := min(tip, next+maxChunk-1)
		slots, err := r.slots(ctx, next, last)
		if err != nil {
			return err
		}
		for i, slot := range slots {
			if r.partial.enough(slot) {
				continue
			}
			j := &job{slot: slot, known: slot <= r.resume, done: make(chan struct{}), through: slot}
			if i == len(slots)-1 {
				j.through = last
			}
			select {
			case queue <- j:
			case <-ctx.Done():
				return ctx.Err()
			}
			group.Go(func() error {
				defer close(j.done)
				r.fetch(ctx, j)
				return nil
			})
		}
		next = last + 1
	}
	return nil
}

// first returns the first slot to read: From, or else the slot after what the ledger has, or else
// the tip.
func (r *run) first(ctx context.Context) (uint64, error) {
	switch {
	case r.cfg.From != nil:
		return *r.cfg.From, nil
	case r.resume > 0:
		return r.resume + 1, nil
	}
	return r.tip(ctx)
}

// slots returns the slots in [from, to] that have a block, or all slots if the server answers
// getBlocks with an error, as one does that does not offer it.
func (s *Source) slots(ctx context.Context, from, to uint64) ([]uint64, error) {
	listed, err := retry(ctx, s, func() ([]uint64, error) { return s.client.GetBlocks(ctx, from, to, s.cfg.Commitment) })
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("list blocks: %w", err)
		}
		for slot := from; slot <= to; slot++ {
			listed = append(listed, slot)
		}
		return listed, nil
	}
	out, last := listed[:0], from // a server may return slots that it was not asked for
	for _, slot := range listed {
		if slot >= last && slot <= to {
			out = append(out, slot)
			last = slot + 1
		}
	}
	return out, nil
}

// fetch gets and parses one block, or only its header if the ledger has the block.
func (r *run) fetch(ctx context.Context, j *job) {
	if j.known {
		if header, err := r.block(ctx, j.slot, true); err == nil && r.ledger.Ingested(j.slot, header.Blockhash) {
			header.Known = true
			j.block = header
			return
		}
	}
	j.block, j.err = r.block(ctx, j.slot, false)
}

// maxGarbage is how often an unreadable answer is asked for: another server, or the same one later,
// may do better.
const maxGarbage = 3

// block fetches a block or only its header, and parses it.
func (s *Source) block(ctx context.Context, slot uint64, headerOnly bool) (*chain.Block, error) {
	highest := s.cfg.Reader.Highest()
	opts := solana.BlockOptions{Commitment: s.cfg.Commitment, HeaderOnly: headerOnly, MaxVersion: &highest}
	for try := 1; ; try++ {
		raw, err := retry(ctx, s, func() ([]byte, error) { return s.client.GetBlock(ctx, slot, opts) })
		if version, ok := solana.UnsupportedVersion(err); ok && !headerOnly {
			return s.withheld(ctx, slot, version)
		}
		if err != nil {
			return nil, err
		}
		s.metrics.Message(len(raw))
		var b *chain.Block
		if headerOnly {
			b, err = parse.BlockHeaderJSON(raw, slot)
		} else {
			b, err = s.cfg.Reader.BlockJSON(raw, slot)
		}
		if err == nil {
			b.ReceivedAt = time.Now()
			s.partial.note(b)
			s.worked.Store(true)
			return b, nil
		}
		s.metrics.Garbage()
		if try == maxGarbage {
			return nil, fmt.Errorf("getBlock answer: %w", err)
		}
		if err := pause.For(ctx, s.cfg.firstPause); err != nil {
			return nil, err
		}
	}
}

// retry calls ask, with growing pauses, until ask succeeds, its error cannot be retried, or ctx
// ends. What a server answers with an error (RPCError) is repeated for cfg.patience only, and so is
// a call that fails while the server answers others. The client has already retried within its own
// bounds.
func retry[T any](ctx context.Context, s *Source, ask func() (T, error)) (T, error) {
	began, wait := time.Now(), s.cfg.firstPause
	for {
		out, err := ask()
		var rpc *solana.RPCError
		late := time.Since(began) > s.cfg.patience
		switch {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return out, ctx.Err()
		case !solana.Retryable(err) && !(hopeless(err) && s.worked.Load()):
			return out, err
		case late && (errors.As(err, &rpc) || s.answers(ctx)):
			return out, err
		}
		s.metrics.Reconnect("rpc_error")
		s.log.Debug("rpc call failed, waiting", "err", err)
		if err := pause.For(ctx, wait); err != nil {
			return out, err
		}
		wait = min(2*wait, maxWait)
	}
}

// maxWait is the longest pause between two calls of retry.
const maxWait = 15 * time.Second

// answers reports whether the server tells its slot now.
func (s *Source) answers(ctx context.Context) bool {
	_, err := s.client.GetSlot(ctx, s.cfg.Commitment)
	return err == nil
}

// tip returns the highest slot. It waits until the server tells it: only one that refuses the call
// for good, and has given no block yet, is an error.
func (s *Source) tip(ctx context.Context) (uint64, error) {
	for {
		tip, err := retry(ctx, s, func() (uint64, error) { return s.client.GetSlot(ctx, s.cfg.Commitment) })
		switch {
		case err == nil:
			return tip, nil
		case ctx.Err() != nil, !solana.Retryable(err) && !s.worked.Load():
			return 0, fmt.Errorf("look at the tip: %w", err)
		}
		s.log.Warn("the server does not tell its slot, still asking", "err", err)
		if err := pause.For(ctx, maxWait); err != nil {
			return 0, err
		}
	}
}

// hopeless reports whether the server refuses the call as it refuses all calls with a wrong key or
// address. One that has worked before may do so again.
func hopeless(err error) bool {
	var status *solana.HTTPError
	return errors.As(err, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden || status.Status == http.StatusNotFound)
}
