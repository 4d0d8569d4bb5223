package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/ingest/chain"
	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/ingest/source/rpc"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/solana"
	"github.com/mintlake/mintlake/solana/txwire"
)

// letters are the dead letters in the log.
func (l *log) letters(t testing.TB) (all []*eventspb.DeadLetter) {
	t.Helper()
	for _, record := range l.of(schemas.TypeDeadLetter) {
		letter := &eventspb.DeadLetter{}
		require.NoError(t, proto.Unmarshal(record.Value, letter))
		all = append(all, letter)
	}
	return all
}

// partialOf makes a block partial: one of its transactions could not be read.
func partialOf(b *chain.Block, err error) *chain.Block {
	b.Whole = false
	b.Unread = []chain.Unread{{Index: len(b.Transactions), Raw: []byte("its bytes"), Err: err}}
	return b
}

var errTorn = errors.New("torn")

// TestAPartialBlockIsAGap: its events are written, what could not be read is a dead letter with its
// bytes, and the slot is a gap until the block comes whole. In the same run the same part of it
// changes nothing.
func TestAPartialBlockIsAGap(t *testing.T) {
	whole := func(slot uint64) *chain.Block {
		return newBlock(slot, slot-1, transactionOf(func(b *builder) { b.initialize(mintKey(int(slot))) }))
	}
	l, registry := &log{}, prometheus.NewRegistry()
	all := []*chain.Block{whole(100), partialOf(whole(101), errTorn), whole(102), partialOf(whole(101), errTorn)}
	r, err := runner.New(runner.Config{Sources: []source.Source{blocks("file", all...)}}, runner.Deps{Producer: l, Ledger: l, Mints: l, Registerer: registry})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	gap := []coverage.Gap{{FromSlot: 101, ToSlot: 101}}
	require.Equal(t, coverage.Coverage{FromSlot: 100, ToSlot: 102, Gaps: gap}, r.Coverage())
	require.Len(t, l.of("token_event.initialize_mint"), 3, "each once, that of the partial block included")
	require.Len(t, l.slots(t), 3)
	require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_PARTIAL, l.slots(t)[1].GetStatus())
	require.EqualValues(t, 2, r.Progress().Blocks)
	letters := l.letters(t)
	require.Len(t, letters, 1)
	require.Equal(t, "slot 101, transaction 1", string(letters[0].GetKey()))
	require.Equal(t, "its bytes", string(letters[0].GetValue()))
	require.Equal(t, "torn", letters[0].GetReason())
	statuses := l.statuses(t)
	last := statuses[len(statuses)-1]
	require.EqualValues(t, 1, last.GetFailedInputs())
	require.Equal(t, []string{"slot 101, transaction 1: torn"}, last.GetFailures())
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP mintlake_ingest_partial_blocks_total Blocks of which something could not be read, by reason; their slots are gaps.
# TYPE mintlake_ingest_partial_blocks_total counter
mintlake_ingest_partial_blocks_total{reason="malformed"} 1
mintlake_ingest_partial_blocks_total{reason="version"} 0
`), "mintlake_ingest_partial_blocks_total"))

	// The next run has the gap, and is given less, as much, and then all of it.
	less := partialOf(whole(101), errTorn)
	less.Unread = append(less.Unread, less.Unread[0])
	next := newRunner(t, l, blocks("file", less, partialOf(whole(101), errTorn), less, whole(101), partialOf(whole(101), errTorn)))
	require.NoError(t, next.Run(t.Context()))
	require.Empty(t, next.Coverage().Gaps)
	slots := l.slots(t)
	require.Len(t, slots, 6)
	require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_INGESTED, slots[5].GetStatus())
}

// TestAWithheldBlockIsNoNews: a node that withholds a block says less of it than a stream that gave
// some of its transactions, however many of them could not be read.
func TestAWithheldBlockIsNoNews(t *testing.T) {
	streamed := func() *chain.Block {
		b := partialOf(newBlock(101, 100, transactionOf(func(b *builder) { b.initialize(mintKey(1)) })), errTorn)
		b.Unread = append(b.Unread, b.Unread[0], b.Unread[0])
		return b
	}
	withheld := func() *chain.Block {
		b := newBlock(101, 100)
		b.Whole, b.Unread = false, []chain.Unread{{Index: -1, Err: errTorn}}
		return b
	}
	for name, order := range map[string][]*chain.Block{
		"withheld after the stream":  {streamed(), withheld(), withheld()},
		"withheld before the stream": {withheld(), streamed(), withheld()},
	} {
		l := &log{}
		require.NoError(t, newRunner(t, l, blocks("geyser", order...)).Run(t.Context()))
		require.Len(t, l.of("token_event.initialize_mint"), 1, name)
		slots := l.slots(t)
		require.EqualValues(t, 1, slots[len(slots)-1].GetTransactions(), "%s: the record tells what was read", name)
		if order[0].Unread[0].Index >= 0 {
			require.Len(t, slots, 1, name)
			require.Len(t, l.letters(t), 3, name)
		}
	}
}

// TestDeadLettersAreBounded: a version that is in every transaction does not fill the topic.
func TestDeadLettersAreBounded(t *testing.T) {
	l := &log{}
	b := newBlock(100, 99)
	b.Whole = false
	for i := range 2500 {
		b.Unread = append(b.Unread, chain.Unread{Index: i, Err: errTorn})
	}
	r := newRunner(t, l, blocks("file", b))
	require.NoError(t, r.Run(t.Context()))
	require.Len(t, l.letters(t), 1001)
	require.EqualValues(t, 1, r.Progress().Refused)
}

// versionNode answers for blocks of which one has a transaction of version 2.
type versionNode struct {
	chain sourcetest.Chain
	t     testing.TB
	slot  uint64
}

func (n versionNode) GetSlot(context.Context, solana.Commitment) (uint64, error) {
	return n.chain[len(n.chain)-1].Slot, nil
}

func (n versionNode) GetBlocks(_ context.Context, from, to uint64, _ solana.Commitment) (slots []uint64, err error) {
	for _, b := range n.chain {
		if b.Slot >= from && b.Slot <= to {
			slots = append(slots, b.Slot)
		}
	}
	return slots, nil
}

func (n versionNode) GetBlock(_ context.Context, slot uint64, opts solana.BlockOptions) (json.RawMessage, error) {
	b := n.chain.At(slot)
	switch {
	case b == nil:
		return nil, &solana.RPCError{Code: solana.CodeSlotSkipped}
	case slot == n.slot && !opts.HeaderOnly && *opts.MaxVersion < 2:
		return nil, &solana.RPCError{Code: solana.CodeUnsupportedVersion, Message: "Transaction version (2) is not supported by the requesting client."}
	}
	return b.JSON(n.t), nil
}

// TestAVersionThatTheNodeWithholds: the slot is a gap whose version is told, until a run that reads
// the version asks again. It holds for a source that reads on, for a backfill and for one of gaps.
func TestAVersionThatTheNodeWithholds(t *testing.T) {
	c := sourcetest.NewChain(1000, 12)
	n := versionNode{c, t, c[5].Slot}
	from, to := c[0].Slot, c[len(c)-1].Slot
	deps := rpc.Deps{Client: n, Logger: slog.New(slog.DiscardHandler)}
	l := &log{}
	run := func(s source.Source, err error) *runner.Runner {
		t.Helper()
		require.NoError(t, err)
		r := newRunner(t, l, s)
		require.NoError(t, r.Run(t.Context()))
		return r
	}
	requireGap := func(r *runner.Runner) {
		t.Helper()
		require.Equal(t, []coverage.Gap{{FromSlot: n.slot, ToSlot: n.slot}}, r.Coverage().Gaps)
		require.Equal(t, to, r.Coverage().ToSlot)
		require.ErrorContains(t, r.CheckVersions(), "versions that this process does not read, [2]")
		statuses := l.statuses(t)
		last := statuses[len(statuses)-1]
		require.Equal(t, []uint32{2}, last.GetUnreadVersions())
		require.Equal(t, []string{fmt.Sprintf("slot %d: the node withholds the block: transaction version 2, read are legacy to %s", n.slot, txwire.Highest)}, last.GetFailures())
	}
	requireGap(run(rpc.New(rpc.Config{From: &from, To: &to}, deps)))
	requireGap(run(rpc.NewBackfill(rpc.Config{From: &from, To: &to}, deps)))
	requireGap(run(rpc.NewGaps(rpc.Config{}, deps)))

	after := run(rpc.NewGaps(rpc.Config{Reader: parse.UpTo(2)}, deps))
	require.Empty(t, after.Coverage().Gaps)
	require.NoError(t, after.CheckVersions())
	statuses := l.statuses(t)
	require.Empty(t, statuses[len(statuses)-1].GetUnreadVersions())
	for _, letter := range l.letters(t) {
		require.Contains(t, letter.GetReason(), "transaction version 2")
	}
}
