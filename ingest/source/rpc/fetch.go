package rpc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/steady"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

// maxChunk is how many slots one getBlocks call asks about. Nodes allow 500,000.
const maxChunk = 5_000

// maxUnlisted is how many slots after the last listed block may pass without another listed block
// while the tip is followed. Then each of these slots is asked for. 64 slots take 13 s.
const maxUnlisted = 64

// listAgain is for how long a server that refuses getBlocks is not asked for a list.
const listAgain = 10 * time.Minute

// job is the fetch of one slot. block and err are set before done is closed.
type job struct {
	slot uint64
	// listed means that getBlocks lists the slot, so that it has a block. Any other slot may have
	// none, and is asked for without waiting.
	listed bool
	// known means that the ledger may have the block, so the header is fetched first.
	known bool
	done  chan struct{}
	block *chain.Block
	err   error
	// through is the slot up to which everything has been read once this job is done.
	through uint64
}

// produce starts a fetch for every slot that has a block, in order. The capacity of the queue
// bounds the blocks in memory. While the tip is followed, slots after the last listed block are
// listed again, because a server may list its newest blocks late.
func (r *run) produce(ctx context.Context, group *errgroup.Group, queue chan<- *job) error {
	told := false
	for next := r.from; r.cfg.To == nil || next <= *r.cfg.To; {
		tip, err := r.tip(ctx)
		if err != nil {
			return err
		}
		if r.cfg.To == nil && next > tip+maxUnlisted && !told {
			told = true
			r.log.Warn("the server is behind the slots of the log; waiting for it", "slot", tip, "next_slot", next)
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
		slots, listed, err := r.slots(ctx, next, last)
		if err != nil {
			return err
		}
		if r.cfg.To == nil && listed {
			switch {
			case len(slots) > 0:
				last = slots[len(slots)-1]
			case last-next < maxUnlisted:
				if err := pause.For(ctx, r.cfg.poll); err != nil {
					return err
				}
				continue
			default:
				slots, listed = between(next, last), false
			}
		}
		if err := r.start(ctx, group, queue, slots, listed, last); err != nil {
			return err
		}
		next = last + 1
	}
	r.complete = true
	return nil
}

// start starts the fetches of some slots. No other slot up to last is to be fetched.
func (r *run) start(ctx context.Context, group *errgroup.Group, queue chan<- *job, slots []uint64, listed bool, last uint64) error {
	for i, slot := range slots {
		if r.partial.enough(slot) {
			continue
		}
		j := &job{slot: slot, listed: listed, known: slot <= r.resume, done: make(chan struct{}), through: slot}
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

// slots returns the slots in [from, to] that have a block according to getBlocks, ascending, each
// once. If the server answers getBlocks with an error, for example because it does not offer the
// method, slots returns all slots in [from, to] with listed false, and does the same for listAgain
// without asking.
func (s *Source) slots(ctx context.Context, from, to uint64) (slots []uint64, listed bool, err error) {
	if steady.Now() < s.noLists.Load() {
		return between(from, to), false, nil
	}
	slots, err = retry(ctx, s, func() ([]uint64, error) { return s.client.GetBlocks(ctx, from, to, s.cfg.Commitment) })
	switch {
	case ctx.Err() != nil:
		return nil, false, fmt.Errorf("list blocks: %w", err)
	case err != nil:
		s.noLists.Store(steady.Now() + int64(listAgain))
		return between(from, to), false, nil
	}
	slices.Sort(slots)
	slots = slices.Compact(slots)
	// A server may list slots that it was not asked for.
	slots = slices.DeleteFunc(slots, func(slot uint64) bool { return slot < from || slot > to })
	return slots, true, nil
}

// between returns all slots from..to, both included.
func between(from, to uint64) (slots []uint64) {
	for slot := from; slot <= to; slot++ {
		slots = append(slots, slot)
	}
	return slots
}

// fetch gets and parses one block, or only its header if the ledger has the block.
func (r *run) fetch(ctx context.Context, j *job) {
	ask := asking{now: !j.listed}
	if j.known {
		header := asking{now: ask.now, headerOnly: true}
		if b, err := r.block(ctx, j.slot, header); err == nil && r.ledger.Ingested(j.slot, b.Blockhash) {
			b.Known = true
			j.block = b
			return
		}
	}
	for try := 1; ; try++ {
		j.block, j.err = r.block(ctx, j.slot, ask)
		// The server lists the slot, and says that it has no block. Another server at the same
		// address may answer better.
		if !j.listed || !solana.SkippedSlot(j.err) || try == maxAsked || pause.For(ctx, r.cfg.firstPause) != nil {
			return
		}
	}
}

// asking says how a block is asked for.
type asking struct {
	// headerOnly leaves out the transactions.
	headerOnly bool
	// now means not to wait for a block that the server does not have. The error is then errAbsent.
	now bool
}

// errAbsent means that the server does not have the block now. Either the block comes later, or the
// slot has none.
var errAbsent = errors.New("the server does not have the block")

// maxGarbage is how often a block is asked for while its answers are unreadable: another server, or
// the same one later, may do better.
const maxGarbage = 3

// block fetches a block or only its header, and parses it.
func (s *Source) block(ctx context.Context, slot uint64, ask asking) (*chain.Block, error) {
	highest := s.cfg.Reader.Highest()
	opts := solana.BlockOptions{Commitment: s.cfg.Commitment, HeaderOnly: ask.headerOnly, NoWait: ask.now, MaxVersion: &highest}
	for try := 1; ; try++ {
		raw, err := retry(ctx, s, func() ([]byte, error) {
			raw, err := s.client.GetBlock(ctx, slot, opts)
			if ask.now && solana.BlockNotAvailable(err) {
				return nil, errAbsent
			}
			return raw, err
		})
		if version, ok := solana.UnsupportedVersion(err); ok && !ask.headerOnly {
			return s.withheld(ctx, slot, version)
		}
		if err != nil {
			return nil, err
		}
		s.metrics.Message(len(raw))
		var b *chain.Block
		if ask.headerOnly {
			b, err = parse.BlockHeaderJSON(raw, slot)
		} else {
			b, err = s.cfg.Reader.BlockJSON(raw, slot)
		}
		if err == nil {
			err = s.once(slot, b.Blockhash)
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

// maxHashes is how many blocks are remembered by their hash.
const maxHashes = 4096

// once returns an error if the same block was the answer for another slot before. Then the server,
// or a proxy, has repeated its answer to an earlier call.
func (s *Source) once(slot uint64, hash pubkey.Key) error {
	if before, known, _ := s.hashes.PeekOrAdd(hash, slot); known && before != slot {
		return fmt.Errorf("%w: the block of slot %d", solana.ErrMalformed, before)
	}
	return nil
}

// retry calls ask, with growing pauses, until ask succeeds, its error cannot be retried, or ctx
// ends. If the server answers with an RPCError, or answers getSlot while ask fails, retry gives up
// after cfg.patience. The client has already retried within its own bounds.
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
		case errors.Is(err, errAbsent), !solana.Retryable(err) && (!hopeless(err) || !s.worked.Load()):
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

// answers reports whether the server answers getSlot now.
func (s *Source) answers(ctx context.Context) bool {
	_, err := s.client.GetSlot(ctx, s.cfg.Commitment)
	return err == nil
}

// tip returns the server's highest slot. It waits until the server tells the slot. It returns an
// error if ctx ends, or if the server refuses the call for good and has not given a block yet.
func (s *Source) tip(ctx context.Context) (uint64, error) {
	for {
		tip, err := retry(ctx, s, func() (uint64, error) {
			slot, err := s.client.GetSlot(ctx, s.cfg.Commitment)
			if err == nil {
				// A slot that the chain cannot have reached is retried: another server, or the same
				// one later, may tell the right slot.
				if no := s.bounds.Read(s.cfg.kind, slot); no != nil {
					err = fmt.Errorf("getSlot: %w: %w", solana.ErrMalformed, no)
				}
			}
			return slot, err
		})
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

// hopeless reports whether the server refuses the call as servers do if the key or the address is
// wrong. A server that has worked before may work again, so callers also look at Source.worked.
func hopeless(err error) bool {
	var status *solana.HTTPError
	return errors.As(err, &status) && (status.Status == http.StatusUnauthorized || status.Status == http.StatusForbidden || status.Status == http.StatusNotFound)
}
