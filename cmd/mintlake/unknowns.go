package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mintlake/mintlake/client/cli"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/solana/unknowns"
)

func unknownsCommand() *cobra.Command {
	var samples bool
	var kind string
	cmd := &cobra.Command{
		Use:   "unknowns",
		Short: "List what rooms met on the chain and this version does not know",
		Long: `List what rooms met within 30 days, on the chain or of an upstream, and did not know: transaction versions, protobuf fields, Token-2022
extensions, instructions, reward types, slot statuses, RPC error codes, and new builds of programs that are decoded. The last seen comes first.

Without --kafka-brokers it uses the embedded broker of a running "mintlake up" at --kafka-addr.`,
		Example: `  mintlake unknowns
  mintlake unknowns --kind instruction --samples`,
		Args: cli.Arguments,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		if kind != "" && !slices.Contains(append(unknowns.Kinds(), unknowns.Other), unknowns.Kind(kind)) {
			return fmt.Errorf("unknowns: --kind is %q, must be one of %v", kind, unknowns.Kinds())
		}
		return withStores(ctx, cfg, logger, runningLog("unknowns"), func(ctx context.Context, s *system) error {
			list, err := s.readUnknowns(ctx)
			if err != nil {
				return err
			}
			list = slices.DeleteFunc(list, func(k unknowns.Known) bool { return kind != "" && k.Kind != kind })
			return writeUnknowns(cmd.OutOrStdout(), list, samples)
		})
	})
	cmd.Flags().BoolVar(&samples, "samples", false, "show the first sample of each: where it was, and its bytes in base64")
	cmd.Flags().StringVar(&kind, "kind", "", "only this kind, such as instruction or transaction_version")
	return cmd
}

// readUnknowns adds up all records of the topic.
func (s *system) readUnknowns(ctx context.Context) ([]unknowns.Known, error) {
	var fold unknowns.Fold
	if err := s.eventlog().Topics("unknowns").Read(ctx, []string{schemas.TopicUnknowns}, func(record *kafka.Record) { fold.Add(record.Value) }); err != nil {
		return nil, fmt.Errorf("unknowns: read %s: %w", schemas.TopicUnknowns, err)
	}
	return fold.List(time.Now()), nil
}

// writeUnknowns writes a table. Its texts are printable: the fold cleans them.
func writeUnknowns(out io.Writer, list []unknowns.Known, samples bool) error {
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "there are no unknowns")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tNAME\tCOUNT\tSLOTS\tLAST SEEN\tWHERE")
	for i := range list {
		k := &list[i]
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n", k.Kind, k.Name, k.Count, slotsOf(k), time.UnixMilli(k.LastSeenMS).UTC().Format(time.RFC3339), strings.Join(k.Sources, " "))
	}
	if err := table.Flush(); err != nil || !samples {
		return err
	}
	for i := range list {
		k := &list[i]
		_, err := fmt.Fprintf(out, "\n%s %s: %s\n%d bytes, the first %d in base64:\n%s\n", k.Kind, k.Name, k.SamplePlace, k.SampleBytes, len(k.Sample),
			base64.StdEncoding.EncodeToString(k.Sample))
		if err != nil {
			return err
		}
	}
	return nil
}

// slotsOf returns the first and the last slot as text; "-" if no slot is known.
func slotsOf(k *unknowns.Known) string {
	switch {
	case k.FirstSlot == nil || k.LastSlot == nil:
		return "-"
	case *k.FirstSlot == *k.LastSlot:
		return fmt.Sprint(*k.FirstSlot)
	}
	return fmt.Sprintf("%d-%d", *k.FirstSlot, *k.LastSlot)
}
