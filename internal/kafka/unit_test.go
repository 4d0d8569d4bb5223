package kafka

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

func TestRetryable(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"nothing":                {nil, false},
		"leader moved":           {kafkago.NotLeaderForPartition, true},
		"too few replicas":       {kafkago.NotEnoughReplicasAfterAppend, true},
		"disk of the broker":     {kafkago.KafkaStorageError, true},
		"must join again":        {kafkago.UnknownMemberId, true},
		"too large":              {kafkago.MessageSizeTooLarge, false},
		"not allowed":            {kafkago.TopicAuthorizationFailed, false},
		"static member replaced": {kafkago.FencedInstanceID, false},
		"against the policy":     {kafkago.PolicyViolation, false},
		"no such code":           {kafkago.Error(9999), false},
		"unknown server error":   {kafkago.Unknown, true},
		"request too slow":       {context.DeadlineExceeded, true},
		"caller gave up":         {context.Canceled, false},
		"broker went away":       {io.ErrUnexpectedEOF, true},
		"broker is away":         {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		"topic not seen yet":     {protocol.NewErrNoTopic("t"), true},
		"something else":         {errors.New("read: connection reset by peer"), false},
	} {
		require.Equal(t, test.want, Retryable(test.err), name)
		if test.err != nil {
			require.Equal(t, test.want, Retryable(fmt.Errorf("wrapped: %w", test.err)), name)
		}
	}
}

func TestSwappedError(t *testing.T) {
	// As kafka-go reads throttle_time_ms 0, error_code 25: error 0, throttle 25.
	require.ErrorIs(t, swappedError(nil, 25*time.Millisecond), kafkago.UnknownMemberId)
	// throttle_time_ms 1,000 (0x000003e8), error_code 27: error 0, throttle 0x03e8001b.
	require.ErrorIs(t, swappedError(nil, 0x03e8001b*time.Millisecond), kafkago.RebalanceInProgress)
	require.NoError(t, swappedError(nil, 0x03e80000*time.Millisecond))
	require.NoError(t, swappedError(nil, 0))
	require.ErrorIs(t, swappedError(kafkago.UnknownMemberId, 0), kafkago.UnknownMemberId)
}

// TestAssignRange: every partition of a topic goes to exactly one member that wants the topic, as
// evenly as can be, whatever the order of the members.
func TestAssignRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{1,3}`), 1, 6, rapid.ID).Draw(t, "members")
		subscribed, counts := map[string][]string{}, map[string]int{}
		for _, topic := range []string{"a", "b", "c"} {
			if members := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 1, len(names), rapid.ID).Draw(t, topic); len(members) > 0 {
				subscribed[topic], counts[topic] = members, rapid.IntRange(1, 20).Draw(t, topic+" partitions")
			}
		}
		plan := assignRange(subscribed, counts)
		for topic, members := range subscribed {
			var all []int
			least, most := counts[topic], 0
			for _, member := range members {
				n := len(plan[member][topic])
				least, most = min(least, n), max(most, n)
				all = append(all, plan[member][topic]...)
			}
			slices.Sort(all)
			want := make([]int, counts[topic])
			for i := range want {
				want[i] = i
			}
			require.Equal(t, want, all)
			require.LessOrEqual(t, most-least, 1)
			backwards := slices.Clone(members)
			slices.Reverse(backwards)
			again := assignRange(map[string][]string{topic: backwards}, counts)
			for _, member := range members {
				require.Equal(t, plan[member][topic], again[member][topic])
			}
		}
	})
}

func TestOnlyOwnedOffsetsMoveForward(t *testing.T) {
	own, ahead, foreign := TopicPartition{"t", 0}, TopicPartition{"t", 1}, TopicPartition{"t", 2}
	g := &generation{committed: map[TopicPartition]int64{own: 10, ahead: offsetUnknown}}
	var skipped []string
	out := g.owned(map[TopicPartition]int64{own: 10, ahead: 1, foreign: 5}, func(reason string) { skipped = append(skipped, reason) })
	require.Equal(t, map[TopicPartition]int64{ahead: 1}, out)
	slices.Sort(skipped)
	require.Equal(t, []string{"behind", "not_owned"}, skipped)
	g.markCommitted(ahead, 1)
	require.Empty(t, g.owned(map[TopicPartition]int64{ahead: 1}, func(string) {}))
}

// TestPartitionOf holds the partitioner to kafka-go's own, on which other tools rely.
func TestPartitionOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "key")
		count := rapid.IntRange(1, 64).Draw(t, "count")
		partitions := make([]int, count)
		for i := range partitions {
			partitions[i] = i
		}
		require.Equal(t, (&kafkago.Hash{}).Balance(kafkago.Message{Key: key}, partitions...), PartitionOf(key, count))
	})
}

func TestTroubleIsLoggedOnceInAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := newSampler(slog.New(slog.NewTextHandler(&out, nil)))
		for range 100 {
			s.trouble(io.EOF, "kafka fetch failed")
		}
		s.trouble(kafkago.MessageSizeTooLarge, "kafka produce failed") // is returned, so not logged
		s.trouble(io.EOF, "kafka commit failed")
		require.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
	})
}

func TestRetryTellsWhatWasFailing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	err := retry(ctx, func(error) {}, func(context.Context) error { return kafkago.LeaderNotAvailable })
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, kafkago.LeaderNotAvailable)
	// The attempt that is under way when ctx ends is broken off. What failed before tells more.
	ctx, cancel = context.WithCancel(context.Background())
	defer cancel()
	attempts := 0
	err = retry(ctx, func(error) {}, func(ctx context.Context) error {
		if attempts++; attempts == 1 {
			return kafkago.LeaderNotAvailable
		}
		cancel()
		return ctx.Err()
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, kafkago.LeaderNotAvailable)
	calls := 0
	err = retry(context.Background(), func(error) {}, func(context.Context) error { calls++; return kafkago.MessageSizeTooLarge })
	require.ErrorIs(t, err, kafkago.MessageSizeTooLarge)
	require.Equal(t, 1, calls)
}

// TestOneRegistryForAll: an application has several producers and consumers and one registry.
func TestOneRegistryForAll(t *testing.T) {
	d := Deps{Registerer: prometheus.NewRegistry()}
	brokers := []string{"127.0.0.1:1"}
	for range 2 {
		_, err := NewProducer(ProducerConfig{Brokers: brokers}, d)
		require.NoError(t, err)
		_, err = NewGroupConsumer(GroupConsumerConfig{Brokers: brokers, Group: "g", Topics: []string{"t"}}, d)
		require.NoError(t, err)
		_, err = NewTailer(TailerConfig{Brokers: brokers, Topics: []string{"t"}}, d)
		require.NoError(t, err)
	}
}

func TestConfigurationIsChecked(t *testing.T) {
	_, err := NewProducer(ProducerConfig{}, Deps{})
	require.Error(t, err)
	_, err = NewProducer(ProducerConfig{Brokers: []string{"no-port"}}, Deps{})
	require.ErrorContains(t, err, "no-port")
	_, err = NewGroupConsumer(GroupConsumerConfig{Brokers: []string{"h:1"}, Topics: []string{"t"}}, Deps{})
	require.Error(t, err)
	_, err = NewTailer(TailerConfig{Brokers: []string{"h:1"}}, Deps{})
	require.Error(t, err)
}
