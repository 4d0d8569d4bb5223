package validator

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/bootstrap/validator/archive"
	"github.com/mintlake/mintlake/solana/lattice"
)

// worker has what one goroutine needs to look at accounts: buffers that are used again, and sum and
// skipped, which it adds to.
type worker struct {
	hasher  lattice.Hasher
	sum     lattice.Hash
	entries []entry
	facts   []byte
	held    []byte
	value   []byte
	skipped map[string]int64
}

// job is a chunk of a storage, with the rank of the storage.
type job struct {
	rank  uint32
	chunk *archive.Chunk
}

// pass reads one archive from front to back, and has several goroutines look at its chunks.
type pass struct {
	reader *archive.Reader
	// base is the rank of the archive's first storage.
	base uint32
	// skip is how many storages at the front are left out. Of the other storages, those are looked
	// at for which want returns true; all of them if want is nil.
	skip int
	want func(rank uint32) bool
	// look is what a worker does with a chunk.
	look func(w *worker, rank uint32, chunk *archive.Chunk) error
	// storage is called when a storage was read, with the number of its accounts. pause waits until
	// the workers have looked at everything that was read, and returns their error. If storage
	// returns errEnough, the pass ends.
	storage func(rank, accounts uint32, pause func() error) error
}

// outcome counts the chunks that the workers have not looked at yet, and has the workers' first
// error.
type outcome struct {
	busy sync.WaitGroup
	once sync.Once
	err  error
}

// ended notes that the work on a chunk has ended, with its error or nil. It returns err.
func (o *outcome) ended(err error) error {
	if err != nil {
		o.once.Do(func() { o.err = err })
	}
	o.busy.Done()
	return err
}

func (o *outcome) wait() error {
	o.busy.Wait()
	return o.err
}

// errEnough ends a pass before the archive's end.
var errEnough = errors.New("enough was read")

// newWorkers returns as many workers as there are processors.
func newWorkers() []*worker {
	workers := make([]*worker, runtime.GOMAXPROCS(0))
	for i := range workers {
		workers[i] = &worker{skipped: map[string]int64{}}
	}
	return workers
}

// run makes the pass. When it returns, all workers have stopped.
func (p *pass) run(ctx context.Context, workers []*worker) error {
	group, ctx := errgroup.WithContext(ctx)
	jobs := make(chan job)
	free := make(chan *archive.Chunk, 2*len(workers)+1) // bounds the memory
	for range cap(free) {
		free <- new(archive.Chunk)
	}
	out := new(outcome)
	for _, w := range workers {
		group.Go(func() error {
			for j := range jobs {
				err := p.look(w, j.rank, j.chunk)
				free <- j.chunk
				if out.ended(err) != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(jobs)
		return p.read(ctx, jobs, free, out)
	})
	err := group.Wait()
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// read gives the archive's storages to the workers, one after the other.
func (p *pass) read(ctx context.Context, jobs chan<- job, free chan *archive.Chunk, out *outcome) error {
	for number := 0; ; number++ {
		storage, err := p.reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		rank := p.base + uint32(storage.Index)
		if number < p.skip || p.want != nil && !p.want(rank) {
			if err := ctx.Err(); err != nil {
				return err
			}
			continue
		}
		if err := send(ctx, storage, rank, jobs, free, out); err != nil {
			return err
		}
		if err := p.storage(rank, storage.Accounts(), out.wait); err != nil {
			return err
		}
	}
}

// send gives a storage's chunks to the workers.
func send(ctx context.Context, storage *archive.Storage, rank uint32, jobs chan<- job, free chan *archive.Chunk, out *outcome) error {
	for {
		var chunk *archive.Chunk
		select {
		case chunk = <-free:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := storage.Fill(chunk)
		if errors.Is(err, io.EOF) {
			free <- chunk
			return nil
		}
		if err != nil {
			return err
		}
		out.busy.Add(1)
		select {
		case jobs <- job{rank, chunk}:
		case <-ctx.Done():
			out.busy.Done()
			return ctx.Err()
		}
	}
}
