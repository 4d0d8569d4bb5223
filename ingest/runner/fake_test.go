package runner_test

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

var errBroker = errors.New("broker said no")

// log is a broker in memory. It also is what the runner reads at its start.
type log struct {
	mu      sync.Mutex
	records []kafka.Record
	// failAt, when positive, is how many more records are taken before every call fails, the one
	// under way with a part of its records written.
	failAt int
	// onProduce, when set, runs before a call.
	onProduce func(records []kafka.Record)
}

func (l *log) Produce(ctx context.Context, records ...kafka.Record) error {
	if l.onProduce != nil {
		l.onProduce(records)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range records {
		if l.failAt < 0 {
			return errBroker
		}
		if l.failAt > 0 && r.Topic != schemas.TopicSlots || l.failAt > 0 && header(r, schemas.HeaderType) == schemas.TypeSlot {
			if l.failAt--; l.failAt == 0 {
				l.failAt = -1
				return errBroker
			}
		}
		l.records = append(l.records, r)
	}
	return nil
}

func (l *log) ReadSlots(_ context.Context, visit func(*eventspb.SlotRecord)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if header(r, schemas.HeaderType) != schemas.TypeSlot {
			continue
		}
		var slot eventspb.SlotRecord
		if err := proto.Unmarshal(r.Value, &slot); err != nil {
			return err
		}
		visit(&slot)
	}
	return nil
}

func (l *log) ReadMints(_ context.Context, visit func(pubkey.Key, uint64, bool)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		switch header(r, schemas.HeaderType) {
		case "token_event.sighting", "token_event.initialize_mint":
			var event eventspb.TokenEvent
			if err := proto.Unmarshal(r.Value, &event); err != nil {
				return err
			}
			visit(pubkey.Key(event.GetMint()), event.GetPosition().GetSlot(), event.GetBlockTime() > 0)
		}
	}
	return nil
}

func header(r kafka.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

// facts is the set of records as text, without what may differ between runs: received-at and source
// status.
func (l *log) facts() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, r := range l.records {
		if header(r, schemas.HeaderType) == schemas.TypeSourceStatus {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s", r.Topic, r.Key, hex.EncodeToString(r.Value))
		for _, h := range r.Headers {
			if h.Key != schemas.HeaderReceivedAt {
				fmt.Fprintf(&b, " %s=%s", h.Key, h.Value)
			}
		}
		all = append(all, b.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *log) of(headerType string) []kafka.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []kafka.Record
	for _, r := range l.records {
		if header(r, schemas.HeaderType) == headerType {
			found = append(found, r)
		}
	}
	return found
}

func (l *log) slots(t require.TestingT) []*eventspb.SlotRecord {
	var all []*eventspb.SlotRecord
	require.NoError(t, l.ReadSlots(context.Background(), func(r *eventspb.SlotRecord) { all = append(all, r) }))
	return all
}

func (l *log) statuses(t require.TestingT) []*eventspb.SourceStatus {
	var all []*eventspb.SourceStatus
	for _, r := range l.of(schemas.TypeSourceStatus) {
		var status eventspb.SourceStatus
		require.NoError(t, proto.Unmarshal(r.Value, &status))
		require.Equal(t, schemas.SourceStatusKey, string(r.Key))
		all = append(all, &status)
	}
	return all
}

// step is one thing that a fake source does.
type step func(ctx context.Context, sink source.Sink) error

// steps is a source that does what it is told.
type steps struct {
	kind string
	do   []step
	// before runs first, with the ledger that the source was given.
	before func(ledger source.Ledger)
}

func (s *steps) Kind() string { return s.kind }

func (s *steps) Run(ctx context.Context, ledger source.Ledger, sink source.Sink) error {
	if s.before != nil {
		s.before(ledger)
	}
	for i, do := range s.do {
		if ctx.Err() != nil {
			return nil
		}
		if err := do(ctx, sink); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		sink.Progress(uint64(i)+1, uint64(len(s.do)))
	}
	return nil
}

// deliver passes one block on.
func deliver(b *chain.Block) step {
	return func(ctx context.Context, sink source.Sink) error {
		_, err := sink.Block(ctx, b)
		return err
	}
}

func blocks(kind string, all ...*chain.Block) *steps {
	s := &steps{kind: kind}
	for _, b := range all {
		s.do = append(s.do, func(ctx context.Context, sink source.Sink) error { return deliver(copyOf(b))(ctx, sink) })
	}
	return s
}

// copyOf gives each run a block of its own: the sink owns what it is given.
func copyOf(b *chain.Block) *chain.Block {
	c := *b
	c.Transactions = slices.Clone(b.Transactions)
	return &c
}

// discard is a producer that forgets.
type discard struct{}

func (discard) Produce(context.Context, ...kafka.Record) error { return nil }
