package runner

import (
	"context"
	"sync"
	"time"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/tracing"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// job is one block on its way from the source to its slot record.
type job struct {
	// block is nil if only a slot record or a status is to be written, and once the block is
	// decoded.
	block      *chain.Block
	receivedAt time.Time
	// slot is the slot record, written once everything else of the job is acknowledged; nil for
	// lone transactions.
	slot *eventspb.SlotRecord
	// letters are the dead letters of transactions that could not be read.
	letters []kafka.Record
	// recordOnly means that the job has no block, only a slot record or a status.
	recordOnly bool
	// stream is what the public stream gets of the block. If status is not unspecified, the stream
	// also gets it as the status of the slot statusOf.
	stream   *transactions.Block
	status   eventspb.StreamSlotStatus
	statusOf uint64

	// decoded is closed when out is set.
	decoded chan struct{}
	out     output
	// produced is closed when the records of out are acknowledged, or err is set.
	produced chan struct{}
	err      error

	// span lasts from the arrival of a block to its slot record; nil if the block is not traced.
	span *tracing.Span
}

// trace begins the span of the job's block, if it has one.
func (j *job) trace(ctx context.Context, tracer *tracing.Tracer) {
	if j.block != nil {
		_, j.span = tracer.Start(ctx, "ingest block")
		j.span.Int("slot", int(j.block.Slot))
		j.span.Int("transactions", len(j.block.Transactions))
	}
}

// mark adds the block's traceparent to its records, so that their readers can link to it.
func (j *job) mark() {
	traceparent := j.span.Traceparent()
	if traceparent == "" {
		return
	}
	header := kafka.Header{Key: tracing.Header, Value: []byte(traceparent)}
	for i := range j.out.records {
		record := &j.out.records[i]
		record.Headers = append(record.Headers, header)
	}
	j.span.Int("records", len(j.out.records))
}

// pipeline takes blocks through four steps. Workers decode them in parallel. sequence, in order,
// decides which mints and pools a block introduces. The records of several blocks are written
// concurrently. commit, in order, writes the slot records.
type pipeline struct {
	runner *Runner
	base   context.Context // ends with the pipeline, later than the sources' context
	cancel context.CancelCauseFunc

	inFlight chan struct{} // a semaphore: one token for each job in flight
	mu       sync.Mutex    // makes work and ordered get the jobs in the same order
	closed   bool
	work     chan *job
	ordered  chan *job
	commits  chan *job
	steps    sync.WaitGroup
}

func newPipeline(base context.Context, r *Runner, cancel context.CancelCauseFunc) *pipeline {
	n := r.cfg.maxInFlight
	return &pipeline{
		runner: r, base: base, cancel: cancel, inFlight: make(chan struct{}, n),
		work: make(chan *job, n), ordered: make(chan *job, n), commits: make(chan *job, n),
	}
}

// fail ends the run with err.
func (p *pipeline) fail(err error) { p.cancel(err) }

// submit waits until fewer than maxInFlight jobs are in flight, and starts the job. It returns
// ctx's error, or the pipeline's error if the pipeline has ended.
func (p *pipeline) submit(ctx context.Context, j *job) error {
	select {
	case p.inFlight <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.base.Done():
		return context.Cause(p.base)
	}
	j.decoded, j.produced = make(chan struct{}), make(chan struct{})
	j.trace(p.base, p.runner.deps.Tracer)
	p.runner.metrics.inFlight.Inc()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return context.Canceled // a source still calls its sink after its Run has returned
	}
	p.work <- j // never blocks: it has room for each job in flight
	p.ordered <- j
	return nil
}

// start starts the goroutines of the steps. If one of them fails, all end.
func (p *pipeline) start() {
	for range decodeWorkers {
		p.step(p.decode)
	}
	p.step(p.sequence)
	p.step(p.commit)
}

func (p *pipeline) step(run func(context.Context) error) {
	p.steps.Go(func() {
		if err := run(p.base); err != nil {
			p.fail(err)
		}
	})
}

// drain tells the steps that no more jobs come. It waits until the jobs under way are done, or one
// of them fails.
func (p *pipeline) drain() {
	p.mu.Lock()
	p.closed = true
	close(p.work)
	close(p.ordered)
	p.mu.Unlock()
	p.steps.Wait()
}

// decode is one of the workers that decode blocks. It also makes the form of a block that the
// public stream gets. Then it drops the block itself, so that the block's memory can be freed.
func (p *pipeline) decode(ctx context.Context) error {
	for j := range p.work {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if j.block != nil {
			begin := time.Now()
			out, err := p.runner.decodeBlock(j)
			if err != nil {
				return err
			}
			p.runner.metrics.decodeSeconds.Observe(time.Since(begin).Seconds())
			if p.runner.deps.Stream != nil {
				j.stream = transactions.NewBlock(j.block, j.receivedAt, p.runner.cfg.AllTransactions)
			}
			j.out, j.block = out, nil
		}
		close(j.decoded)
	}
	return nil
}

