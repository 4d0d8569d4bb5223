package stream

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
)

// TestAnAcceptedReplayIsNotRefused: where there is no reader for one that fell off its own, it
// waits as long as it takes.
func TestAnAcceptedReplayIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		l.slot(100, 99, 2000, false)
		l.slot(101, 100, 2000, false)
		s := replayServer(t, l, Config{MaxReplays: 1, replayBuffer: 1, replayPatience: time.Hour})
		sub, again, err := s.replayer(t, 100, seven())
		require.NoError(t, err)
		first := again.reader
		for range 2 {
			require.NoError(t, first.read(t.Context()))
		}
		_, at := first.place()
		other, _ := s.readers.tryJoin(at, keys.OpenID, newcomer)
		require.Same(t, first, other, "its reader has moved on, for another one")
		go again.run(t.Context())
		time.Sleep(10 * time.Hour)
		require.False(t, sub.Over(), "%v", sub.Why())

		came := make(chan *replay, 8)
		for range cap(came) {
			go func() {
				next, err := s.newReplay(t.Context(), sub, 101, levelLog)
				if err != nil {
					t.Error(err)
				}
				came <- next
			}()
		}
		synctest.Wait()
		require.Empty(t, came, "they wait, too")
		s.readers.leave(other, keys.OpenID)
		synctest.Wait()
		require.EqualValues(t, len(l.records), again.gate.from, "it is done, and live delivery goes on")
		require.Equal(t, 1, s.readers.count(), "that of the others, which have not begun to read")
		for range cap(came) {
			(<-came).release()
		}
		require.Zero(t, s.readers.count())
	})
}

// TestReplaysAreBounded, also where they share a reader. One that ends, or that cannot begin, makes
// room for the next.
func TestReplaysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(1)
		l.slot(100, 99, 3, false)
		l.slot(101, 100, 3, false)
		s := replayServer(t, l, Config{maxReplaying: 1})
		_, first, err := s.replayer(t, 101, seven())
		require.NoError(t, err)
		_, _, err = s.replayer(t, 101, seven())
		require.ErrorIs(t, err, errReplays)
		first.release()
		_, _, err = s.replayer(t, 100, seven())
		var old *oldSlotError
		require.ErrorAs(t, err, &old)
		_, last, err := s.replayer(t, 101, seven())
		require.NoError(t, err)
		last.run(t.Context())
		_, _, err = s.replayer(t, 101, seven())
		require.NoError(t, err)
	})
}

// TestNewcomersWaitForAcceptedReplays: a place that comes free is not theirs.
func TestNewcomersWaitForAcceptedReplays(t *testing.T) {
	s := replayServer(t, newMemoryLog(0), Config{MaxReplays: 1})
	only, _ := s.readers.tryJoin(0, keys.OpenID, newcomer)
	s.readers.addWaiting(keys.OpenID, 1)
	s.readers.leave(only, keys.OpenID)
	none, _ := s.readers.tryJoin(0, keys.OpenID, newcomer)
	require.Nil(t, none)
	reader, _ := s.readers.tryJoin(0, keys.OpenID, accepted)
	require.NotNil(t, reader)
	shared, _ := s.readers.tryJoin(0, keys.OpenID, newcomer)
	require.Same(t, reader, shared)
}

// slowClose is a reading of the log whose end takes a while.
type slowClose struct{ kafka.TailReader }

func (slowClose) Close() { time.Sleep(time.Hour) }

// TestAReplayThatMovesKeepsItsPlace, though newcomers wait for one and its reader closes slowly.
func TestAReplayThatMovesKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := replayServer(t, newMemoryLog(0), Config{MaxReplays: 1})
		own, _ := s.readers.tryJoin(0, keys.OpenID, newcomer)
		own.tailer = slowClose{}
		came := make(chan *replayReader, 1)
		go func() {
			reader, err := s.readers.join(t.Context(), 1<<40, keys.OpenID, newcomer)
			if err != nil {
				t.Error(err)
			}
			came <- reader
		}()
		synctest.Wait()
		moved, err := s.readers.move(t.Context(), own, 5, keys.OpenID)
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, came)
		s.readers.leave(moved, keys.OpenID)
		s.readers.leave(<-came, keys.OpenID)
	})
}

