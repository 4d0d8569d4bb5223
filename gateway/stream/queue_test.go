package stream

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A subscriber's goroutine is woken when its queue gets something, and never to find it empty.
func TestAQueueIsReadyWhileItHasDeliveriesThatNobodyWasWokenFor(t *testing.T) {
	q := newQueue(8)
	push := func() { require.True(t, q.push(delivery{tx: &transaction{}})) }
	pop := func() bool { _, ok := q.pop(); return ok }
	require.Empty(t, q.ready)

	push()
	push()
	require.Len(t, q.ready, 1)
	<-q.ready
	require.True(t, pop())
	push() // while the subscriber takes what there is
	require.True(t, pop())
	require.True(t, pop())
	require.False(t, pop())
	require.Empty(t, q.ready, "the third one was taken: nobody needs to be woken for it")

	push()
	require.Len(t, q.ready, 1)
	require.True(t, pop()) // by a subscriber that was woken for its notes
	require.Empty(t, q.ready)

	push()
	require.Len(t, q.ready, 1)
}
