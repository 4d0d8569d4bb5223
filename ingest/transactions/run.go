package transactions

import (
	"context"
	"fmt"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
)

// Run writes entries to Kafka from Begin on until ctx ends. A block that is not written by then is
// in the spill, or is not durable, so that its slot is not in the ledger and is read again. Run
// returns an error of the producer or of opening the spill.
func (p *Publisher) Run(ctx context.Context) error {
	p.mu.Lock()
	err := p.open()
	p.mu.Unlock()
	if err != nil {
		return fmt.Errorf("publish transactions: %w", err)
	}
	defer p.close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() { failed <- p.write(ctx) }()
	tick := time.NewTicker(p.cfg.memoryTime / 4)
	defer tick.Stop()
	for {
		select {
		case err := <-failed:
			if err != nil {
				return fmt.Errorf("publish transactions: %w", err)
			}
			return nil
		case now := <-tick.C:
			p.age(now)
		}
	}
}

// age moves the entries in memory to the disk if blocks are live and the oldest entry in memory has
// waited for longer than memoryTime.
func (p *Publisher) age(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.live {
		return
	}
	for _, e := range p.pending {
		if e.place == nil && e.records != nil {
			if now.Sub(e.since) > p.cfg.memoryTime {
				p.toDisk()
			}
			return
		}
	}
}

// write waits for Begin, then writes the oldest entries to Kafka until ctx ends.
func (p *Publisher) write(ctx context.Context) error {
	select {
	case <-p.begun:
	case <-ctx.Done():
		return nil
	}
	for {
		batch, records := p.batch()
		if len(batch) == 0 {
			select {
			case <-p.wake:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		if len(records) > 0 {
			if err := p.deps.Producer.Produce(ctx, records...); err != nil {
				if ctx.Err() != nil {
					return nil
				}
				return err
			}
		}
		p.written(batch)
		p.metrics.published.Add(float64(len(records)))
	}
}

// batch returns the oldest entries, as many as fit into requestBytes but at least one, and their
// records. An entry that cannot be read from the disk is returned without records.
func (p *Publisher) batch() (batch []*entry, records []kafka.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := 0
	for _, e := range p.pending {
		if size > 0 && size+e.size > requestBytes {
			break
		}
		list := e.records
		if e.place != nil {
			var err error
			if list, err = e.place.records(); err != nil {
				// The disk lost the entry. Readers see that the parent of the next slot is missing.
				p.deps.Logger.Error("a slot was left out of the stream", "err", err)
				p.metrics.lost.Inc()
				list = nil
			}
			if e.left {
				raise(list, p.began) // another process may have led since, and written higher slots
			}
		}
		batch, records = append(batch, e), append(records, list...)
		size += sizeOf(list) + 1 // above 0 also after an entry without records
	}
	return batch, records
}

// written removes the batch, which is the oldest entries, from pending and from the spill.
func (p *Publisher) written(batch []*entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pending = p.pending[len(batch):]
	for _, e := range batch {
		if e.place != nil {
			if err := p.spill.release(*e.place); err != nil {
				p.deps.Logger.Warn("a file of the spill stays", "err", err)
			}
			continue
		}
		if e.records != nil { // else spillOne has lost the entry, and closed durable
			p.memory--
			p.bytes -= e.size
			close(e.durable)
		}
	}
	if len(p.pending) == 0 {
		p.pending = nil // frees the entries in the slice's array
	}
}

// close closes the spill. Entries that are still in it wait for the next run.
func (p *Publisher) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []place
	for _, e := range p.pending {
		if e.place != nil {
			left = append(left, *e.place)
		}
	}
	p.spill.close(left)
}
