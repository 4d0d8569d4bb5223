package runner_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/transactions"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

// publicStream holds blocks back until release is closed.
type publicStream struct {
	release chan struct{}
	mu      sync.Mutex
	blocks  int
	told    []uint64
	tip     uint64
}

func (s *publicStream) Begin(tip uint64) { s.tip = tip }

func (*publicStream) Live() {}

func (s *publicStream) Block(b *transactions.Block) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b != nil {
		s.blocks++
	}
	return s.release
}

func (s *publicStream) Status(slot uint64, _ eventspb.StreamSlotStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, slot)
}

// What the ledger has, the public stream has: a slot record waits for it.
func TestSlotRecordsWaitForTheStream(t *testing.T) {
	l := &log{}
	stream := &publicStream{release: make(chan struct{})}
	s := blocks("file", newBlock(100, 99), newBlock(101, 100))
	s.do = append(s.do, func(ctx context.Context, sink source.Sink) error {
		if err := sink.Finalized(ctx, 100); err != nil {
			return err
		}
		if err := sink.Dead(ctx, 90); err != nil {
			return err
		}
		require.Empty(t, l.of(schemas.TypeSlot), "the stream has no block yet")
		close(stream.release)
		return nil
	})
	r, err := runner.New(runner.Config{Sources: []source.Source{s}}, runner.Deps{Producer: l, Ledger: l, Stream: stream})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	require.Len(t, l.of(schemas.TypeSlot), 3)
	require.Equal(t, 2, stream.blocks)
	require.Equal(t, []uint64{100, 90}, stream.told)
	r, err = runner.New(runner.Config{}, runner.Deps{Producer: l, Ledger: l, Stream: stream})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	require.EqualValues(t, 101, stream.tip, "the next run begins behind it")
}
