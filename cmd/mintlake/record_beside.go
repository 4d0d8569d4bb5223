package main

import (
	"context"

	"github.com/mintlake/mintlake/ingest/source/file"
)

// recordBeside makes a tap that records what it is given.
func (r *ingestRoom) recordBeside() (func([]byte), error) {
	recordings, err := file.NewRecordings(file.RecordingsAt(r.s.cfg.Record))
	if err != nil {
		return nil, err
	}
	r.recordings = recordings
	return recordings.Tap, nil
}

// keepRecording keeps the recording until ctx ends. A full disk ends the recording, and not what it
// is made beside.
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
