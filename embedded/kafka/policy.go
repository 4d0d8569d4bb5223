package kafka

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxPartitions bounds the partitions of one topic: the broker keeps two files open for each.
const maxPartitions = 256

// topicName matches the names that Apache Kafka allows. kfake makes a folder of the name without a
// check, so a name like ../../x would write outside of the data folder.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,249}$`)

// checkTopic returns the reason why a topic may not be created, as an error code and a message. If
// it may be created, the code is nil.
func checkTopic(t *kmsg.CreateTopicsRequestTopic) (*kerr.Error, string) {
	if !topicName.MatchString(t.Topic) || t.Topic == "." || t.Topic == ".." {
		return kerr.InvalidTopicException, "topic names are 1 to 249 of a-z, A-Z, 0-9, '.', '_' and '-'"
	}
	if t.NumPartitions > maxPartitions || len(t.ReplicaAssignment) > maxPartitions {
		return kerr.InvalidPartitions, fmt.Sprintf("the embedded broker takes at most %d partitions a topic", maxPartitions)
	}
	set := make(map[string]*string, len(t.Configs))
	for _, config := range t.Configs {
		set[config.Name] = config.Value
	}
	for _, name := range []string{"retention.ms", "retention.bytes"} {
		if _, ok := set[name]; !ok {
			return kerr.PolicyViolation, fmt.Sprintf("the embedded broker wants %s on every topic (-1 keeps records for ever)", name)
		}
	}
	for name, value := range set {
		if message := checkTopicConfig(name, value); message != "" {
			return kerr.PolicyViolation, message
		}
	}
	return nil, ""
}

// checkTopicConfig returns the reason why a topic may not have this setting, or "" if it may. value
// is nil if a request sets none or takes the setting away.
func checkTopicConfig(name string, value *string) string {
	switch name {
	case "cleanup.policy":
		// If the process is killed during kfake's compaction, 18 to 97 % of the keys are lost.
		if value == nil || strings.Contains(*value, "compact") {
			return "the embedded broker's compaction is not crash-safe: use cleanup.policy=delete"
		}
	case "retention.ms", "retention.bytes":
		if value == nil {
			return name + " must be set on every topic of the embedded broker (-1 keeps records for ever)"
		}
		if n, err := strconv.ParseInt(*value, 10, 64); err != nil || n < -1 {
			return name + " must be a whole number, -1 or more"
		}
	}
	return ""
}

// refuseCreateTopics returns the answer to a CreateTopics request in which a topic breaks the
// rules; nil if none does. That topic gets the reason. The other topics are not created either, and
// can be requested again, as with a policy of Apache Kafka.
func refuseCreateTopics(req *kmsg.CreateTopicsRequest) kmsg.Response {
	resp, _ := req.ResponseKind().(*kmsg.CreateTopicsResponse)
	refused := false
	for i := range req.Topics {
		topic := kmsg.NewCreateTopicsResponseTopic()
		topic.Topic = req.Topics[i].Topic
		if code, message := checkTopic(&req.Topics[i]); code != nil {
			refused = true
			topic.ErrorCode = code.Code
			topic.ErrorMessage = &message
		} else {
			message := "another topic of the request was refused"
			topic.ErrorCode = kerr.PolicyViolation.Code
			topic.ErrorMessage = &message
		}
		resp.Topics = append(resp.Topics, topic)
	}
	if !refused {
		return nil
	}
	return resp
}

// refuseIncrementalAlter returns the answer to an IncrementalAlterConfigs request that breaks the
// rules; nil if it breaks none. Only topics may be configured. retention.ms, retention.bytes and
// cleanup.policy may be set, but not deleted. No resource of a refused request is changed. Those
// that keep the rules get an error too, and can be requested again.
func refuseIncrementalAlter(req *kmsg.IncrementalAlterConfigsRequest) kmsg.Response {
	resp, _ := req.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	refused := false
	for _, resource := range req.Resources {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceName, out.ResourceType = resource.ResourceName, resource.ResourceType
		message := "only topics can be configured on the embedded broker"
		if resource.ResourceType == kmsg.ConfigResourceTypeTopic {
			message = ""
			for _, config := range resource.Configs {
				value := config.Value
				if config.Op != kmsg.IncrementalAlterConfigOpSet {
					value = nil
				}
				if m := checkTopicConfig(config.Name, value); m != "" {
					message = m
				}
			}
		}
		refused = refused || message != ""
		message = cmp.Or(message, "another resource of the request was refused")
		out.ErrorCode = kerr.PolicyViolation.Code
		out.ErrorMessage = &message
		resp.Resources = append(resp.Resources, out)
	}
	if !refused {
		return nil
	}
	return resp
}
