package tables

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/internal/clickhouse"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/pause"
	"github.com/mintlake/mintlake/projector"
	"github.com/mintlake/mintlake/projector/verify"
	"github.com/mintlake/mintlake/schemas"
	schema "github.com/mintlake/mintlake/schemas/clickhouse"
)

const (
	// renewBatch is how many records are projected in one batch.
	renewBatch = 5_000
	// renewLook is the time between two checks whether all rows are made anew.
	renewLook = time.Second
	// renewRetry is the pause after a failure.
	renewRetry = 5 * time.Second
)

// Renewal returns a function that makes tables anew which an earlier version's rules made. It
// returns nil if there are none. The caller runs the function in the background. The API's answers
// are right meanwhile, because API nodes fold the log by their own rules. member has the settings
// of this process as a member of consumer groups.
func (t *Tables) Renewal(ctx context.Context, member kafka.GroupConsumerConfig) (func(context.Context) error, error) {
	store := projector.NewClickHouse(t.Conn, schema.Database)
	outdated, err := store.FactsOutdated(ctx)
	if err != nil || !outdated {
		return nil, err
	}
	t.Logger.Info("tables were made by an earlier version's rules: they are made anew from the log in the background", "tables", strings.Join(projector.FactTables(), ","))
	member.Brokers, member.Group, member.Topics = t.Brokers, renewalGroup(), projector.Topics()
	return func(ctx context.Context) error {
		began := time.Now()
		for ctx.Err() == nil {
			err := t.renew(ctx, member, store)
			switch {
			case err == nil:
				t.Logger.Info("tables are made anew", "tables", strings.Join(projector.FactTables(), ","), "took", time.Since(began))
				return nil
			case ctx.Err() == nil && !clickhouse.Retryable(err) && !kafka.Retryable(err):
				return fmt.Errorf("make tables anew: %w", err)
			}
			t.Logger.Warn("tables are not made anew yet", "err", err)
			_ = pause.For(ctx, renewRetry) // the loop ends with ctx
		}
		return nil
	}, nil
}

// renew projects the log once more, as a consumer group of its own: members share its partitions,
// and a restart goes on where it stopped. It ends when it has reached the projectors' committed
// offsets. The projectors run this version by then, so the rows of later records are right.
func (t *Tables) renew(ctx context.Context, member kafka.GroupConsumerConfig, store *projector.ClickHouse) error {
	consumer, err := kafka.NewGroupConsumer(member, t.Deps)
	if err != nil {
		return err
	}
	defer consumer.Close()
	projection := verify.NewProjection(t.Conn, schema.Database)
	projection.Tables = projector.FactTables()
	errDone := errors.New("all is made anew")
	work, working := errgroup.WithContext(ctx)
	work.Go(func() error { return renewAll(working, consumer, projection) })
	work.Go(func() error {
		for {
			if reached, err := t.reached(working, member.Group); err != nil {
				return err
			} else if reached {
				return errDone
			}
			if err := pause.For(working, renewLook); err != nil {
				return err
			}
		}
	})
	if err := work.Wait(); !errors.Is(err, errDone) {
		return err
	}
	if err := projection.Finish(ctx, schemas.GroupProjector, false); err != nil {
		return err
	}
	if err := store.NoteFactRules(ctx); err != nil {
		return err
	}
	// Delete the group's offsets: after a restore of an older backup they would be wrong. If other
	// members are still at work, this waits, and the last member deletes them.
	consumer.Close()
	within, cancel := context.WithTimeout(ctx, EmptyGroupWait)
	defer cancel()
	if err := t.Admin.ForgetGroup(within, member.Group); err != nil && ctx.Err() == nil {
		t.Logger.Warn("the consumer group that made tables anew stays", "err", err)
	}
	return nil
}

// renewalGroup returns the name of the consumer group that makes tables anew by this version's
// rules.
func renewalGroup() string {
	return fmt.Sprintf("%s-renewal-%d", schemas.GroupProjector, projector.FactRules)
}

// renewAll projects batch by batch until ctx ends.
func renewAll(ctx context.Context, consumer *kafka.GroupConsumer, projection *verify.Projection) error {
	for {
		records, err := consumer.FetchBatch(ctx, renewBatch, time.Second)
		if err != nil {
			return err
		}
		began := time.Now()
		if err := projection.Write(ctx, schemas.GroupProjector, records); err != nil {
			return err
		}
		if err := consumer.Commit(ctx, records); err != nil {
			return err
		}
		// Pause as long as the work took, so that ClickHouse has time for the projectors.
		if err := pause.For(ctx, time.Since(began)); err != nil {
			return err
		}
	}
}

// reached reports whether the group has committed all offsets that the projectors have committed.
func (t *Tables) reached(ctx context.Context, group string) (bool, error) {
	projected, err := t.Admin.CommittedOffsets(ctx, schemas.GroupProjector, projector.Topics())
	if err != nil {
		return false, err
	}
	renewed, err := t.Admin.CommittedOffsets(ctx, group, projector.Topics())
	if err != nil {
		return false, err
	}
	starts, err := t.Admin.StartOffsets(ctx, projector.Topics())
	if err != nil {
		return false, err
	}
	for partition, offset := range starts {
		renewed[partition] = max(renewed[partition], offset) // what has expired cannot be made anew
	}
	return kafka.Covers(renewed, projected), nil
}
