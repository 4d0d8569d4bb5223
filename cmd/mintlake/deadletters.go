package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/internal/deadletter"
	"github.com/mintlake/mintlake/internal/kafka"
)

func deadLettersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dead-letters",
		Short: "List what could not be processed, with its reason, and try it again",
		Long: `List what could not be processed, with its reason, and try it again.

Without --kafka-brokers they use the embedded broker of a running "mintlake up" at --kafka-addr.`,
	}
	cmd.AddCommand(listDeadLettersCommand(), replayDeadLetterCommand())
	return cmd
}

func listDeadLettersCommand() *cobra.Command {
	var last int64
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the last dead letters",
		Long: `List the last dead letters, the newest at the end: partition and offset of the letter, when, which room gave up, where the record lies
(topic/partition@offset), its length, and why.`,
		Args: cli.Arguments,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if last < 1 {
			return fmt.Errorf("dead-letters: --last is %d, must be at least 1", last)
		}
		return withLetters(ctx, cfg, logger, func(store *deadletter.Store) error { return listDeadLetters(ctx, store, cmd.OutOrStdout(), last) })
	})
	cmd.Flags().Int64Var(&last, "last", 20, "how many")
	return cmd
}

func replayDeadLetterCommand() *cobra.Command {
	var partition, offset uint64
	cmd := &cobra.Command{
		Use:   "replay PARTITION/OFFSET",
		Short: "Write the record that a dead letter is about to its topic again",
		Long: `Read the record that a dead letter is about from its topic, partition and offset, and write it to the end of that topic again, with its key and
headers. Do it when the cause is mended, such as by a newer version. What rooms stored of the record before does not change.

It fails when retention took the record, or when the input was never a record.`,
		Example: `  mintlake dead-letters list
  mintlake dead-letters replay 0/17`,
		Args: func(_ *cobra.Command, args []string) error {
			wrong := errors.New("name the dead letter as the list does: mintlake dead-letters replay 0/17")
			if len(args) != 1 {
				return wrong
			}
			first, second, _ := strings.Cut(args[0], "/")
			var err, err2 error
			partition, err = strconv.ParseUint(first, 10, 31)
			offset, err2 = strconv.ParseUint(second, 10, 63)
			if err != nil || err2 != nil {
				return wrong
			}
			return nil
		},
	}
	return withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		return withLetters(ctx, cfg, logger, func(store *deadletter.Store) error {
			letter, err := store.Replay(ctx, int(partition), int64(offset))
			if err != nil {
				return fmt.Errorf("dead-letters: %d/%d: %w", partition, offset, err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is written again\n", letter.Place())
			return err
		})
	})
}

// withLetters calls use with the dead letters in a running Kafka.
func withLetters(ctx context.Context, cfg *Config, logger *slog.Logger, use func(*deadletter.Store) error) error {
	return withStores(ctx, cfg, logger, runningLog("dead-letters"), func(_ context.Context, s *system) error { return use(s.deadLetters()) })
}

// deadLetters returns the dead letters in the system's Kafka.
func (s *system) deadLetters() *deadletter.Store {
	return &deadletter.Store{
		Offsets: s.admin, Producer: s.writers.For("replay"),
		OpenTail: func(topics []string, start map[kafka.TopicPartition]int64) (kafka.TailReader, error) {
			return kafka.NewTailer(kafka.TailerConfig{Brokers: s.backends.brokers, Topics: topics, Start: start, Name: "dead-letters"}, s.kafka)
		},
	}
}

func listDeadLetters(ctx context.Context, store *deadletter.Store, out io.Writer, last int64) error {
	letters, err := store.List(ctx, last)
	if err != nil {
		return err
	}
	if len(letters) == 0 {
		_, err := fmt.Fprintln(out, "there are no dead letters")
		return err
	}
	for i := range letters {
		if _, err := fmt.Fprintln(out, letters[i].Line()); err != nil {
			return err
		}
	}
	return nil
}
