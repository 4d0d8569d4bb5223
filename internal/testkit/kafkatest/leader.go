package kafkatest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Leader returns the address of the broker that leads a partition; empty if there is none now.
func Leader(t testing.TB, addrs []string, topic string, partition int) string {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(addrs...))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	request := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = kmsg.StringPtr(topic)
	request.Topics = append(request.Topics, asked)
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return ""
	}
	for _, found := range response.Topics[0].Partitions {
		if int(found.Partition) != partition || found.ErrorCode != 0 {
			continue
		}
		for _, broker := range response.Brokers {
			if broker.NodeID == found.Leader {
				return fmt.Sprintf("%s:%d", broker.Host, broker.Port)
			}
		}
	}
	return ""
}
