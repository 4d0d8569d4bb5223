package stream

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/keys"
)

// A replay waits for its turn while there are as many as may be, and is refused after a while.
func TestReplaysTakeTurns(t *testing.T) {
	for name, patient := range map[string]time.Duration{"refused": time.Millisecond, "served": patience} {
		t.Run(name, func(t *testing.T) {
			l := newMemoryLog(0)
			l.slot(100, 99, 1, false)
			f := startOn(t, l, Config{MaxReplays: 1, replayPatience: patient})
			other, _ := f.readers.tryJoin(1<<40, newcomer)
			require.NotNil(t, other, "another replay reads elsewhere")
			from := uint64(100)
			stream := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}})
			if name == "refused" {
				_, err := stream.Recv()
				require.Equal(t, codes.ResourceExhausted, status.Code(err))
				require.ErrorContains(t, err, errReplays.Error())
				return
			}
			f.readers.leave(other)
			require.Equal(t, []string{"10000"}, told(t, stream, 1))
		})
	}
}

// The oldest slot, which many clients begin with, is found by one look into the log.
func TestTheOldestSlotIsFoundAtOnce(t *testing.T) {
	l := newMemoryLog(0)
	for slot := uint64(100); slot < 200; slot++ {
		l.slot(slot, slot-1, 3, false)
	}
	looks := 0
	s := &Server{deps: Deps{Offsets: l, OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
		looks++
		return l.open(topics, start)
	}}}
	offset, err := s.locate(t.Context(), 100)
	require.NoError(t, err)
	require.Zero(t, offset)
	require.Equal(t, 1, looks)
}

// A replay that its client does not read gives its turn to the next one.
func TestAReplayThatNobodyReadsIsGivenUp(t *testing.T) {
	l := newMemoryLog(0)
	for slot := uint64(100); slot < 200; slot++ {
		l.slot(slot, slot-1, 100, false)
	}
	f := startOn(t, l, Config{MaxReplays: 1, replayPatience: patience, replayStall: 500 * time.Millisecond})
	from := uint64(100)
	all := &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}}
	stalled := f.subscribeFrom(t, t.Context(), all)
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.replays) == 1 }, patience, time.Millisecond)
	elsewhere := uint64(150)
	next := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &elsewhere, Transactions: filters{"all": {}}})
	_, err := next.Recv()
	require.NoError(t, err, "it has the turn of the one that does not read")
	for err == nil {
		_, err = stalled.Recv()
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, errStalled.Error())
}

// TestReplaysShareAReader: twenty clients that begin together cost one reading of the topic, and
// each gets everything once and in order, and goes on live.
func TestReplaysShareAReader(t *testing.T) {
	const slots, each, clients = 24, 100, 20
	l := newMemoryLog(0)
	var want []string
	for slot := uint64(100); slot < 100+slots; slot++ {
		l.slot(slot, slot-1, each, false)
		for i := range uint64(each) {
			want = append(want, fmt.Sprint(slot*100+i))
		}
	}
	f := startOn(t, l, Config{MaxReplays: 1, replayPatience: time.Millisecond})
	var streams []pb.Geyser_SubscribeClient
	for i := range clients {
		from := uint64(100)
		if i%4 == 3 { // not quite the same place
			from += 2
		}
		streams = append(streams, f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}}))
		// No client reads until all have come, so the first one is still there.
		require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.replays) == float64(i+1) }, patience, time.Millisecond)
	}
	require.Equal(t, 1, f.readers.count())
	l.slot(100+slots, 99+slots, 1, false)
	want = append(want, fmt.Sprint((100+slots)*100))
	var reading sync.WaitGroup
	for i, stream := range streams {
		reading.Go(func() {
			mine := want
			if i%4 == 3 {
				mine = want[2*each:]
			}
			for n, number := range mine {
				update, err := stream.Recv()
				if err != nil || fmt.Sprint(update.GetTransaction().GetTransaction().GetIndex()) != number {
					t.Errorf("client %d, delivery %d: %v, %v; want %s", i, n, update, err, number)
					return
				}
			}
		})
	}
	reading.Wait()
	require.LessOrEqual(t, testutil.ToFloat64(f.metrics.replayReads), float64(len(l.records)))
	require.Eventually(t, func() bool { return f.readers.count() == 0 }, patience, time.Millisecond)
}

// TestASlowReplayFallsOff: a client that is too slow for the others goes on with a reader of its
// own, without a loss or a repeat. When it has caught up, they share again.
func TestASlowReplayFallsOff(t *testing.T) {
	const last = 200
	l := newMemoryLog(0)
	for slot := uint64(100); slot <= last; slot++ {
		l.slot(slot, slot-1, 100, false)
	}
	f := startOn(t, l, Config{replayBuffer: 100 << 10})
	from := uint64(100)
	request := &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}}
	slow := f.subscribeFrom(t, t.Context(), request)
	fast := f.subscribeFrom(t, t.Context(), request)
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.replays) == 2 }, patience, time.Millisecond)
	require.Equal(t, 1, f.readers.count())
	all := func(stream pb.Geyser_SubscribeClient) {
		for slot := uint64(100); slot <= last; slot++ {
			for i := range uint64(100) {
				n, _ := next(t, stream)
				require.Equal(t, slot*100+i, n)
			}
		}
	}
	all(fast)
	f.readers.mu.Lock()
	first, _ := f.readers.list[0].place()
	f.readers.mu.Unlock()
	require.Positive(t, first, "the buffer is bounded")
	all(slow)
	reads := testutil.ToFloat64(f.metrics.replayReads)
	require.Greater(t, reads, float64(len(l.records)))
	require.LessOrEqual(t, reads, float64(2*len(l.records)))
}

