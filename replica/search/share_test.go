package search

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// sharedSearch is a searcher that any helper joins, and views for it.
func sharedSearch(t *testing.T, cores int32) (*searcher, []*view) {
	x := NewInverted()
	x.sharing, x.cores = sharing{}, cores
	x.busy.Store(1) // this one
	s := newSearcher()
	s.index, s.plan = x, newPlan(&Query{Text: "token"}, x.current.Load())
	views := make([]*view, 8)
	for i := range views {
		views[i] = &view{segment: &segment{serial: uint32(i), grams: newGramTable(0)}}
	}
	t.Cleanup(func() { require.EqualValues(t, 1, x.busy.Load(), "whoever helped says when it is done") })
	return s, views
}

func TestShare(t *testing.T) {
	for cores := range int32(4) {
		s, views := sharedSearch(t, cores)
		var all, most atomic.Int32
		for range 200 {
			all.Store(0)
			s.total = 0
			s.share(views, s.isLong(views), func(s *searcher, at int) {
				for now := s.index.busy.Load(); now > most.Load(); {
					most.Store(now)
				}
				all.Add(1 << at)
				s.total++
			})
			require.EqualValues(t, 1<<len(views)-1, all.Load(), "each view once")
			require.Equal(t, len(views), s.total)
		}
		require.LessOrEqual(t, most.Load(), max(1, cores))
	}
}

func TestShareWithOneThatFails(t *testing.T) {
	s, views := sharedSearch(t, 2)
	begun := make(chan struct{})
	require.PanicsWithValue(t, "helper", func() {
		s.share(views, s.isLong(views), func(which *searcher, _ int) {
			if which == s {
				<-begun
				return
			}
			close(begun)
			panic("helper")
		})
	})
}

func TestLongSearches(t *testing.T) {
	s, views := sharedSearch(t, 2)
	s.index.sharing = usualSharing()
	require.False(t, s.isLong(views), "nothing is counted")
	require.Zero(t, s.index.sharing.large(views), "too small")
	for _, g := range s.grams {
		*views[0].grams.find(g) = gramEntry{key: uint64(g) + 1, length: 1 << 15}
	}
	require.True(t, s.isLong(views))
	for _, v := range views[1:] {
		v.ids = make([]uint32, 1<<15)
	}
	require.Equal(t, len(views)-1, s.index.sharing.large(views))
}
