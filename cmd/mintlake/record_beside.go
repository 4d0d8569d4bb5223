package main

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/mintlake/mintlake/ingest/source/file"
)

// recordBeside opens the recording, and returns the function that gets each message to record.
func (r *ingestRoom) recordBeside() (func([]byte), error) {
	recordings, err := file.NewRecordings(file.RecordingsAt(r.s.cfg.Record))
	if err != nil {
		return nil, err
	}
	r.recordings = recordings
	return recordings.Tap, nil
}

// keepRecording runs the recording until ctx ends. If it fails, or its disk is nearly full, ingest
// goes on.
func (r *ingestRoom) keepRecording(ctx context.Context) error {
	return r.recordUntilFull(ctx, diskSpace)
}

func (r *ingestRoom) recordUntilFull(ctx context.Context, space spaceOf) error {
	group, inner := errgroup.WithContext(ctx)
	watching, stopWatching := context.WithCancel(inner)
	group.Go(func() error { return awaitFullDisk(watching, r.s.cfg.Record, space) })
	group.Go(func() error {
		defer stopWatching()
		return r.recordings.Run(inner)
	})
	err := group.Wait()
	messages, files, bytes := r.recordings.Recorded()
	if err != nil {
		r.s.logger.Error("the recording ended; ingest goes on without", "files", files, "messages", messages, "err", err)
		return nil
	}
	r.s.logger.Info("recorded", "files", files, "messages", messages, "bytes", bytes)
	return nil
}
