package feed

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/replica"
	"github.com/mintlake/mintlake/schemas"
)

func TestReadersSeeWhatChanges(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{})
	write(log, schemas.TopicTokenEvents, "old", "token_event.initialize_mint")
	n.catchUp(t)
	r := n.open(t, "").drain(t)
	require.Empty(t, r.seen, "what was there is no news")
	require.NotEmpty(t, r.cursor, "it has a place at once")

	write(log, schemas.TopicTokenEvents, "old", "token_event.mint_to")
	write(log, schemas.TopicTokenEvents, "young", "token_event.initialize_mint")
	write(log, schemas.TopicEnrichments, "young", "enrichment.offchain")
	n.catchUp(t)
	batch := r.read(t)
	require.Len(t, batch.Changes, 2, "each mint once")
	require.Equal(t, map[string]Kind{"old": KindChanged, "young": KindNew}, r.seen)

	gone := n.change("young")
	gone.Token = nil
	n.Apply([]replica.Change{gone})
	n.mark()
	young := named("young")
	require.Equal(t, []Change{{Kind: KindRemoved, ID: gone.ID, Mint: &young}}, r.read(t).Changes)
}

func TestReaderIsWoken(t *testing.T) {
	n := newNode(t, apitest.NewLog(), Config{})
	n.ready = true
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	r := n.open(t, "")
	n.Apply([]replica.Change{n.change("a")})
	for r.seen["a"] != KindNew {
		batch, err := r.Next(time.Minute)
		require.NoError(t, err)
		for range batch.Changes {
			r.seen["a"] = batch.Changes[0].Kind
		}
	}
	cancel()
	_, err := r.Next(time.Minute)
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, <-done)
	_, err = n.Open("client", "")
	require.ErrorIs(t, err, ErrClosed)
}

func TestSlowReaderIsToldSo(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{ring: 10})
	n.catchUp(t)
	slow := n.open(t, "").drain(t)
	for i := range 11 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "x.y")
	}
	n.catchUp(t)
	_, err := slow.Next(0)
	require.ErrorIs(t, err, ErrLagged)
	require.Len(t, n.open(t, slow.cursor).drain(t).seen, 11, "and misses nothing when it comes back")
}

func TestStreamsAreCounted(t *testing.T) {
	n := newNode(t, apitest.NewLog(), Config{MaxStreams: 3, MaxPerClient: 2})
	a, err := n.Open("greedy", "")
	require.NoError(t, err)
	_, err = n.Open("greedy", "")
	require.NoError(t, err)
	_, err = n.Open("greedy", "")
	require.ErrorIs(t, err, ErrTooManyClient)
	_, err = n.Open("modest", "")
	require.NoError(t, err)
	_, err = n.Open("late", "")
	require.ErrorIs(t, err, ErrTooMany)
	a.Close()
	a.Close()
	_, err = n.Open("late", "")
	require.NoError(t, err)
	require.Equal(t, 3, n.clients.Len())
}

func TestMarksAreBounded(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{ring: 4})
	for i := range 100 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "x.y")
		n.catchUp(t)
	}
	require.LessOrEqual(t, len(n.marks), 5, "those that lead into the ring")
	n.ring = make([]Change, 1<<20)
	for i := range maxMarks + 100 {
		n.applied[kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: 0}] = int64(1_000 + i)
		n.mark()
	}
	require.LessOrEqual(t, len(n.marks), maxMarks)
}