// sequence is one goroutine that takes the jobs in the order of the source. It decides which mints
// and pools a block introduces, so that this depends on the order of the blocks only. Then it
// starts the writing of the block's records, and does not wait for it.
func (p *pipeline) sequence(ctx context.Context) error {
	defer close(p.commits)
	for j := range p.ordered {
		select {
		case <-j.decoded:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := p.runner.introduce(j); err != nil {
			return err
		}
		if err := p.runner.introducePools(j); err != nil {
			return err
		}
		j.mark()
		p.commits <- j // never blocks: it has room for each job in flight
		durable := p.stream(j)
		if len(j.out.records) == 0 && durable == nil {
			close(j.produced)
			continue
		}
		p.steps.Go(func() {
			j.err = p.runner.deps.Producer.Produce(ctx, j.out.records...)
			if j.err == nil && durable != nil {
				select {
				case <-durable:
				case <-ctx.Done():
					j.err = context.Cause(ctx)
				}
			}
			close(j.produced) // commit looks at j.err when it is this job's turn
		})
	}
	return nil
}

// stream passes the job's status and block on to the public stream. The returned channel is closed
// when the stream has the block durably. It is nil if the job has nothing to wait for.
func (p *pipeline) stream(j *job) (durable <-chan struct{}) {
	if p.runner.deps.Stream == nil {
		return nil
	}
	if j.status != eventspb.StreamSlotStatus_STREAM_SLOT_STATUS_UNSPECIFIED {
		p.runner.deps.Stream.Status(j.statusOf, j.status)
	}
	if j.stream == nil {
		return nil
	}
	durable, j.stream = p.runner.deps.Stream.Block(j.stream), nil
	return durable
}

// maxCommit bounds the slot records in one write.
const maxCommit = 256

// commit writes slot records in order, as many in one write as are ready.
func (p *pipeline) commit(ctx context.Context) error {
	var next *job
	for {
		batch, following, err := p.ready(ctx, next)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			return nil
		}
		next = following
		if err := p.writeSlots(ctx, batch); err != nil {
			return err
		}
		for _, j := range batch {
			p.runner.acknowledge(j)
			j.span.End()
			p.runner.metrics.inFlight.Dec()
			<-p.inFlight
		}
	}
}

// ready waits until the records of the next job are acknowledged. It returns this job and the jobs
// after it whose records are acknowledged too. An empty batch without an error means that no more
// jobs come. following is a job that ready took from the queue although its records are not
// acknowledged yet, or failed. The caller must pass it as first to the next call.
func (p *pipeline) ready(ctx context.Context, first *job) (batch []*job, following *job, err error) {
	if first == nil {
		j, ok := <-p.commits
		if !ok {
			return nil, nil, context.Cause(ctx)
		}
		first = j
	}
	select {
	case <-first.produced:
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
	if first.err != nil {
		return nil, nil, first.err
	}
	batch = append(batch, first)
	for len(batch) < maxCommit {
		select {
		case j, ok := <-p.commits:
			if !ok {
				return batch, nil, nil
			}
			select {
			case <-j.produced:
				if j.err != nil {
					return batch, j, nil // the jobs before it can still be committed
				}
				batch = append(batch, j)
			default:
				return batch, j, nil
			}
		default:
			return batch, nil, nil
		}
	}
	return batch, nil, nil
}

// writeSlots writes the slot records of the batch. A record without a block is left out if it says
// nothing new, see news.
func (p *pipeline) writeSlots(ctx context.Context, batch []*job) error {
	var records []kafka.Record
	latest := make(map[uint64]eventspb.SlotStatus)
	for _, j := range batch {
		if j.slot == nil {
			continue
		}
		if j.recordOnly && !p.news(j.slot, latest) {
			j.slot = nil
			continue
		}
		latest[j.slot.GetSlot()] = j.slot.GetStatus()
		record, err := ledgerRecord(j.slot, j.receivedAt)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil
	}
	return p.runner.deps.Producer.Produce(ctx, records...)
}

// news reports whether a slot record without a block is to be written. latest has the statuses of
// the earlier records of the batch. The status of any other slot comes from the ledger. A dead slot
// is news unless it is known as dead. A skipped slot is news if nothing is known of it.
func (p *pipeline) news(record *eventspb.SlotRecord, latest map[uint64]eventspb.SlotStatus) bool {
	known, ok := latest[record.GetSlot()]
	if !ok {
		known = p.runner.ledger.Status(record.GetSlot())
	}
	if record.GetStatus() == eventspb.SlotStatus_SLOT_STATUS_DEAD {
		return known != record.GetStatus()
	}
	return known == eventspb.SlotStatus_SLOT_STATUS_UNSPECIFIED
}
