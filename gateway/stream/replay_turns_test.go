package stream

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/internal/kafka"
)

// A replay waits for its turn while there are as many as may be, and is refused after a while.
func TestReplaysTakeTurns(t *testing.T) {
	for name, patient := range map[string]time.Duration{"refused": time.Millisecond, "served": patience} {
		t.Run(name, func(t *testing.T) {
			l := newMemoryLog(0)
			l.slot(100, 99, 1, false)
			f := startOn(t, l, Config{MaxReplays: 1, replayPatience: patient})
			other, _ := f.readers.tryJoin(1<<40, keys.OpenID, newcomer)
			require.NotNil(t, other, "another replay reads elsewhere")
			from := uint64(100)
			stream := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}})
			if name == "refused" {
				_, err := stream.Recv()
				require.Equal(t, codes.ResourceExhausted, status.Code(err))
				require.ErrorContains(t, err, errReplays.Error())
				return
			}
			f.readers.leave(other, keys.OpenID)
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
	t.Parallel() // it waits most of the time
	l := newMemoryLog(0)
	for slot := uint64(100); slot < 130; slot++ {
		l.slot(slot, slot-1, 100, false)
	}
	f := startOn(t, l, Config{MaxReplays: 1, replayPatience: patience, replayStall: 500 * time.Millisecond})
	from := uint64(100)
	all := &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}}
	stalled := f.subscribeFrom(t, t.Context(), all)
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.replays) == 1 }, patience, time.Millisecond)
	elsewhere := uint64(115)
	next := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &elsewhere, Transactions: filters{"all": {}}})
	_, err := next.Recv()
	require.NoError(t, err, "it has the turn of the one that does not read")
	for err == nil {
		_, err = stalled.Recv()
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, errStalled.Error())
}

