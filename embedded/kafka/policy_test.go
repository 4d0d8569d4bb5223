package kafka

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topicRequest(name string, partitions int32, config map[string]string) kmsg.CreateTopicsRequestTopic {
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	for key, value := range config {
		entry := kmsg.NewCreateTopicsRequestTopicConfig()
		entry.Name, entry.Value = key, kmsg.StringPtr(value)
		topic.Configs = append(topic.Configs, entry)
	}
	return topic
}

func TestTopicsMustSayWhatTheyKeep(t *testing.T) {
	forever := map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}
	for name, test := range map[string]struct {
		topic kmsg.CreateTopicsRequestTopic
		want  *kerr.Error
	}{
		"for ever":            {topicRequest("t", 1, forever), nil},
		"no retention":        {topicRequest("t", 1, nil), kerr.PolicyViolation},
		"only one retention":  {topicRequest("t", 1, map[string]string{"retention.ms": "1000"}), kerr.PolicyViolation},
		"compacted":           {topicRequest("t", 1, map[string]string{"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "compact"}), kerr.PolicyViolation},
		"compacted as well":   {topicRequest("t", 1, map[string]string{"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete,compact"}), kerr.PolicyViolation},
		"no number":           {topicRequest("t", 1, map[string]string{"retention.ms": "7d", "retention.bytes": "-1"}), kerr.PolicyViolation},
		"outside the folder":  {topicRequest("../../t", 1, forever), kerr.InvalidTopicException},
		"the folder above":    {topicRequest("..", 1, forever), kerr.InvalidTopicException},
		"no name":             {topicRequest("", 1, forever), kerr.InvalidTopicException},
		"too many partitions": {topicRequest("t", maxPartitions+1, forever), kerr.InvalidPartitions},
	} {
		got, message := checkTopic(&test.topic)
		require.Equal(t, test.want, got, name)
		require.Equal(t, got == nil, message == "", name)
	}
}

func TestOneBadTopicRefusesTheRequest(t *testing.T) {
	forever := map[string]string{"retention.ms": "-1", "retention.bytes": "-1"}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Topics = []kmsg.CreateTopicsRequestTopic{topicRequest("good", 1, forever)}
	require.Nil(t, refuseCreateTopics(req))
	req.Topics = append(req.Topics, topicRequest("bad", 1, nil))
	resp, ok := refuseCreateTopics(req).(*kmsg.CreateTopicsResponse)
	require.True(t, ok)
	require.Len(t, resp.Topics, 2)
	for _, topic := range resp.Topics {
		require.NotZero(t, topic.ErrorCode)
		require.NotNil(t, topic.ErrorMessage)
	}
}

func TestRetentionCannotBeTakenAway(t *testing.T) {
	alter := func(op kmsg.IncrementalAlterConfigOp, name, value string) *kmsg.IncrementalAlterConfigsRequest {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		resource := kmsg.NewIncrementalAlterConfigsRequestResource()
		resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, "t"
		config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		config.Name, config.Op, config.Value = name, op, kmsg.StringPtr(value)
		resource.Configs = append(resource.Configs, config)
		req.Resources = append(req.Resources, resource)
		return req
	}
	require.Nil(t, refuseIncrementalAlter(alter(kmsg.IncrementalAlterConfigOpSet, "retention.ms", "1000")))
	require.NotNil(t, refuseIncrementalAlter(alter(kmsg.IncrementalAlterConfigOpDelete, "retention.ms", "1000")))
	require.NotNil(t, refuseIncrementalAlter(alter(kmsg.IncrementalAlterConfigOpSet, "cleanup.policy", "compact")))
	require.NotNil(t, refuseIncrementalAlter(alter(kmsg.IncrementalAlterConfigOpAppend, "cleanup.policy", "compact")))
	broker := alter(kmsg.IncrementalAlterConfigOpSet, "log.retention.ms", "1")
	broker.Resources[0].ResourceType = kmsg.ConfigResourceTypeBroker
	require.NotNil(t, refuseIncrementalAlter(broker))

	both := alter(kmsg.IncrementalAlterConfigOpSet, "retention.ms", "1000")
	both.Resources = append(both.Resources, broker.Resources...)
	resp, ok := refuseIncrementalAlter(both).(*kmsg.IncrementalAlterConfigsResponse)
	require.True(t, ok)
	require.Len(t, resp.Resources, 2)
	for _, resource := range resp.Resources {
		require.NotZero(t, resource.ErrorCode, "nothing of the request was changed")
		require.NotNil(t, resource.ErrorMessage)
	}
}