// slowLog does not tell its offsets before answer is closed. looks counts who asked.
type slowLog struct {
	*memoryLog
	answer chan struct{}
	looks  int
}

func (l *slowLog) StartOffsets(ctx context.Context, topics []string) (map[kafka.TopicPartition]int64, error) {
	l.looks++
	select {
	case <-l.answer:
		return l.memoryLog.StartOffsets(ctx, topics)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestClientsShareALookAtTheLog: one that leaves meanwhile takes it from nobody.
func TestClientsShareALookAtTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowLog{memoryLog: newMemoryLog(0), answer: make(chan struct{})}
		l.slot(100, 99, 3, false)
		s := &Server{deps: Deps{Offsets: l, OpenTail: l.open}}
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := s.locate(ctx, 100)
			left <- err
		}()
		synctest.Wait()
		served := make(chan error, 20)
		for range cap(served) {
			go func() {
				_, err := s.locate(t.Context(), 100)
				served <- err
			}()
		}
		synctest.Wait()
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		synctest.Wait()
		close(l.answer)
		for range cap(served) {
			require.NoError(t, <-served)
		}
		require.Equal(t, 1, l.looks)
	})
}

// TestAKeyHasAShareOfTheReplays: one key's replays leave places for those of others, and another
// one of the key waits for its own.
func TestAKeyHasAShareOfTheReplays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		l.slot(100, 99, 3, false)
		s := replayServer(t, l, Config{maxReplaying: 8})
		begin := func(key string) (*replay, error) {
			return s.newReplay(t.Context(), &subscriber{key: key}, 100, levelLog)
		}
		var greedy []*replay
		for range 2 {
			r, err := begin("greedy")
			require.NoError(t, err)
			greedy = append(greedy, r)
		}
		_, err := begin("greedy")
		require.ErrorIs(t, err, errKeyReplays)
		other, err := begin("other")
		require.NoError(t, err)
		other.release()
		came := make(chan *replay, 1)
		go func() {
			r, err := begin("greedy")
			if err != nil {
				t.Error(err)
			}
			came <- r
		}()
		synctest.Wait()
		require.Empty(t, came)
		greedy[0].release()
		(<-came).release()
		greedy[1].release()
		require.Zero(t, s.shares.Clients(), "a key without replays is forgotten")
	})
}

// TestAKeyHasAShareOfTheReaders, which are fewer than replays: one key's replays at many places
// leave places for those of others. A reader that another key shares does not count.
func TestAKeyHasAShareOfTheReaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := replayServer(t, newMemoryLog(0), Config{MaxReplays: 8})
		join := func(key string, offset int64, who standing) *replayReader {
			reader, _ := s.readers.tryJoin(offset, key, who)
			return reader
		}
		require.NotNil(t, join("greedy", 0, newcomer))
		second := join("greedy", 100, newcomer)
		require.NotNil(t, second)
		require.Nil(t, join("greedy", 200, newcomer))
		require.Nil(t, join("greedy", 200, accepted), "one that fell off its reader waits, too")
		waiting, cancel := context.WithTimeoutCause(t.Context(), time.Second, errReplays)
		defer cancel()
		_, err := s.readers.join(waiting, 200, "greedy", newcomer)
		require.ErrorIs(t, err, errKeyReplays)

		s.readers.addWaiting("greedy", 1)
		require.NotNil(t, join("other", 300, newcomer), "what waits for its own share holds up no other key")
		require.Same(t, second, join("other", 100, newcomer))
		require.Nil(t, join("other", 400, newcomer), "now a place is greedy's, which waits")
		require.NotNil(t, join("greedy", 200, accepted))
		s.readers.addWaiting("greedy", -1)
		s.readers.leave(second, "other")
		require.Nil(t, join("greedy", 500, newcomer))
	})
}

// TestReplaysWithoutKeysHaveNoShare: nobody else is there.
func TestReplaysWithoutKeysHaveNoShare(t *testing.T) {
	s := replayServer(t, newMemoryLog(0), Config{MaxReplays: 8, maxReplaying: 8})
	for i := range int64(8) {
		require.NoError(t, s.takePlace(t.Context(), keys.OpenID))
		reader, _ := s.readers.tryJoin(100*i, keys.OpenID, newcomer)
		require.NotNil(t, reader)
	}
}
