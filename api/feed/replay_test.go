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

func TestOldCursors(t *testing.T) {
	log := apitest.NewLog()
	n := newNode(t, log, Config{MaxReplay: 50})
	n.catchUp(t)
	begin := n.open(t, "").drain(t).cursor
	for i := range 40 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "token_event.initialize_mint")
	}
	restarted := newNode(t, log, Config{MaxReplay: 50})
	restarted.catchUp(t)
	r := restarted.open(t, begin).drain(t)
	require.Len(t, r.seen, 40, "read from the topics")
	require.Equal(t, KindNew, r.seen["7"])
	require.Empty(t, r.resets)
	last := r.cursor

	for i := range 60 {
		write(log, schemas.TopicTokenEvents, fmt.Sprint(i), "token_event.mint_to")
	}
	restarted = newNode(t, log, Config{MaxReplay: 50})
	restarted.catchUp(t)
	r = restarted.open(t, last)
	require.Equal(t, ResetTooOld, r.read(t).Reset, "too much has come since")
	require.NotEmpty(t, r.drain(t).cursor, "and it goes on from now")
	write(log, schemas.TopicTokenEvents, "next", "token_event.mint_to")
	restarted.catchUp(t)
	require.Contains(t, r.drain(t).seen, "next")

	ahead := r.cursor
	other := newNode(t, apitest.NewLog(), Config{})
	other.catchUp(t)
	require.Equal(t, []Reset{ResetUnknown}, other.open(t, ahead).drain(t).resets, "of another installation")

	for p := range 4 {
		log.SetStart(kafka.TopicPartition{Topic: schemas.TopicTokenEvents, Partition: p}, 3)
	}
	require.Equal(t, []Reset{ResetTooOld}, restarted.open(t, begin).drain(t).resets, "expired")
}

// TestAResetNamesItsPlace: whoever is cut off right behind a reset goes on from there, and misses
// nothing that came since.
func TestAResetNamesItsPlace(t *testing.T) {
	log := apitest.NewLog()
	write(log, schemas.TopicTokenEvents, "old", "x.y")
	n := newNode(t, log, Config{MaxReplay: 1})
	n.catchUp(t)
	begin := n.open(t, "").drain(t).cursor
	for range 3 {
		write(log, schemas.TopicTokenEvents, "old", "x.y")
	}
	restarted := newNode(t, log, Config{MaxReplay: 1})
	restarted.catchUp(t)
	other := newNode(t, apitest.NewLog(), Config{})
	other.catchUp(t)
	for name, open := range map[string]func() (*node, *Reader, error){
		"too old": func() (*node, *Reader, error) { r, err := restarted.Open("client", begin); return restarted, r, err },
		"foreign": func() (*node, *Reader, error) { r, err := other.Open("client", begin); return other, r, err },
		"anew":    func() (*node, *Reader, error) { r, err := restarted.OpenAnew("client"); return restarted, r, err },
	} {
		at, r, err := open()
		require.NoError(t, err, name)
		batch, err := r.Next(0)
		require.NoError(t, err, name)
		require.NotEmpty(t, batch.Reset, name)
		require.NotEmpty(t, batch.Cursor, name)
		require.Empty(t, batch.Changes, name)
		r.Close()

		write(at.log, schemas.TopicTokenEvents, name, "token_event.initialize_mint")
		at.catchUp(t)
		again := at.open(t, batch.Cursor).drain(t)
		require.Empty(t, again.resets, name)
		require.Equal(t, map[string]Kind{name: KindNew}, again.seen, name)
		again.Close()
	}
}

// TestCursorWithinABatch: a node marks its place when the next batch is reported already, and the
// place is still before it. Another node's cursor at that place is of a client that has seen
// nothing of the batch.
func TestCursorWithinABatch(t *testing.T) {
	log := apitest.NewLog()
	here, there := newNode(t, log, Config{}), newNode(t, log, Config{})
	here.catchUp(t)
	there.catchUp(t)
	write(log, schemas.TopicTokenEvents, "a", "x.y")
	here.step(t, 1) // and makes no mark there
	there.catchUp(t)
	cursor := there.open(t, "").drain(t).cursor
	write(log, schemas.TopicTokenEvents, "b", "x.y")
	here.step(t, 1, here.mark)
	here.mark()
	resumed := here.open(t, cursor).drain(t)
	require.Contains(t, resumed.seen, "b")

	again := here.open(t, resumed.cursor)
	require.Empty(t, again.drain(t).seen, "its own place is behind the batch")
	require.Equal(t, resumed.cursor, again.cursor, "no place leads back")
}

func TestOutageOfTheTopicsEndsOnlyWhoNeedsThem(t *testing.T) {
	log := apitest.NewLog()
	first := newNode(t, log, Config{})
	first.catchUp(t)
	begin := first.open(t, "").drain(t).cursor
	write(log, schemas.TopicTokenEvents, "a", "x.y")
	n := newNode(t, log, Config{replayTimeout: 20 * time.Millisecond})
	n.catchUp(t)
	log.SetDown(true)
	_, err := n.open(t, begin).Next(0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	now := n.open(t, "")
	n.Apply([]replica.Change{n.change("b")})
	n.mark()
	require.Contains(t, now.drain(t).seen, "b")
	log.SetDown(false)
	n.cfg.replayTimeout = 5 * time.Minute
	batch, err := n.open(t, begin).Next(0)
	require.NoError(t, err)
	require.NotEmpty(t, batch.Changes)
}
