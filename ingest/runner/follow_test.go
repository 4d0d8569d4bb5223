package runner_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// reappearing is a chain in which each mint is seen in several blocks: only the first sighting is
// written.
func reappearing(n int) []*chain.Block {
	var all []*chain.Block
	for i := range n {
		slot := uint64(100 + i)
		all = append(all, newBlock(slot, slot-1, transactionOf(
			func(b *builder) { b.balance(mintKey(i / 2)) },
			func(b *builder) { b.balance(mintKey(i / 3)) },
			func(b *builder) { b.mintTo(mintKey(i / 4)) },
		)))
	}
	return all
}

// dripping is a log that another run writes to while it is followed: each look finds one record
// more. Like the readers of Kafka it tells each record once.
type dripping struct {
	log

	coming       []kafka.Record
	slots, mints int
	all          func() // called when nothing more comes
}

func (d *dripping) ReadSlots(ctx context.Context, visit func(*eventspb.SlotRecord)) error {
	if len(d.coming) > 0 {
		d.mu.Lock()
		d.records = append(d.records, d.coming[0])
		d.mu.Unlock()
		d.coming = d.coming[1:]
	} else {
		d.all()
	}
	d.mu.Lock()
	fresh := log{records: d.records[d.slots:]}
	d.slots = len(d.records)
	d.mu.Unlock()
	return fresh.ReadSlots(ctx, visit)
}

func (d *dripping) ReadMints(ctx context.Context, visit func(pubkey.Key, uint64, bool)) error {
	d.mu.Lock()
	fresh := log{records: d.records[d.mints:]}
	d.mints = len(d.records)
	d.mu.Unlock()
	return fresh.ReadMints(ctx, visit)
}

// TestFollowerGoesOn: whoever followed the leader and takes over, wherever that one stopped, writes
// exactly what the leader would have written.
func TestFollowerGoesOn(t *testing.T) {
	all := reappearing(12)
	whole := &log{}
	require.NoError(t, newRunner(t, whole, blocks("geyser", all...)).Run(t.Context()))
	want := whole.facts()
	for cut := range len(whole.records) {
		following, stop := context.WithCancel(t.Context())
		d := &dripping{coming: whole.records[:cut], all: stop}
		r, err := runner.New(runner.Config{Sources: []source.Source{blocks("geyser", all...)}}.WithMaxInFlight(4).WithFollowInterval(time.Nanosecond),
			runner.Deps{Producer: d, Ledger: d, Mints: d})
		require.NoError(t, err)
		ready := 0
		require.NoError(t, r.Follow(following, func() { ready++ }))
		require.Equal(t, 1, ready)
		require.Len(t, d.records, cut, "a follower writes nothing")
		require.NoError(t, r.Run(t.Context()))
		require.Equal(t, want, d.facts(), "the leader stopped after %d records", cut)
	}
}

// TestTwoLeaders: two that both believe to lead, and a third that comes later, write the same
// records as one alone, only several times.
func TestTwoLeaders(t *testing.T) {
	all := reappearing(200)
	alone := &log{}
	require.NoError(t, newRunner(t, alone, blocks("geyser", all...)).Run(t.Context()))

	both := &log{}
	var running sync.WaitGroup
	for i := range 3 {
		running.Go(func() {
			time.Sleep(time.Duration(i/2) * time.Millisecond)
			require.NoError(t, newRunner(t, both, blocks("geyser", all...)).Run(t.Context()))
		})
	}
	running.Wait()
	require.Equal(t, alone.facts(), both.facts())
}
