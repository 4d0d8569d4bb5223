package kafka

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestRandomRequestsDoNotStopTheBroker sends requests with an acceptable head and damaged bodies. A
// panic anywhere in the broker would end this test binary.
func TestRandomRequestsDoNotStopTheBroker(t *testing.T) {
	broker, err := New(Config{DataDir: t.TempDir(), Addr: "127.0.0.1:0"}, Deps{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- broker.Run(ctx) }()
	require.NoError(t, broker.WaitReady(ctx))

	keys := make([]int16, 0, len(allowedRequests))
	for key := range allowedRequests {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	random := rand.New(rand.NewPCG(1, testkit.Seed(t)))
	sent := 0
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); sent++ {
		request := kmsg.RequestForKey(keys[random.IntN(len(keys))])
		request.SetVersion(int16(random.IntN(int(allowedRequests[request.Key()]) + 1)))
		body := damaged(random, request)
		conn, err := net.Dial("tcp", broker.Addr())
		require.NoError(t, err)
		_, err = conn.Write(frame(request.Key(), request.GetVersion(), body))
		require.NoError(t, err)
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		_, _ = io.CopyN(io.Discard, conn, 4)
		_ = conn.Close()
	}
	t.Logf("%d requests", sent)
	cancel()
	require.NoError(t, <-done)
}

// damaged is the body of request, filled with something and then changed in a few bytes.
func damaged(random *rand.Rand, request kmsg.Request) []byte {
	body := []byte{0xff, 0xff} // no client id
	if request.IsFlexible() {
		body = append(body, 0)
	}
	switch r := request.(type) {
	case *kmsg.MetadataRequest:
		r.Topics = append(r.Topics, kmsg.NewMetadataRequestTopic())
		r.Topics[0].Topic = kmsg.StringPtr("t")
	case *kmsg.CreateTopicsRequest:
		topic := topicRequest("t", int32(random.IntN(4)-1), map[string]string{"retention.ms": "-1", "retention.bytes": "-1"})
		r.Topics = append(r.Topics, topic)
	case *kmsg.ProduceRequest:
		r.Acks = -1
		topic := kmsg.NewProduceRequestTopic()
		topic.Topic = "t"
		partition := kmsg.NewProduceRequestTopicPartition()
		partition.Records = make([]byte, 70)
		partition.Records[16] = 2
		topic.Partitions = append(topic.Partitions, partition)
		r.Topics = append(r.Topics, topic)
	case *kmsg.FetchRequest:
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "t"
		topic.Partitions = append(topic.Partitions, kmsg.NewFetchRequestTopicPartition())
		r.Topics = append(r.Topics, topic)
	case *kmsg.JoinGroupRequest:
		r.Group, r.ProtocolType, r.SessionTimeoutMillis = "g", "consumer", 6000
	case *kmsg.OffsetCommitRequest:
		r.Group = "g"
	}
	body = request.AppendTo(body)
	for range random.IntN(4) {
		body[random.IntN(len(body))] = byte(random.Uint32())
	}
	if random.IntN(4) == 0 {
		body = body[:random.IntN(len(body)+1)]
	}
	return body
}
