package kafka

import (
	"context"
	"fmt"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/mintlake/mintlake/internal/pause"
)

// groupEmptyDelay is the time between two looks whether a group's last member is gone: after a kill
// the broker waits for its session to end.
const groupEmptyDelay = 500 * time.Millisecond

// ForgetGroup deletes a consumer group with its committed offsets, so that its next member begins
// at the first record. It waits while the group has members, until ctx ends. A group that does not
// exist is no error.
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
