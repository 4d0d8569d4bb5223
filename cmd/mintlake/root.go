package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	kafkabroker "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/operate/eventlog"
	operateroot "github.com/mintlake/mintlake/operate/root"
	"github.com/mintlake/mintlake/registry/root"
)

// rootHashCommand is `mintlake root`.
func rootHashCommand() *cobra.Command {
	var query operateroot.Query
	cmd := &cobra.Command{
		Use:   "root",
		Short: "Print the registry's root: one hash over what the chain says of every token, to compare registries by",
		Long: `Print the registry's root at a slot, from the log of all events: one hash over what the chain says of every token. Two operators whose registries
say the same have the same root; docs/registry-root.md tells what it covers and what it proves.

The log is read from --kafka-brokers, or from the embedded broker's data under --data-dir while "up" does not run. A log of more than 250,000
records is spilled to disk by mints, to --data-dir if there is such a folder: memory stays below 1.5 GB for any number of mints.
The output is one line: slot=SLOT tokens=COUNT root=HASH, and version=2 behind it with --root-version 2.`,
		Example: `  mintlake root
  mintlake root --at-slot 361774429 --kafka-brokers 127.0.0.1:9092
  mintlake root --root-version 2`,
	}
	withConfig(cmd, func(ctx context.Context, cfg *Config, logger *slog.Logger) error {
		query.Out, query.Progress, query.Logger = cmd.OutOrStdout(), progressMeter(ctx), logger
		if _, err := os.Stat(cfg.DataDir); err == nil {
			query.Folder = cfg.DataDir // a disk that holds the log can also hold its copy
		}
		log, done, err := openLog(cfg, logger, "root", query.Progress)
		if err != nil {
			return err
		}
		defer done()
		query.Log = log
		return query.Run(ctx)
	})
	cmd.Flags().Uint64Var(&query.AtSlot, "at-slot", root.EverySlot, "take only what is of this slot or earlier ones; everything without it")
	cmd.Flag("at-slot").DefValue = "0" // pflag does not show a default of 0
	cmd.Flags().IntVar(&query.Version, "root-version", root.Default, "version of the root's tree, 1 or 2: compare roots of one version")
	cmd.Flags().BoolVar(&query.EventsOnly, "events-only", false, "leave out what was read from accounts: nodes that ingested the same blocks agree whatever they have read")
	return cmd
}

// openLog opens the log of the configured brokers. Without them it reads the files of the embedded
// broker, which must not run. It starts no broker, since that would write to the files.
func openLog(cfg *Config, logger *slog.Logger, name string, progress meter.Meter) (log eventlog.Log, done func(), err error) {
	if len(cfg.Kafka.Brokers) > 0 {
		deps, err := kafkaDeps(cfg, logger, nil)
		if err != nil {
			return nil, nil, err
		}
		admin, err := kafka.NewAdmin(kafka.AdminConfig{Brokers: cfg.Kafka.Brokers}, deps)
		if err != nil {
			return nil, nil, err
		}
		return eventlog.Kafka{Brokers: cfg.Kafka.Brokers, Admin: admin, Deps: deps}.Topics(name), admin.Close, nil
	}
	folder := filepath.Join(cfg.DataDir, "kafka")
	if _, err := os.Stat(folder); err != nil {
		return nil, nil, fmt.Errorf("no log here: %w; name a folder with --data-dir or brokers with --kafka-brokers", err)
	}
	files, err := kafkabroker.OpenLog(folder, logger, progress)
	if errors.Is(err, kafkabroker.ErrLocked) {
		return nil, nil, fmt.Errorf("%w; or ask the running one: --kafka-brokers with the address it printed for kafka, %s by default", err, cfg.Kafka.Addr)
	}
	if err != nil {
		return nil, nil, err
	}
	return &eventlog.Folder{Log: files}, files.Close, nil
}
