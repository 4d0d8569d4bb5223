package main

import (
	"context"

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

// keepRecording runs the recording until ctx ends. If it fails, for example on a full disk, ingest
// goes on.
func (r *ingestRoom) keepRecording(ctx context.Context) error {
	err := r.recordings.Run(ctx)
	messages, files, bytes := r.recordings.Recorded()
	if err != nil {
		r.s.logger.Error("the recording ended; ingest goes on without", "files", files, "messages", messages, "err", err)
		return nil
	}
	r.s.logger.Info("recorded", "files", files, "messages", messages, "bytes", bytes)
	return nil
}