// TestAReplayEndsWithItsSubscription, and makes room for another one.
func TestAReplayEndsWithItsSubscription(t *testing.T) {
	l := newMemoryLog(0)
	for slot := uint64(100); slot < 130; slot++ {
		l.slot(slot, slot-1, 1000, false)
	}
	f := startOn(t, l, Config{maxReplaying: 1, replayPatience: patience, replayStall: time.Hour})
	conn := f.dial(t) // nothing is read: the replay waits for the client
	send := func(call string) { require.NoError(t, conn.Write(t.Context(), websocket.MessageText, []byte(call))) }
	send(`{"jsonrpc":"2.0","id":1,"method":"transactionSubscribe","params":[{},{"fromSlot":100}]}`)
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.replays) == 1 }, patience, time.Millisecond)
	require.False(t, f.running.TryAcquire(1))
	send(`{"jsonrpc":"2.0","id":2,"method":"transactionUnsubscribe","params":[1]}`)
	require.Eventually(t, func() bool { return f.running.TryAcquire(1) }, patience, time.Millisecond)
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
	f := startOn(t, l, Config{MaxReplays: 1, replayPatience: patience})
	var subs []*subscriber
	for i := range clients {
		from := uint64(100)
		if i%4 == 3 { // not quite the same place
			from += 2
		}
		sub, again, err := f.replayer(t, from, &pb.SubscribeRequestFilterTransactions{})
		require.NoError(t, err)
		subs = append(subs, sub)
		go again.run(t.Context())
		// No client reads until all have come, so the first one is still there.
		require.Eventually(t, sub.hasAll, patience, time.Millisecond)
	}
	require.Equal(t, 1, f.readers.count())
	l.slot(100+slots, 99+slots, 1, false)
	want = append(want, fmt.Sprint((100+slots)*100))
	var reading sync.WaitGroup
	for i, sub := range subs {
		reading.Go(func() {
			mine := want
			if i%4 == 3 {
				mine = want[2*each:]
			}
			for n, number := range mine {
				if got := numberOf(sub); got != number {
					t.Errorf("client %d, delivery %d: %s; want %s", i, n, got, number)
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
	slow, behind, err := f.replayer(t, 100, &pb.SubscribeRequestFilterTransactions{})
	require.NoError(t, err)
	fast, ahead, err := f.replayer(t, 100, &pb.SubscribeRequestFilterTransactions{})
	require.NoError(t, err)
	require.Equal(t, 1, f.readers.count())
	go behind.run(t.Context())
	require.Eventually(t, slow.hasAll, patience, time.Millisecond)
	go ahead.run(t.Context())
	all := func(sub *subscriber) {
		for slot := uint64(100); slot <= last; slot++ {
			for i := range uint64(100) {
				require.Equal(t, fmt.Sprint(slot*100+i), numberOf(sub))
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
	far, _ := f.readers.tryJoin(700, keys.OpenID, newcomer)
	_, err := far.fetch(t.Context(), 700)
	require.NoError(t, err)
	near, _ := f.readers.tryJoin(300, keys.OpenID, newcomer)
	require.NotSame(t, far, near)
	records, err := near.fetch(t.Context(), 300)
	require.NoError(t, err)
	require.EqualValues(t, 300, records[0].offset)
	_, err = near.fetch(t.Context(), 300+int64(len(records)))
	require.ErrorIs(t, err, errElsewhere)
	met, _ := f.readers.tryJoin(300+int64(len(records)), keys.OpenID, newcomer)
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

// replayer makes a subscriber with one filter, and a replay for it from a slot on, as the surfaces
// do. The caller runs the replay.
func (s *Server) replayer(t *testing.T, slot uint64, filter *pb.SubscribeRequestFilterTransactions) (*subscriber, *replay, error) {
	t.Helper()
	sub, err := s.hub.add(keys.OpenID, formGRPC, s.cfg.buffer)
	require.NoError(t, err)
	t.Cleanup(func() { s.hub.remove(sub) })
	again, err := s.newReplay(t.Context(), sub, slot, levelLog)
	if err != nil {
		return sub, nil, err
	}
	list, err := readFilters(filters{"f": filter}, limits{1, 1})
	require.NoError(t, err)
	list[0].gate = again.gate
	require.NoError(t, s.hub.set(sub, list, nil))
	return sub, again, nil
}

// seven selects one of 256 transactions.
func seven() *pb.SubscribeRequestFilterTransactions {
	return &pb.SubscribeRequestFilterTransactions{AccountInclude: []string{text(7)}}
}

// hasAll returns whether as many deliveries wait as a replay makes before they are read.
func (s *subscriber) hasAll() bool {
	waiting, _ := s.out.backlog()
	return waiting == replayAhead
}

// numberOf waits for the next transaction that is delivered to a subscriber, and returns its number
// (see tx), or why there is none.
func numberOf(sub *subscriber) string {
	for {
		if d, ok := sub.out.pop(); ok {
			return strings.TrimRight(string(d.tx.signature[:]), "\x00")
		}
		select {
		case <-sub.out.ready:
		case <-sub.Ended():
			return sub.Why().Error()
		case <-time.After(patience):
			return "none came"
		}
	}
}

// cut deletes the records before offset, as retention does.
func (l *memoryLog) cut(offset int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = l.records[offset-l.begin:]
	l.begin = offset
}

// TestASlotThatRetentionCutsIsAGap: a slow replay reads on where the log begins by then, in the
// middle of a slot.
func TestASlotThatRetentionCutsIsAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		for slot := uint64(100); slot <= 103; slot++ {
			l.slot(slot, slot-1, 300, false)
		}
		s := replayServer(t, l, Config{})
		sub, again, err := s.replayer(t, 100, &pb.SubscribeRequestFilterTransactions{})
		require.NoError(t, err)
		sub.shard.setWatches(sub, []*watch{{kind: watchGaps, ordered: true, gate: again.gate}})
		go again.run(t.Context())
		synctest.Wait() // until the client reads
		const offset = 2*301 + 150
		require.Less(t, again.next, int64(replayBatch))
		l.cut(offset)
		var gaps []string
		var slots [104]int
		for d, ok := sub.out.pop(); ok; d, ok = sub.out.pop() {
			if d.note != nil {
				gaps = append(gaps, fmt.Sprintf("%d-%d", d.note.first, d.note.slot))
			} else {
				slots[d.tx.slot]++
			}
			synctest.Wait()
		}
		require.Equal(t, []string{"101-102"}, gaps)
		require.Equal(t, []int{300, replayBatch - 301, 150, 300}, slots[100:])
	})
}

// TestAReaderMovesOnBeforeAFetch: a replay that has joined a reader, which then drops what the
// replay needs, joins another one.
func TestAReaderMovesOnBeforeAFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(0)
		l.slot(100, 99, 2000, false)
		s := replayServer(t, l, Config{replayBuffer: 1})
		sub, again, err := s.replayer(t, 100, seven())
		require.NoError(t, err)
		moveOn := func(r *replayReader) {
			for range 2 {
				require.NoError(t, r.read(t.Context()))
			}
			first, _ := r.place()
			require.Positive(t, first)
		}
		moveOn(again.reader)
		other, _ := s.readers.tryJoin(0, keys.OpenID, newcomer)
		other.turn <- struct{}{}
		go again.run(t.Context())
		synctest.Wait()
		require.Equal(t, map[string]int{keys.OpenID: 2}, other.users, "the replay waits for its turn at the other reader")
		moveOn(other)
		<-other.turn
		synctest.Wait()
		require.False(t, sub.Over(), "%v", sub.Why())
		var got []uint64
		for d, ok := sub.out.pop(); ok; d, ok = sub.out.pop() {
			got = append(got, uint64(d.tx.offset))
		}
		require.Equal(t, []uint64{7, 263, 519, 775, 1031, 1287, 1543, 1799}, got)
	})
}
