package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/ingest/source/geyser"
	"github.com/mintlake/mintlake/registry/coverage"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// recordOptions are the flags of `mintlake record`.
type recordOptions struct {
	out         string
	length      time.Duration
	from        uint64
	rotateBytes int64
	rotateEvery time.Duration
}

func recordCommand() *cobra.Command {
	var o recordOptions
	cmd := withConfig(&cobra.Command{
		Use:   "record",
		Short: "Record a Geyser stream as it comes, for file: to replay",
		Long: `Record a Geyser stream as it comes.

The messages of --source (blocks, slot statuses and whatever else the server sends on the subscription that ingest uses) go into *.geyser.zst
files in the folder --out. A file ends after --rotate-every or --rotate-bytes; each run begins a new one. The recording ends with an error
before its disk is full. After a crash everything but the last second is readable. --source file:FOLDER replays a folder
as one stream, ?speed=realtime at the speed of the recording.`,
		Example: `  MINTLAKE_GEYSER_TOKEN=… mintlake record --source geyser+https://provider:443 --out recordings --for 10m
  mintlake up --source 'file:recordings?speed=realtime'`,
	}, func(ctx context.Context, cfg *Config, logger *slog.Logger) error { return record(ctx, cfg, logger, o) })
	cmd.Flags().StringVar(&o.out, "out", "", "folder of the recordings (default: recordings under --data-dir)")
	cmd.Flags().DurationVar(&o.length, "for", 0, "end after this long; 0 = at Ctrl-C")
	cmd.Flags().Uint64Var(&o.from, "from", 0, "ask the server to begin with this slot, if it still has it; 0 = with what comes now")
	cmd.Flags().Int64Var(&o.rotateBytes, "rotate-bytes", 1<<30, "size on disk after which a new file begins")
	cmd.Flags().DurationVar(&o.rotateEvery, "rotate-every", time.Hour, "time after which a new file begins")
	return cmd
}

func record(ctx context.Context, cfg *Config, logger *slog.Logger, o recordOptions) error {
	if len(cfg.Source) != 1 {
		return errors.New("record: name one --source geyser+https://host:port")
	}
	spec, err := source.ParseSpec(cfg.Source[0])
	if err != nil {
		return err
	}
	if spec.Kind != source.KindGeyser {
		return fmt.Errorf("record: --source is %s: only a geyser+https://host:port stream can be recorded", spec.Kind)
	}
	if o.out == "" {
		if o.out, err = cfg.dataPath("recordings"); err != nil {
			return err
		}
	}
	recordings, err := file.NewRecordings(file.RecordingsConfig{Dir: o.out, MaxBytes: o.rotateBytes, MaxAge: o.rotateEvery})
	if err != nil {
		return err
	}
	stream, err := geyser.New(geyser.Config{Endpoint: spec.Endpoint, Token: cfg.Geyser.Token, Commitment: cfg.commitmentOf(spec), BlocksMeta: true,
		NoAccountUpdates: !cfg.Geyser.Accounts, Silence: cfg.Geyser.Silence, MaxPause: cfg.Geyser.MaxPause},
		geyser.Deps{Logger: logger, Tap: recordings.Tap})
	if err != nil {
		return err
	}
	if o.length > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.length)
		defer stop()
	}
	return runRecording(ctx, stream, recordings, o)
}

// runRecording runs the stream and the recording, until ctx ends, one fails, or the disk is nearly
// full. It stops the stream first, so that its last messages are recorded.
func runRecording(ctx context.Context, stream source.Source, recordings *file.Recordings, o recordOptions) error {
	group, inner := errgroup.WithContext(ctx)
	writing, stopWriting := context.WithCancel(context.WithoutCancel(ctx))
	seen := &witness{}
	group.Go(func() error { return recordings.Run(writing) })
	group.Go(func() error {
		defer stopWriting()
		return stream.Run(inner, fromSlot{o.from}, seen)
	})
	group.Go(func() error { return awaitFullDisk(inner, o.out, diskSpace) })
	group.Go(func() error {
		tellProgress(inner, func(time.Time) string {
			messages, _, bytes := recordings.Recorded()
			return fmt.Sprintf("record: slot %d, %d messages, %s", seen.highest.Load(), messages, megabytes(bytes))
		})
		return nil
	})
	err := group.Wait()
	messages, files, bytes := recordings.Recorded()
	fmt.Fprintf(os.Stderr, "recorded %d messages in %d files, %s, in %s\n", messages, files, megabytes(bytes), o.out)
	return err
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// fromSlot is the ledger of a recording: nothing was ingested, and the stream begins at the given
// slot.
type fromSlot struct{ slot uint64 }

func (f fromSlot) Ingested(uint64, pubkey.Key) bool      { return false }
func (f fromSlot) Missing(uint64, uint64) []coverage.Gap { return nil }
func (f fromSlot) Resume() uint64 {
	if f.slot == 0 {
		return 0
	}
	return f.slot - 1 // the stream begins behind this slot
}
