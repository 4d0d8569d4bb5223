package search

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestListening: who helped helps the next one, too, though nobody would be woken for it; who is
// not asked again leaves.
func TestListening(t *testing.T) {
	s, _ := sharedSearch(t, 2)
	x := s.index
	var helped atomic.Int32
	work := func(*searcher) { helped.Add(1) }
	require.Nil(t, x.startHelper(s, false, work), "nobody is there yet")
	heard := false
	for range 1000 { // on a busy machine whoever listens may have left
		s.finish(t, x.startHelper(s, true, work))
		awaitListener(x)
		h := x.startHelper(s, false, work)
		if heard = h != nil; heard {
			s.finish(t, h)
			break
		}
	}
	require.True(t, heard)
	require.Greater(t, helped.Load(), int32(1))
	require.Eventually(t, func() bool { return x.idle.Load() == 0 }, 10*time.Second, time.Millisecond, "nobody listens for ever")
}

// TestListenerIsDismissed when the cores have searches of their own.
func TestListenerIsDismissed(t *testing.T) {
	s, _ := sharedSearch(t, 2)
	x := s.index
	for range 1000 {
		s.finish(t, x.startHelper(s, true, func(*searcher) {}))
		awaitListener(x)
		x.busy.Add(1)
		require.Nil(t, x.startHelper(s, true, func(*searcher) {}), "all cores have a search")
		x.busy.Add(-1)
	}
	require.Eventually(t, func() bool { return x.idle.Load() == 0 && len(x.next) == 0 }, 10*time.Second, time.Millisecond)
}

// finish waits for a helper.
func (s *searcher) finish(t *testing.T, h *helper) {
	require.NotNil(t, h)
	require.Eventually(t, func() bool { return len(h.done) == 1 }, 10*time.Second, time.Microsecond)
	s.mergeHelpers([]*helper{h})
}

// awaitListener gives the helper a moment to listen, and no more than it would.
func awaitListener(x *Inverted) {
	for began := time.Now(); x.idle.Load() == 0 && time.Since(began) < idleSpin; {
	}
}
