package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/internal/kafka"
)

const (
	// maxOffsetsFile bounds the size of an offsets file. One with a thousand partitions has 20 KB.
	maxOffsetsFile = 1 << 20
	// nothingCommitted is the file's value for a partition that its group has not read yet.
	nothingCommitted = -1
	// emptyGroupWait is how long a command waits for a group to lose its last member. It is longer
	// than the session of a killed one.
	emptyGroupWait = time.Minute
)

// notedOffsets is the file of `mintlake offsets save`: the committed offsets of the groups that
// fill the tables.
type notedOffsets struct {
	// ClusterID identifies the Kafka cluster of the offsets.
	ClusterID string    `json:"cluster_id"`
	NotedAt   time.Time `json:"noted_at"`
	// Groups has for each group and topic the committed offsets by partition, or nothingCommitted.
	Groups map[string]map[string][]int64 `json:"groups"`
}

func offsetsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "offsets",
		Short: "Note how far ClickHouse's tables are made of the log, and set their readers back there after a restore",
		Long: `Note how far ClickHouse's tables are made of the log, and set their readers back there after the tables were restored from a backup.

For a cluster, whose tables are backed up with ClickHouse's BACKUP: docs/operations.md has the order. "mintlake backup" does all this by itself on one
machine. Without --kafka-brokers they use the embedded broker of a running "mintlake up" at --kafka-addr.`,
	}
	cmd.AddCommand(saveOffsetsCommand(), resetOffsetsCommand())
	return cmd
}

func saveOffsetsCommand() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use:   "save",
		Short: "Write the committed offsets of the tables' readers to a file, before ClickHouse's BACKUP begins",
		Long: `Write the committed offsets of the consumer groups that fill ClickHouse's tables to a new file. Rooms may run meanwhile. Do it before BACKUP begins:
rows that come twice fall together, rows that are read by nobody would be missing.`,
		Example: `  mintlake offsets save --to offsets.json --kafka-brokers kafka:9092`,
		Args:    cli.Arguments,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return withRunningKafka(ctx, cfg, logger, "offsets", func(s *system) error {
			if err := s.saveOffsets(ctx, to, cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("offsets: %w", err)
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&to, "to", "", "file to write; must not exist")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

func resetOffsetsCommand() *cobra.Command {
	var from string
	var first bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Let the tables' readers go on where a file of offsets says, after ClickHouse's RESTORE",
		Long: `Let the consumer groups that fill ClickHouse's tables go on at the offsets of a file that "mintlake offsets save" wrote. Projectors must be stopped; it
waits a minute for the last one's session to end.

With --first they begin at the first record of the log instead, which is always right and takes longest: for tables of a backup without offsets, and for
another Kafka cluster than the one that the offsets are of.`,
		Example: `  mintlake offsets reset --from offsets.json --kafka-brokers kafka:9092
  mintlake offsets reset --first --kafka-brokers kafka:9092`,
		Args: cli.Arguments,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if first == (from != "") {
			return errors.New("offsets: name the file with --from, or say --first")
		}
		return withRunningKafka(ctx, cfg, logger, "offsets", func(s *system) error {
			if err := s.resetOffsets(ctx, from, cmd.OutOrStdout()); err != nil {
				return fmt.Errorf("offsets: %w", err)
			}
			return nil
		})
	})
	cmd.Flags().StringVar(&from, "from", "", "file that offsets save wrote")
	cmd.Flags().BoolVar(&first, "first", false, "begin at the log's first record")
	return cmd
}

// saveOffsets writes the offsets to a new file.
func (s *system) saveOffsets(ctx context.Context, to string, out io.Writer) (err error) {
	noted := notedOffsets{NotedAt: time.Now().UTC().Truncate(time.Second), Groups: map[string]map[string][]int64{}}
	if noted.ClusterID, err = s.admin.ClusterID(ctx); err != nil {
		return err
	}
	for _, group := range groupsOfTables() {
		committed, err := s.admin.CommittedOffsets(ctx, group.name, group.topics)
		if err != nil {
			return err
		}
		ends, err := s.admin.EndOffsets(ctx, group.topics)
		if err != nil {
			return err
		}
		noted.Groups[group.name] = byPartition(committed, ends)
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

// resetOffsets sets all groups to the offsets in the file, or, if from is empty, to the first
// record.
func (s *system) resetOffsets(ctx context.Context, from string, out io.Writer) error {
	goals := map[string]map[kafka.TopicPartition]int64{}
	if from != "" {
		noted, err := readOffsets(from)
		if err != nil {
			return err
		}
		if goals, err = s.checkOffsets(ctx, noted, out); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	}
	for _, group := range groupsOfTables() {
		within, cancel := context.WithTimeout(ctx, emptyGroupWait)
		err := s.admin.ResetGroup(within, group.name, goals[group.name])
		cancel()
		if err != nil {
			return fmt.Errorf("%w; stop all projectors and run it again", err)
		}
		lag, err := s.admin.Lag(ctx, group.name, group.topics)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "%s: %d records to read\n", group.name, lag)
	}
	return nil
}

// readOffsets reads a file of `mintlake offsets save`.
func readOffsets(name string) (*notedOffsets, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, maxOffsetsFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxOffsetsFile {
		return nil, fmt.Errorf("%s is larger than %d bytes: no file of offsets save", name, maxOffsetsFile)
	}
	noted := new(notedOffsets)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(noted); err != nil {
		return nil, fmt.Errorf("%s is no file of offsets save: %w", name, err)
	}
	return noted, nil
}

// beginInstead tells in an error what to do if the offsets of a file cannot be used.
const beginInstead = "; with --first the tables' readers begin at the log's first record, which is always right"

// checkOffsets returns the offsets in the file by group, after it has checked that they are of this
// cluster.
func (s *system) checkOffsets(ctx context.Context, noted *notedOffsets, out io.Writer) (map[string]map[kafka.TopicPartition]int64, error) {
	id, err := s.admin.ClusterID(ctx)
	if err != nil {
		return nil, err
	}
	if id != noted.ClusterID {
		return nil, fmt.Errorf("the offsets are of the Kafka cluster %q, this one is %q%s", noted.ClusterID, id, beginInstead)
	}
	goals := map[string]map[kafka.TopicPartition]int64{}
	for _, group := range groupsOfTables() {
		ends, err := s.admin.EndOffsets(ctx, group.topics)
		if err != nil {
			return nil, err
		}
		starts, err := s.admin.StartOffsets(ctx, group.topics)
		if err != nil {
			return nil, err
		}
		if goals[group.name], err = goalOf(noted.Groups[group.name], starts, ends, out); err != nil {
			return nil, fmt.Errorf("%s: %w%s", group.name, err, beginInstead)
		}
	}
	return goals, nil
}

// goalOf checks and returns the offsets of one group. A partition that the group had not read yet
// is left out. An offset whose record has expired since is raised to the first one left, and that
// is reported; otherwise a member would report those records as lost later.
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
