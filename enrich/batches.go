package enrich

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/internal/solana"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const (
	// firstRead is how much of every account the batch asks for. Anyone may name any address, so a
	// batch of whole accounts could be 1 GB; a mint or a metadata account is seldom over 2 KB, and
	// the few that reach firstRead are read again, alone.
	firstRead = 4096
	// wholeRead bounds what is read of such an account: a Token-2022 extension has at most 64 KiB,
	// and only one of a mint's can be that large.
	wholeRead = 256 << 10
	// behindDelay is the time between two looks at an RPC server that has not reached the slot of a
	// request: about a block.
	behindDelay = 400 * time.Millisecond
)

// reading is one answer of getMultipleAccounts: as many accounts of each job as the stage asks for.
type reading struct {
	slot     uint64
	accounts []*solana.Account
	length   uint64
}

// stage says what to read and what to make of it.
type stage interface {
	// keys of the accounts that j needs, as many for every job.
	keys(j *job) []pubkey.Key
	// answered ends j's turn when an earlier read answers it.
	answered(j *job) bool
	// answer takes what was read for a batch, makes it durable and ends the turns of its jobs, but
	// for those that it puts off.
	answer(ctx context.Context, batch []*job, r reading) error
}

// batches reads the accounts of many jobs in one call, and knows what to do when the server does
// not answer.
type batches struct {
	e     *Enricher
	stage stage
	// name of the stage's spans.
	name string
	// size is how many jobs one call reads.
	size    int
	turns   *keyed
	pending chan *job
	probe   pubkey.Key
}

// newBatches makes the batches of a stage, size jobs each. Of the jobs with one turn key one at a
// time is in the stage.
func newBatches(e *Enricher, s stage, name string, size int, turn func(*job) pubkey.Key) (*batches, error) {
	probe, err := pubkey.Parse(schemas.MintWrappedSOL)
	if err != nil {
		return nil, fmt.Errorf("enrich: wrapped SOL: %w", err)
	}
	return &batches{
		e: e, stage: s, name: name, size: size, turns: newKeyed(turn), pending: make(chan *job, e.cfg.maxInFlight), probe: probe,
	}, nil
}

// submit never blocks: every job in the stage holds one of the MaxInFlight places, and is at most
// once in pending.
func (b *batches) submit(j *job) {
	if b.turns.enter(j) {
		b.pending <- j
	}
}

// finish ends j's turn in the stage.
func (b *batches) finish(j *job) {
	if next := b.turns.leave(j); next != nil {
		b.pending <- next
	}
}

// run gathers jobs into batches and has up to RPCConcurrency of them under way.
func (b *batches) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	// One more than the readers, for the gatherer itself.
	group.SetLimit(b.e.cfg.rpcConcurrency + 1)
	group.Go(func() error {
		for {
			batch := b.gather(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if len(batch) > 0 {
				group.Go(func() error { return b.work(ctx, batch) })
			}
		}
	})
	return group.Wait()
}

// work reads a batch. Its span lasts until the facts are durable, however often the server was
// asked.
func (b *batches) work(ctx context.Context, batch []*job) error {
	ctx, span := b.e.span(ctx, b.name, batch...)
	err := b.readBatch(ctx, batch, firstRead)
	span.EndWith(err)
	return err
}

// gather waits for a job and then for others until the batch is full or its window is over. Jobs
// that an earlier read answers go on without one.
func (b *batches) gather(ctx context.Context) []*job {
	var batch []*job
	var window <-chan time.Time
	for len(batch) < b.size {
		select {
		case <-ctx.Done():
			return nil
		case <-window:
			return batch
		case j := <-b.pending:
			if b.stage.answered(j) {
				continue
			}
			batch = append(batch, j)
			if window == nil {
				window = time.After(b.e.cfg.batchWindow)
			}
		}
	}
	return batch
}

