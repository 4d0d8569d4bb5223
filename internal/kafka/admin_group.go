package kafka

import (
	"context"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mintlake/mintlake/internal/pause"
)

// groupEmptyDelay is the time between two checks whether a group's last member is gone. A member
// that was killed counts until its session has timed out.
const groupEmptyDelay = 500 * time.Millisecond

// ForgetGroup deletes a consumer group with its committed offsets, so its next member begins at the
// first record. While the group has members it waits, until ctx ends. A group that does not exist
// is no error.
func (a *Admin) ForgetGroup(ctx context.Context, group string) error {
	for {
		var code error
		err := a.retry(ctx, func(ctx context.Context) error {
			response, err := a.client.DeleteGroups(ctx, &kafkago.DeleteGroupsRequest{GroupIDs: []string{group}})
			if err != nil {
				return err
			}
			if code = response.Errors[group]; isCode(code, kafkago.NonEmptyGroup) || isCode(code, kafkago.GroupIdNotFound) {
				return nil
			}
			return code
		})
		if err != nil {
			return fmt.Errorf("forget group %s: %w", group, err)
		}
		if !isCode(code, kafkago.NonEmptyGroup) {
			return nil
		}
		if err := pause.For(ctx, groupEmptyDelay); err != nil {
			return fmt.Errorf("forget group %s: it still has members: %w", group, err)
		}
	}
}

// ResetGroup sets a consumer group's committed offsets, for example to those that were noted with a
// backup. The group reads a partition that is not in offsets from its first record. While the group
// has members ResetGroup waits, until ctx ends. Then it deletes the group and commits offsets. If
// it fails in between, the group reads from the first records.
func (a *Admin) ResetGroup(ctx context.Context, group string, offsets map[TopicPartition]int64) error {
	if err := a.ForgetGroup(ctx, group); err != nil {
		return err
	}
	if len(offsets) == 0 {
		return nil
	}
	// A commit for a group without members must have generation -1 and no member id.
	nobody := &generation{brokerID: -1, committed: make(map[TopicPartition]int64, len(offsets))}
	err := a.retry(ctx, func(ctx context.Context) error { return a.client.commit(ctx, group, "", nobody, offsets) })
	if err != nil {
		return fmt.Errorf("reset group %s: %w", group, err)
	}
	return nil
}

// ClusterID returns the id that a Kafka cluster gave itself when it was created. Offsets of one
// cluster mean nothing in another.
func (a *Admin) ClusterID(ctx context.Context) (string, error) {
	var id string
	err := a.retry(ctx, func(ctx context.Context) error {
		meta, err := a.client.Metadata(ctx, &kafkago.MetadataRequest{})
		if err == nil {
			id = meta.ClusterID
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("ask kafka for its cluster id: %w", err)
	}
	return id, nil
}
