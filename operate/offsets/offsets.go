// Package offsets saves how far ClickHouse's tables are made of the log, and sets the consumer
// groups that fill the tables back to that point after a restore.
//
// In: the consumer groups that fill the tables. Out: a file of their committed offsets. Guarantees:
// no group is set to offsets of another log, or while it has a member.
package offsets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/operate/tables"
)

const (
	// maxFile bounds the size of an offsets file. One with a thousand partitions has 20 KB.
	maxFile = 1 << 20
	// nothingCommitted is the file's value for a partition that its group has not read yet.
	nothingCommitted = -1
)

// savedOffsets is the file of `mintlake offsets save`: the committed offsets of the groups that
// fill the tables.
type savedOffsets struct {
	// ClusterID identifies the Kafka cluster of the offsets.
	ClusterID string    `json:"cluster_id"`
	NotedAt   time.Time `json:"noted_at"`
	// Groups has for each group and topic the committed offsets by partition, or nothingCommitted.
	Groups map[string]map[string][]int64 `json:"groups"`
}

// Save writes the committed offsets of the groups that fill the tables to a new file.
func Save(ctx context.Context, admin *kafka.Admin, to string, out io.Writer) (err error) {
	noted := savedOffsets{NotedAt: time.Now().UTC().Truncate(time.Second), Groups: map[string]map[string][]int64{}}
	if noted.ClusterID, err = admin.ClusterID(ctx); err != nil {
		return err
	}
	for _, group := range tables.Groups() {
		committed, err := admin.CommittedOffsets(ctx, group.Name, group.Topics)
		if err != nil {
			return err
		}
		ends, err := admin.EndOffsets(ctx, group.Topics)
		if err != nil {
			return err
		}
		noted.Groups[group.Name] = byPartition(committed, ends)
	}
	text, err := json.MarshalIndent(noted, "", "  ")
	if err != nil {
		return err
	}
	file, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(out, "%s has the offsets of %d groups; now ClickHouse's BACKUP\n", to, len(noted.Groups))
	return nil
}

// byPartition returns the committed offsets of each topic, indexed by partition. ends names all
// partitions.
func byPartition(committed, ends map[kafka.TopicPartition]int64) map[string][]int64 {
	topics := map[string][]int64{}
	for tp := range ends {
		list := topics[tp.Topic]
		for len(list) <= tp.Partition {
			list = append(list, nothingCommitted)
		}
		if offset, ok := committed[tp]; ok {
			list[tp.Partition] = offset
		}
		topics[tp.Topic] = list
	}
	return topics
}

// Reset sets all groups to the offsets in the file from. If from is empty, it sets them to the
// first record.
func Reset(ctx context.Context, admin *kafka.Admin, from string, out io.Writer) error {
	goals := map[string]map[kafka.TopicPartition]int64{}
	if from != "" {
		noted, err := read(from)
		if err != nil {
			return err
		}
		if goals, err = goalsOf(ctx, admin, noted, out); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	for _, group := range tables.Groups() {
		within, cancel := context.WithTimeout(ctx, tables.EmptyGroupWait)
		err := admin.ResetGroup(within, group.Name, goals[group.Name])
		cancel()
		if err != nil {
			return fmt.Errorf("%w; stop all projectors and run it again", err)
		}
		lag, err := admin.Lag(ctx, group.Name, group.Topics)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%s: %d records to read\n", group.Name, lag)
	}
	return nil
}

// read reads a file of `mintlake offsets save`.
func read(name string) (*savedOffsets, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes: no file of offsets save", name, maxFile)
	}
	noted := new(savedOffsets)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(noted); err != nil {
		return nil, fmt.Errorf("%s is no file of offsets save: %w", name, err)
	}
	return noted, nil
}

// beginInstead is the end of an error: it tells what to do if the offsets of a file cannot be used.
const beginInstead = "; with --first the tables' readers begin at the log's first record, which is always right"

// goalsOf returns, by group, the offsets to which the groups are to be set: those of the file, or
// the first record that is left where the record of an offset has expired. It is an error if the
// file is of another Kafka cluster. out is told which records have expired.
func goalsOf(ctx context.Context, admin *kafka.Admin, noted *savedOffsets, out io.Writer) (map[string]map[kafka.TopicPartition]int64, error) {
	id, err := admin.ClusterID(ctx)
	if err != nil {
		return nil, err
	}
	if id != noted.ClusterID {
		return nil, fmt.Errorf("the offsets are of the Kafka cluster %q, this one is %q%s", noted.ClusterID, id, beginInstead)
	}
	byGroup := map[string]map[kafka.TopicPartition]int64{}
	for _, group := range tables.Groups() {
		ends, err := admin.EndOffsets(ctx, group.Topics)
		if err != nil {
			return nil, err
		}
		starts, err := admin.StartOffsets(ctx, group.Topics)
		if err != nil {
			return nil, err
		}
		if byGroup[group.Name], err = goalOf(noted.Groups[group.Name], starts, ends, out); err != nil {
			return nil, fmt.Errorf("%s: %w%s", group.Name, err, beginInstead)
		}
	}
	return byGroup, nil
}

// goalOf checks and returns the offsets of one group. A partition that the group had not read yet
// is left out. If the record of an offset has expired, goalOf raises the offset to the first record
// left, and prints how many have expired. Otherwise the group would later report these records as
// lost.
func goalOf(noted map[string][]int64, starts, ends map[kafka.TopicPartition]int64, out io.Writer) (map[kafka.TopicPartition]int64, error) {
	partitions := map[string]int{}
	for tp := range ends {
		partitions[tp.Topic]++
	}
	for topic, count := range partitions {
		if len(noted[topic]) != count {
			return nil, fmt.Errorf("it has offsets of %d partitions of %s, which has %d", len(noted[topic]), topic, count)
		}
	}
	goal := map[kafka.TopicPartition]int64{}
	for tp, end := range ends {
		offset := noted[tp.Topic][tp.Partition]
		if offset > end {
			return nil, fmt.Errorf("it says %d for %s, which ends at %d: this is another log", offset, tp, end)
		}
		if offset < 0 { // nothing was read yet
			continue
		}
		if expired := starts[tp] - offset; expired > 0 {
			_, _ = fmt.Fprintf(out, "%s: %d records have expired since the backup: the tables will not have them\n", tp, expired)
		}
		goal[tp] = max(offset, starts[tp])
	}
	return goal, nil
}
