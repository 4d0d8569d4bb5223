package stream

import (
	"testing"
	"testing/synctest"
	"time"

	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// remake deletes the topic and makes it anew: its offsets begin at 0 again.
func (l *memoryLog) remake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin, l.records, l.tip = 0, nil, 0
}

// lose deletes the last n records, as when a broker dies that nobody follows.
func (l *memoryLog) lose(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = l.records[:len(l.records)-n]
}

// everythingConfirmed asks for transactions, ends of slots and gaps.
func everythingConfirmed(from *uint64) *pb.SubscribeRequest {
	return &pb.SubscribeRequest{FromSlot: from, Transactions: filters{"all": {}}, Slots: map[string]*pb.SubscribeRequestFilterSlots{"s": {}, gapsFilter: {}}}
}

func (f *fixture) requireNoReplay(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		all := int64(f.cfg.maxReplaying)
		free := f.running.TryAcquire(all)
		if free {
			f.running.Release(all)
		}
		return free
	}, patience, time.Millisecond, "live delivery has taken over from all replays")
}

// TestATopicMadeAnewGoesOn: the topic is deleted and filled from a backup that lacks the last slot.
// Live delivery goes on behind what was delivered, also for a client that began with a replay, and
// a new replay hands over.
func TestATopicMadeAnewGoesOn(t *testing.T) {
	l := newMemoryLog(1000)
	l.slot(99, 98, 1, false)
	l.slot(100, 99, 1, false)
	f := startOn(t, l, Config{stallAfter: patience})
	live := f.subscribeFrom(t, t.Context(), everythingConfirmed(nil))
	require.Eventually(t, f.oneListens, patience, time.Millisecond)
	from := uint64(100)
	replayed := f.subscribeFrom(t, t.Context(), everythingConfirmed(&from))
	require.Equal(t, []string{"10000", "100 SLOT_CONFIRMED"}, told(t, replayed, 2))
	f.requireNoReplay(t)
	l.slot(101, 100, 1, false)
	l.slot(102, 101, 1, false)
	l.slot(103, 102, 1, true) // the broker dies here
	before := []string{"10100", "101 SLOT_CONFIRMED", "10200", "102 SLOT_CONFIRMED", "10300"}
	require.Equal(t, before, told(t, live, 5))
	require.Equal(t, before, told(t, replayed, 5))

	l.remake()
	l.slot(100, 99, 1, false)
	l.slot(101, 100, 1, false)
	l.slot(103, 102, 2, false)
	l.slot(104, 103, 1, false)
	after := []string{"103-103 gap", "10301", "103 SLOT_CONFIRMED", "10400", "104 SLOT_CONFIRMED"}
	require.Equal(t, after, told(t, live, 5))
	require.Equal(t, after, told(t, replayed, 5))

	from = 101
	anew := f.subscribeFrom(t, t.Context(), everythingConfirmed(&from))
	require.Equal(t, []string{"10100", "101 SLOT_CONFIRMED", "10300", "10301", "102-102 gap", "103 SLOT_CONFIRMED", "10400", "104 SLOT_CONFIRMED"}, told(t, anew, 8))
	f.requireNoReplay(t)
	l.slot(105, 104, 1, false)
	for _, stream := range []pb.Geyser_SubscribeClient{live, replayed, anew} {
		require.Equal(t, []string{"10500", "105 SLOT_CONFIRMED"}, told(t, stream, 2))
	}
}

// TestALogThatLosesItsEndSendsNothingAgain: a broker loses the last records. What was delivered
// before does not come again, though the log still has the older slots.
func TestALogThatLosesItsEndSendsNothingAgain(t *testing.T) {
	l := newMemoryLog(0)
	f := startOn(t, l, Config{stallAfter: patience})
	live := f.subscribeFrom(t, t.Context(), everythingConfirmed(nil))
	require.Eventually(t, f.oneListens, patience, time.Millisecond)
	for slot := uint64(100); slot < 110; slot++ {
		l.slot(slot, slot-1, 1, false)
	}
	require.Len(t, told(t, live, 20), 20)
	l.lose(6)
	l.slot(110, 109, 1, false)
	l.slot(111, 110, 1, false)
	require.Equal(t, []string{"110-110 gap", "11000", "110 SLOT_CONFIRMED", "11100", "111 SLOT_CONFIRMED"}, told(t, live, 5))
}

// TestReplaysEndWhenTheTopicIsMadeAnew: a replay that goes on would read other slots at its
// offsets.
func TestReplaysEndWhenTheTopicIsMadeAnew(t *testing.T) {
	l := newMemoryLog(0)
	for slot := uint64(100); slot < 110; slot++ {
		l.slot(slot, slot-1, 300, false)
	}
	f := startOn(t, l, Config{stallAfter: patience})
	from := uint64(100)
	sub, again, err := f.replayer(t, from, &pb.SubscribeRequestFilterTransactions{})
	require.NoError(t, err)
	go again.run(t.Context())
	require.Eventually(t, sub.hasAll, patience, time.Millisecond, "it waits for its client")
	l.remake()
	for slot := uint64(110); slot < 115; slot++ {
		l.slot(slot, slot-1, 300, false)
	}
	require.Eventually(t, func() bool { return f.hub.slot.Load() == 114 }, patience, time.Millisecond)
	got := numberOf(sub)
	for len(got) == len("10000") {
		require.Less(t, got, "11000")
		got = numberOf(sub)
	}
	require.Equal(t, errLostLog.Error(), got)
}

// TestAReaderWhoseOffsetsGoBackFails: it may notice before live delivery does.
func TestAReaderWhoseOffsetsGoBackFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newMemoryLog(1000)
		l.slot(100, 99, 3, false)
		s := replayServer(t, l, Config{})
		s.hub.begin(2000) // live delivery is ahead, so that the replay goes on
		sub, again, err := s.replayer(t, 101, &pb.SubscribeRequestFilterTransactions{})
		require.NoError(t, err)
		go again.run(t.Context())
		synctest.Wait()
		l.remake()
		l.slot(101, 100, 1, false)
		<-sub.Ended()
		require.ErrorIs(t, sub.Why(), errLostLog)
		require.Equal(t, codes.ResourceExhausted, status.Code(endStatus(sub.Why())))
	})
}
