package enrich

import (
	"context"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana"
)

const (
	// firstRead is how many bytes of every account a batch reads. Anyone may request any address,
	// so a batch of whole accounts could be 1 GB. A mint or a metadata account is seldom over 2 KB,
	// and the few that reach firstRead are read again, alone.
	firstRead = 4096
	// wholeRead bounds what is read of an account that is read alone, in bytes. A Token-2022
	// extension has at most 64 KiB, and only one extension of a mint can be that large.
	wholeRead = 256 << 10
	// behindDelay is the time between two reads from an RPC server that has not reached the slot of
	// a request. It is two slots of 200 ms.
	behindDelay = 400 * time.Millisecond
)

// stage decides which accounts to read for a job, and what to do with them.
type stage interface {
	// keys returns the accounts that j needs, the same number for every job.
	keys(j *job) []pubkey.Key
	// answered reports whether an earlier read answers j. If so, it passes j on or completes it,
	// and ends j's turn.
	answered(j *job) bool
	// answer handles what was read for a batch. It makes the facts durable and ends the turns of
	// the jobs, except those that it puts off.
	answer(ctx context.Context, batch []*job, r reading) error
}

// batches reads the accounts of many jobs in one call. It handles a server that fails or refuses.
type batches struct {
	e     *Enricher
	stage stage
	// name is that of the stage's spans.
	name string
	// size is how many jobs one call reads.
	size    int
	turns   *keyed
	pending chan *job
	// probe is an account that always exists, see healthy.
	probe pubkey.Key
}

// newBatches makes the batches of a stage, of size jobs each. Of the jobs with the same turn key,
// only one at a time is in the stage.
func newBatches(e *Enricher, s stage, name string, size int, turn func(*job) pubkey.Key) (*batches, error) {
	probe, err := pubkey.Parse(schemas.MintWrappedSOL)
	if err != nil {
		return nil, fmt.Errorf("enrich: wrapped SOL: %w", err)
	}
	return &batches{
		e: e, stage: s, name: name, size: size, turns: newKeyed(turn), pending: make(chan *job, e.cfg.maxInFlight), probe: probe,
	}, nil
}

// submit passes j to the stage, where j may have to wait for its turn. It never blocks: every job
// in the stage holds one of the maxInFlight places, and is at most once in pending.
func (b *batches) submit(j *job) {
	if b.turns.enter(j) {
		b.pending <- j
	}
}

// finish ends j's turn in the stage and begins that of the next job with the same turn key.
func (b *batches) finish(j *job) {
	if next := b.turns.leave(j); next != nil {
		b.pending <- next
	}
}

// run gathers jobs into batches and reads up to rpcConcurrency batches at a time.
func (b *batches) run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	// One place more than rpcConcurrency, for the goroutine that gathers.
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

// work reads a batch. Its span lasts until the facts are durable, and includes all retries.
func (b *batches) work(ctx context.Context, batch []*job) error {
	ctx, span := b.e.span(ctx, b.name, batch...)
	err := b.readBatch(ctx, batch, firstRead)
	span.EndWith(err)
	return err
}

// gather waits for a job, then for more until the batch is full or its window is over. A job that
// an earlier read answers does not join the batch.
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

// readBatch reads the batch's accounts until it has an answer. If the attempts are used up although
// the server is healthy, isolate looks for the job that is the cause. While the server is away,
// readBatch goes on without limit: requests must not be given up because the server is down.
func (b *batches) readBatch(ctx context.Context, batch []*job, length uint64) error {
	keys := make([]pubkey.Key, 0, 2*len(batch))
	for _, j := range batch {
		keys = append(keys, b.stage.keys(j)...)
	}
	delays := b.delays()
	started := time.Now()
	for attempt := 1; ; attempt++ {
		r, err := b.call(ctx, keys, length)
		if err == nil {
			return b.stage.answer(ctx, batch, r)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		exhausted := attempt >= b.e.cfg.attempts && (!solana.Retryable(err) || time.Since(started) >= b.e.cfg.patience)
		if exhausted && b.healthy(ctx) {
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

// call makes one call of getMultipleAccounts. At most rpcConcurrency calls are under way, counting
// those of the other stage.
func (b *batches) call(ctx context.Context, keys []pubkey.Key, length uint64) (reading, error) {
	return b.callOf(ctx, b.e.upstreams.order(), keys, length)
}

// callOf is call with the upstreams to ask, in this order.
func (b *batches) callOf(ctx context.Context, toAsk []*upstream, keys []pubkey.Key, length uint64) (reading, error) {
	if err := b.e.rpcCalls.Acquire(ctx, 1); err != nil {
		return reading{}, err
	}
	defer b.e.rpcCalls.Release(1)
	return b.e.upstreams.readStart(ctx, toAsk, keys, readCommitment, length, b.e.metrics.rpcCalls)
}

// healthy reports whether the server answers for an account that always exists. If so, a read fails
// because of what it asks for, and not because the server is down.
func (b *batches) healthy(ctx context.Context) bool {
	_, err := b.call(ctx, []pubkey.Key{b.probe}, firstRead)
	return err == nil
}

// isolate reads the two halves of a batch that the server refuses, each like a batch of its own. If
// the server refuses a half, that half is halved again, until the job that is the cause is alone.
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

// lastRead reads once more for a job that is alone. The server may have recovered between the
// failed read and the check of its health. A request is given up only if a read fails after the
// server was healthy.
func (b *batches) lastRead(ctx context.Context, alone []*job, length uint64) error {
	r, err := b.call(ctx, b.stage.keys(alone[0]), length)
	switch {
	case err == nil:
		return b.stage.answer(ctx, alone, r)
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		return b.giveUp(ctx, alone[0], reasonRPC, err.Error())
	}
}

// giveUp writes the dead letter of the job's request and ends its turn.
func (b *batches) giveUp(ctx context.Context, j *job, reason, detail string) error {
	if err := b.e.giveUp(ctx, j, reason, detail); err != nil {
		return err
	}
	b.finish(j)
	return nil
}

// giveUpBehind gives up a job whose slot the server did not reach in time.
func (b *batches) giveUpBehind(ctx context.Context, j *job, slot uint64) error {
	return b.giveUp(ctx, j, reasonRPCBehind, fmt.Sprintf("server is at slot %d, the request at %d", slot, j.request.GetSlot()))
}

// waitForSlot puts off a job whose slot the server has not reached: the accounts would be older
// than what the request is about. It returns false if the job has waited for Config.patience
// already.
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
