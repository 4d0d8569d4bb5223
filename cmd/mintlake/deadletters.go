package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
)

func deadLettersCommand() *cobra.Command {
	var last int64
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "List what could not be processed, with its reason",
		Long: `List the last dead letters, the newest at the end: when, which room gave up, where the record lies, and why.

Without --kafka-brokers it reads from the embedded broker of a running "mintlake up" at --kafka-addr.`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) (err error) {
		if last < 1 {
			return fmt.Errorf("dead-letters: --last is %d, must be at least 1", last)
		}
		s := newSystem(cfg, logger)
		defer func() { err = errors.Join(err, s.stop()) }()
		s.backends = &backends{brokers: cfg.Kafka.Brokers}
		if len(s.backends.brokers) == 0 {
			s.backends.brokers = []string{cfg.Kafka.Addr}
		}
		if err := s.connect(); err != nil {
			return err
		}
		soon, cancel := context.WithTimeout(ctx, kafkaPatience)
		defer cancel()
		if err := s.admin.Ping(soon); err != nil {
			return fmt.Errorf("dead-letters: no Kafka answers at %v: start `mintlake up`, or name the brokers with --kafka-brokers", s.backends.brokers)
		}
		return s.listDeadLetters(ctx, cmd.OutOrStdout(), last)
	})
	cmd.Flags().Int64Var(&last, "last", 20, "how many")
	return cmd
}

// listDeadLetters prints the last ones of each partition, up to what there is now.
func (s *system) listDeadLetters(ctx context.Context, out io.Writer, last int64) error {
	topics := []string{schemas.TopicDeadLetters}
	first, err := s.admin.StartOffsets(ctx, topics)
	if err != nil {
		return fmt.Errorf("dead-letters: %w", err)
	}
	ends, err := s.admin.EndOffsets(ctx, topics)
	if err != nil {
		return fmt.Errorf("dead-letters: %w", err)
	}
	start, left := map[kafka.TopicPartition]int64{}, int64(0)
	for tp, end := range ends {
		start[tp] = max(first[tp], end-last)
		left += end - start[tp]
	}
	if left == 0 {
		_, err := fmt.Fprintln(out, "there are no dead letters")
		return err
	}
	tailer, err := kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start, Name: "dead-letters"}, s.kafka)
	if err != nil {
		return err
	}
	defer tailer.Close()
	for left > 0 {
		records, err := tailer.FetchBatch(ctx, int(min(left, 1000)), 100*time.Millisecond)
		if err != nil {
			return fmt.Errorf("dead-letters: %w", err)
		}
		for i := range records {
			if _, err := fmt.Fprintln(out, deadLetterLine(&records[i])); err != nil {
				return err
			}
		}
		left -= int64(len(records))
	}
	return nil
}

// deadLetterLine is one dead letter. Reason and key come from outside, so they are quoted: no
// terminal obeys them.
func deadLetterLine(record *kafka.Record) string {
	at := record.Time.UTC().Format(time.RFC3339)
	var letter eventspb.DeadLetter
	if err := proto.Unmarshal(record.Value, &letter); err != nil {
		return fmt.Sprintf("%s offset %d is no dead letter: %s", at, record.Offset, strconv.QuoteToASCII(err.Error()))
	}
	where := "input " + strconv.QuoteToASCII(string(letter.GetKey()))
	if letter.GetTopic() != "" {
		where = fmt.Sprintf("%s/%d@%d", strconv.QuoteToASCII(letter.GetTopic()), letter.GetPartition(), letter.GetOffset())
		where = strings.ReplaceAll(where, `"`, "")
	}
	return fmt.Sprintf("%s %s %s %d bytes: %s", at, strconv.QuoteToASCII(letter.GetSource()), where, letter.GetValueBytes(), strconv.QuoteToASCII(letter.GetReason()))
}