// readBatch reads the batch's accounts until it has an answer. While the server is away it waits,
// however long: a backlog is not given up because the one who should answer it is down.
func (b *batches) readBatch(ctx context.Context, batch []*job, length uint64) error {
	keys := make([]pubkey.Key, 0, 2*len(batch))
	for _, j := range batch {
		keys = append(keys, b.stage.keys(j)...)
	}
	delays := b.delays()
	started := time.Now()
	for attempt := 1; ; attempt++ {
		slot, accounts, err := b.call(ctx, keys, length)
		if err == nil {
			return b.stage.answer(ctx, batch, reading{slot: slot, accounts: accounts, length: length})
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		tired := attempt >= b.e.cfg.attempts && (!solana.Retryable(err) || time.Since(started) >= b.e.cfg.patience)
		if tired && b.healthy(ctx) {
			return b.isolate(ctx, batch, length)
		}
		if attempt == b.e.cfg.attempts {
			b.e.logger.Warn("account reads fail, still trying", "err", err)
		}
		if err := pause.For(ctx, delays.NextBackOff()); err != nil {
			return err
		}
	}
}

func (b *batches) delays() *backoff.ExponentialBackOff {
	delays := backoff.NewExponentialBackOff()
	delays.InitialInterval = min(b.e.cfg.retryDelay, b.e.cfg.maxRetryDelay)
	delays.Multiplier = 2
	delays.MaxInterval = b.e.cfg.maxRetryDelay
	return delays
}

// call makes one call when fewer than RPCConcurrency are under way, those of the other stage
// counted.
func (b *batches) call(ctx context.Context, keys []pubkey.Key, length uint64) (uint64, []*solana.Account, error) {
	if err := b.e.rpcCalls.Acquire(ctx, 1); err != nil {
		return 0, nil, err
	}
	defer b.e.rpcCalls.Release(1)
	slot, accounts, err := b.e.rpc.GetMultipleAccounts(ctx, keys, solana.AccountOptions{
		Commitment: b.e.cfg.commitment, DataSlice: &solana.DataSlice{Length: length},
	})
	if err == nil && len(accounts) != len(keys) {
		err = fmt.Errorf("%w: %d accounts for %d keys", solana.ErrMalformed, len(accounts), len(keys))
	}
	switch {
	case err == nil:
		b.e.metrics.rpcCalls.WithLabelValues(rpcOK).Inc()
	case solana.Retryable(err):
		b.e.metrics.rpcCalls.WithLabelValues(rpcRetryable).Inc()
	default:
		b.e.metrics.rpcCalls.WithLabelValues(rpcRefused).Inc()
	}
	return slot, accounts, err
}

// healthy says whether the server answers for an account that always exists: then what it refuses
// is the request, not everyone.
func (b *batches) healthy(ctx context.Context) bool {
	_, _, err := b.call(ctx, []pubkey.Key{b.probe}, firstRead)
	return err == nil
}

// isolate halves a batch that the server refuses, until the job is alone that makes it refuse.
func (b *batches) isolate(ctx context.Context, batch []*job, length uint64) error {
	if len(batch) == 1 {
		return b.lastRead(ctx, batch, length)
	}
	half := len(batch) / 2
	if err := b.readBatch(ctx, batch[:half], length); err != nil {
		return err
	}
	return b.readBatch(ctx, batch[half:], length)
}

// lastRead reads once more for a job that is alone, since the server may have come back between the
// read that failed and the look at its health: a request is given up only when a read fails after
// the server was seen to answer.
func (b *batches) lastRead(ctx context.Context, alone []*job, length uint64) error {
	slot, accounts, err := b.call(ctx, b.stage.keys(alone[0]), length)
	switch {
	case err == nil:
		return b.stage.answer(ctx, alone, reading{slot: slot, accounts: accounts, length: length})
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return b.giveUp(ctx, alone[0], reasonRPC, err.Error())
	}
}

// giveUp buries the job's request and ends its turn.
func (b *batches) giveUp(ctx context.Context, j *job, reason, detail string) error {
	if err := b.e.giveUp(ctx, j, reason, detail); err != nil {
		return err
	}
	b.finish(j)
	return nil
}

// giveUpBehind is for a job that waited in vain for the server to reach its slot.
func (b *batches) giveUpBehind(ctx context.Context, j *job, slot uint64) error {
	return b.giveUp(ctx, j, reasonRPCBehind, fmt.Sprintf("server is at slot %d, the request at %d", slot, j.request.GetSlot()))
}

// waitForSlot puts a job off whose slot the server has not reached: what it would answer is older
// than what the asker saw. False when the job's patience is over.
func (b *batches) waitForSlot(j *job) bool {
	now := time.Now()
	if j.behindSince.IsZero() {
		j.behindSince = now
	}
	if now.Sub(j.behindSince) >= b.e.cfg.patience {
		return false
	}
	time.AfterFunc(min(behindDelay, b.e.cfg.patience), func() { b.pending <- j })
	return true
}
