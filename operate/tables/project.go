package tables

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/eventlog"
	"github.com/mintlake/mintlake/projector/verify"
)

// Known returns an error if one of the tables is not made of the log.
func Known(tables []string) error {
	for _, table := range tables {
		if !slices.Contains(verify.FigureTables(), table) && !slices.ContainsFunc(verify.Groups(), func(g verify.Group) bool { return slices.Contains(g.Tables, table) }) {
			return fmt.Errorf("--tables: %s is no projected table", table)
		}
	}
	return nil
}

// projectBatch is how many records are projected in one batch.
const projectBatch = 20_000

// Project projects the records that the group has processed, from the first ones that the topics
// still have to the group's committed offsets.
func (t *Tables) Project(ctx context.Context, group verify.Group, projection *verify.Projection) error {
	ends, err := t.Admin.CommittedOffsets(ctx, group.Name, group.Topics)
	if err != nil {
		return err
	}
	logEnds, err := t.Admin.EndOffsets(ctx, group.Topics)
	if err != nil {
		return err
	}
	if len(ends) == 0 {
		if holdNothing(logEnds) { // such as the topics of balances, while balances.mode is off
			return nil
		}
		return fmt.Errorf("the consumer group %s has committed nothing: nothing was projected yet, or the groups' offsets are lost", group.Name)
	}
	for partition, committed := range ends {
		if end := logEnds[partition]; end < committed {
			return fmt.Errorf("the log of %s ends at offset %d, but the consumer group %s has committed %d: the topic was made anew, or records are lost. "+
				"Let the group begin at the log's first record: `mintlake offsets reset --first` with the projectors stopped, or `mintlake rebuild` for a stopped `up`",
				partition, end, group.Name, committed)
		}
	}
	starts, err := t.Admin.StartOffsets(ctx, group.Topics)
	if err != nil {
		return err
	}
	records, began := 0, time.Now()
	count, stop := t.Progress.Begin("project "+group.Name, "records", eventlog.RecordsBetween(starts, ends))
	defer stop()
	err = t.Topics("verify").ReadTo(ctx, group.Topics, ends, projectBatch, func(batch []kafka.Record) error {
		records += len(batch)
		count(int64(len(batch)))
		return projection.Write(ctx, group.Name, batch)
	})
	if err != nil {
		return fmt.Errorf("project the log: %w", err)
	}
	t.Logger.Info("log projected", "group", group.Name, "records", records, "unreadable", projection.Unreadable, "took", time.Since(began))
	return nil
}

// holdNothing reports whether nothing was ever written to topics with these ends.
func holdNothing(ends map[kafka.TopicPartition]int64) bool {
	for _, end := range ends {
		if end > 0 {
			return false
		}
	}
	return true
}