// TestReadersMeet: a replay that comes to what another one has read joins it, and leaves its own
// reader.
func TestReadersMeet(t *testing.T) {
	l := newMemoryLog(0)
	for slot := uint64(100); slot < 110; slot++ {
		l.slot(slot, slot-1, 100, false)
	}
	f := startOn(t, l, Config{})
	far, _ := f.readers.tryJoin(700, newcomer)
	_, err := far.fetch(t.Context(), 700)
	require.NoError(t, err)
	near, _ := f.readers.tryJoin(300, newcomer)
	require.NotSame(t, far, near)
	records, err := near.fetch(t.Context(), 300)
	require.NoError(t, err)
	require.EqualValues(t, 300, records[0].offset)
	_, err = near.fetch(t.Context(), 300+int64(len(records)))
	require.ErrorIs(t, err, errElsewhere)
	met, _ := f.readers.tryJoin(300+int64(len(records)), newcomer)
	require.Same(t, far, met)
}

// replayServer is a server that serves replays of the log alone: it does not listen, and live
// delivery has begun at the log's end.
func replayServer(t *testing.T, l *memoryLog, cfg Config) *Server {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	s, err := New(cfg, Deps{Keys: &keys.Static{}, Offsets: l, OpenTail: l.open})
	require.NoError(t, err)
	s.hub.begin(l.begin + int64(len(l.records)))
	close(s.fed)
	return s
}

// replayer is a subscriber of a replay from a slot on, which wants the transactions that have the
// account of number 7.
func (s *Server) replayer(t *testing.T, ctx context.Context, slot uint64) (*subscriber, *replay, error) {
	t.Helper()
	sub, err := s.hub.add("", formGRPC, s.cfg.buffer)
	require.NoError(t, err)
	again, err := s.newReplay(ctx, sub, slot, levelLog)
	if err != nil {
		return sub, nil, err
	}
	list, err := readFilters(filters{"seven": {AccountInclude: []string{text(7)}}}, limits{1, 1})
	require.NoError(t, err)
	list[0].gate = again.gate
	require.NoError(t, s.hub.setFilters(sub, list))
	return sub, again, nil
}

// TestAReaderMovesOnBeforeAFetch: a replay that has joined a reader, which then drops what the
// replay needs, joins another one.
func TestAReaderMovesOnBeforeAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		l.slot(100, 99, 2000, false)
		s := replayServer(t, l, Config{replayBuffer: 1})
		sub, again, err := s.replayer(t, t.Context(), 100)
		require.NoError(t, err)
		moveOn := func(r *replayReader) {
			for range 2 {
				require.NoError(t, r.read(t.Context()))
			}
			first, _ := r.place()
			require.Positive(t, first)
		}
		moveOn(again.reader)
		other, _ := s.readers.tryJoin(0, newcomer)
		other.turn <- struct{}{}
		go again.run(t.Context())
		synctest.Wait()
		require.Equal(t, 2, other.users, "the replay waits for its turn at the other reader")
		moveOn(other)
		<-other.turn
		synctest.Wait()
		require.False(t, sub.over(), "%v", sub.why)
		var got []uint64
		for d, ok := sub.out.pop(); ok; d, ok = sub.out.pop() {
			got = append(got, uint64(d.tx.offset))
		}
		require.Equal(t, []uint64{7, 263, 519, 775, 1031, 1287, 1543, 1799}, got)
	})
}

// TestAnAcceptedReplayIsNotRefused: where there is no reader for one that fell off its own, it waits
// as long as it takes, and comes before those that are new.
func TestAnAcceptedReplayIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		l.slot(100, 99, 2000, false)
		l.slot(101, 100, 2000, false)
		s := replayServer(t, l, Config{MaxReplays: 1, replayBuffer: 1, replayPatience: time.Hour})
		sub, again, err := s.replayer(t, t.Context(), 100)
		require.NoError(t, err)
		first := again.reader
		for range 2 {
			require.NoError(t, first.read(t.Context()))
		}
		_, at := first.place()
		other, _ := s.readers.tryJoin(at, newcomer)
		require.Same(t, first, other, "its reader has moved on, for another one")
		go again.run(t.Context())
		time.Sleep(10 * time.Hour)
		require.False(t, sub.over(), "%v", sub.why)

		came := make(chan *replay, 8)
		for range cap(came) {
			go func() {
				next, err := s.newReplay(t.Context(), nil, 101, levelLog)
				if err != nil {
					t.Error(err)
				}
				came <- next
			}()
		}
		synctest.Wait()
		require.Empty(t, came, "they wait, too")
		s.readers.leave(other)
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
		_, first, err := s.replayer(t, t.Context(), 101)
		require.NoError(t, err)
		_, _, err = s.replayer(t, t.Context(), 101)
		require.ErrorIs(t, err, errReplays)
		first.release()
		_, _, err = s.replayer(t, t.Context(), 100)
		var old *oldSlotError
		require.ErrorAs(t, err, &old)
		_, last, err := s.replayer(t, t.Context(), 101)
		require.NoError(t, err)
		last.run(t.Context())
		_, _, err = s.replayer(t, t.Context(), 101)
		require.NoError(t, err)
	})
}

// TestClientsShareALookAtTheLog: one that leaves meanwhile takes it from nobody.
func TestClientsShareALookAtTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		l.slot(100, 99, 3, false)
		answer := make(chan struct{})
		looks := 0
		s := &Server{deps: Deps{Offsets: l, OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			looks++
			<-answer
			return l.open(topics, start)
		}}}
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
		close(answer)
		for range cap(served) {
			require.NoError(t, <-served)
		}
		require.Equal(t, 1, looks)
	})
}
