package tokenlist

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/mintlake/mintlake/bootstrap"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// Loader writes lists to Kafka.
type Loader struct {
	producer kafka.RecordProducer
	lists    []*List
	total    int64
	done     atomic.Int64
	records  atomic.Int64
}

// NewLoader makes a loader of lists. It refuses two lists with the same name and version: it would
// be chance which of them counts.
func NewLoader(producer kafka.RecordProducer, lists []*List) (*Loader, error) {
	if producer == nil {
		return nil, errors.New("token lists: producer is required")
	}
	l := &Loader{producer: producer, lists: lists}
	names := map[string]bool{}
	for _, list := range lists {
		id := fmt.Sprint(list.Name, "\x00", list.Version)
		if names[id] {
			return nil, fmt.Errorf("token lists: two files are version %d of list %q: give one of them another --name", list.Version, list.Name)
		}
		names[id] = true
		l.total += int64(len(list.Entries) + len(list.Removed))
	}
	return l, nil
}

// Run writes every entry. When it returns nil, all are durable. It may be called again after an
// error: writing an entry twice changes nothing.
func (l *Loader) Run(ctx context.Context) error {
	batch := bootstrap.NewBatch(l.producer, func(records int) { l.records.Add(int64(records)) })
	for _, list := range l.lists {
		for record := range list.records() {
			if err := batch.Add(ctx, record); err != nil {
				return fmt.Errorf("token list %q: %w", list.Name, err)
			}
			l.done.Add(1)
		}
	}
	return batch.Flush(ctx)
}

// records iterates over the records of the tokens that the list holds, then of the removed ones.
func (l *List) records() iter.Seq[*eventspb.Enrichment] {
	return func(yield func(*eventspb.Enrichment) bool) {
		for i := range l.Entries {
			if !yield(l.Entries[i].enrichment(l)) {
				return
			}
		}
		for _, mint := range l.Removed {
			if !yield(l.removal(mint)) {
				return
			}
		}
	}
}

// Progress returns how far the run is. It may be called at any time.
func (l *Loader) Progress() bootstrap.Progress {
	return bootstrap.Progress{Done: l.done.Load(), Total: l.total, Items: l.done.Load(), Records: l.records.Load(), Note: "token lists"}
}
