package stream

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	pb "github.com/rpcpool/yellowstone-grpc/examples/golang/proto"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/mintlake/mintlake/internal/kafka"
)

// A replay waits for its turn while there are as many as may be, and is refused after a while.
func TestReplaysTakeTurns(t *testing.T) {
	for name, patient := range map[string]time.Duration{"refused": time.Millisecond, "served": patience} {
		t.Run(name, func(t *testing.T) {
			l := newMemoryLog(0)
			l.slot(100, 99, 1, false)
			f := startOn(t, l, Config{MaxReplays: 1, replayPatience: patient})
			require.True(t, f.replays.TryAcquire(1), "another replay runs")
			from := uint64(100)
			stream := f.subscribeFrom(t, t.Context(), &pb.SubscribeRequest{FromSlot: &from, Transactions: filters{"all": {}}})
			if name == "refused" {
				_, err := stream.Recv()
				require.Equal(t, codes.ResourceExhausted, status.Code(err))
				require.ErrorContains(t, err, errReplays.Error())
				return
			}
			f.replays.Release(1)
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
	next := f.subscribeFrom(t, t.Context(), all)
	_, err := next.Recv()
	require.NoError(t, err, "it has the turn of the one that does not read")
	for err == nil {
		_, err = stalled.Recv()
	}
	require.Equal(t, codes.ResourceExhausted, status.Code(err))
	require.ErrorContains(t, err, errStalled.Error())
}
