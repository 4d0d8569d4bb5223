package kafka

import (
	"context"
	"errors"
	"fmt"

	kafkago "github.com/segmentio/kafka-go"
)

// listOffsets returns for each partition its first offset if at is kafkago.FirstOffset, and the
// offset that the next record gets if at is kafkago.LastOffset. Any other at, such as a time,
// fails: the answer to it is not read.
func (c *client) listOffsets(ctx context.Context, tps []TopicPartition, at int64) (map[TopicPartition]int64, error) {
	req := &kafkago.ListOffsetsRequest{Topics: make(map[string][]kafkago.OffsetRequest)}
	for _, tp := range tps {
		req.Topics[tp.Topic] = append(req.Topics[tp.Topic], kafkago.OffsetRequest{Partition: tp.Partition, Timestamp: at})
	}
	resp, err := c.ListOffsets(ctx, req)
	if err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	out := make(map[TopicPartition]int64, len(tps))
	for topic, partitions := range resp.Topics {
		for _, p := range partitions {
			tp := TopicPartition{Topic: topic, Partition: p.Partition}
			if p.Error != nil {
				return nil, fmt.Errorf("list offsets of %s: %w", tp, p.Error)
			}
			out[tp] = p.FirstOffset
			if at == kafkago.LastOffset {
				out[tp] = p.LastOffset
			}
		}
	}
	for _, tp := range tps {
		// A partition that is missing in the answer must not be taken for offset 0.
		if offset, ok := out[tp]; !ok || offset < 0 {
			return nil, fmt.Errorf("list offsets of %s: %w", tp, kafkago.UnknownTopicOrPartition)
		}
	}
	return out, nil
}

// committed returns the group's offsets; offsetUnknown for a partition without one. An error of any
// partition is an error of the call: if it were taken for "nothing committed", the group would
// begin again at the first offset.
func (c *client) committed(ctx context.Context, group string, tps []TopicPartition) (map[TopicPartition]int64, error) {
	out := make(map[TopicPartition]int64, len(tps))
	if len(tps) == 0 {
		return out, nil // an empty request would mean all topics
	}
	req := &kafkago.OffsetFetchRequest{GroupID: group, Topics: make(map[string][]int)}
	for _, tp := range tps {
		req.Topics[tp.Topic] = append(req.Topics[tp.Topic], tp.Partition)
	}
	resp, err := c.OffsetFetch(ctx, req)
	if err == nil {
		err = resp.Error
	}
	if isCode(err, kafkago.GroupIdNotFound) {
		// The embedded broker answers this where Apache Kafka answers -1 for each partition.
		for _, tp := range tps {
			out[tp] = offsetUnknown
		}
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fetch offsets: %w", err)
	}
	for topic, partitions := range resp.Topics {
		for _, p := range partitions {
			tp := TopicPartition{Topic: topic, Partition: p.Partition}
			if p.Error != nil {
				return nil, fmt.Errorf("fetch offsets of %s: %w", tp, p.Error)
			}
			out[tp] = max(p.CommittedOffset, offsetUnknown)
		}
	}
	for _, tp := range tps {
		if _, ok := out[tp]; !ok {
			return nil, fmt.Errorf("fetch offsets of %s: %w", tp, kafkago.UnknownTopicOrPartition)
		}
	}
	return out, nil
}

// commit stores offsets as the member of gen, and notes in gen those that the broker has stored.
func (c *client) commit(ctx context.Context, group, instance string, gen *generation, offsets map[TopicPartition]int64) error {
	req := &kafkago.OffsetCommitRequest{
		GroupID: group, GenerationID: gen.brokerID, MemberID: gen.memberID, InstanceID: instance, Topics: make(map[string][]kafkago.OffsetCommit),
	}
	for tp, offset := range offsets {
		req.Topics[tp.Topic] = append(req.Topics[tp.Topic], kafkago.OffsetCommit{Partition: tp.Partition, Offset: offset})
	}
	resp, err := c.OffsetCommit(ctx, req)
	if err != nil {
		return fmt.Errorf("commit offsets: %w", err)
	}
	var errs []error
	answered := 0
	for topic, partitions := range resp.Topics {
		for _, p := range partitions {
			answered++
			tp := TopicPartition{Topic: topic, Partition: p.Partition}
			if p.Error != nil {
				errs = append(errs, fmt.Errorf("commit offset of %s: %w", tp, p.Error))
				continue
			}
			gen.markCommitted(tp, offsets[tp])
		}
	}
	if answered < len(offsets) {
		errs = append(errs, fmt.Errorf("commit offsets: answer for %d of %d partitions: %w", answered, len(offsets), kafkago.RequestTimedOut))
	}
	return errors.Join(errs...)
}
