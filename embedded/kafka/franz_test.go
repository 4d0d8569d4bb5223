package kafka_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
)

// TestFranzGo: another client with its defaults makes a topic, writes in every compression, reads
// as a group, commits, and asks for something that the broker does not serve. The clients of other
// languages are run by tools/clients/kafka.
func TestFranzGo(t *testing.T) {
	broker, _ := serve(t, embedded.Config{DataDir: t.TempDir()}, embedded.Deps{})
	ctx := testContext(t)
	open := func(options ...kgo.Opt) *kgo.Client {
		client, err := kgo.NewClient(append(options, kgo.SeedBrokers(broker.Addr()))...)
		require.NoError(t, err)
		t.Cleanup(client.Close)
		return client
	}

	admin := open()
	create := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = "franz", 3, 1
	for name, value := range map[string]string{"retention.ms": "-1", "retention.bytes": "-1"} {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = name, kmsg.StringPtr(value)
		topic.Configs = append(topic.Configs, config)
	}
	create.Topics = append(create.Topics, topic)
	created, err := create.RequestWith(ctx, admin)
	require.NoError(t, err)
	require.NoError(t, kerr.ErrorForCode(created.Topics[0].ErrorCode))

	const count = 50
	want := make(map[string]bool)
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		producer := open(kgo.ProducerBatchCompression(codec))
		for i := range count {
			value := fmt.Sprintf("%s %d", name, i)
			want[value] = true
			producer.Produce(ctx, &kgo.Record{Topic: "franz", Value: []byte(value)}, nil)
		}
		require.NoError(t, producer.Flush(ctx))
	}

	consumer := open(kgo.ConsumerGroup("franz"), kgo.ConsumeTopics("franz"), kgo.DisableAutoCommit())
	got := make(map[string]bool)
	for len(got) < len(want) {
		fetches := consumer.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) { got[string(r.Value)] = true })
	}
	require.Equal(t, want, got)
	require.NoError(t, consumer.CommitUncommittedOffsets(ctx))

	_, err = kmsg.NewPtrDescribeClientQuotasRequest().RequestWith(ctx, admin)
	require.ErrorContains(t, err, "broker", "the client sees in ApiVersions that it is not served")
	_, err = kmsg.NewPtrMetadataRequest().RequestWith(ctx, admin)
	require.NoError(t, err)
}
