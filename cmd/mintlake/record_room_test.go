package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/source/file"
)

// filling is a disk of 100 GiB that is nearly full after a while.
func filling(after time.Duration) spaceOf {
	full := time.Now().Add(after)
	return func(string) (free, reserve, size uint64, err error) {
		free = 50 << 30
		if !time.Now().Before(full) {
			free = 1000 << 20
		}
		return free, 512 << 20, 100 << 30, nil
	}
}

func TestARecordingEndsBeforeItsDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := awaitFullDisk(t.Context(), "there", filling(time.Hour))
		require.EqualError(t, err, "record: the disk is nearly full: 1000 MiB are free on the file system of there, and a recording leaves 1024: make room, or record to another disk")
		require.Equal(t, time.Hour, time.Since(begin))

		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		require.NoError(t, awaitFullDisk(ctx, "there", func(string) (free, reserve, size uint64, err error) { return 0, 1, 2, errors.New("not told") }))
	})
}

// A recording beside ingest ends alone, and says why.
func TestARecordingBesideIngestEndsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recordings, err := file.NewRecordings(file.RecordingsAt(t.TempDir()))
		require.NoError(t, err)
		var log bytes.Buffer
		r := &ingestRoom{s: &system{cfg: &Config{}, logger: slog.New(slog.NewTextHandler(&log, nil))}, recordings: recordings}
		go func() {
			time.Sleep(time.Minute)
			recordings.Tap([]byte{})
		}()
		require.NoError(t, r.recordUntilFull(t.Context(), filling(time.Hour)))
		messages, files, _ := recordings.Recorded()
		require.EqualValues(t, 1, messages)
		require.Equal(t, 1, files)
		require.Contains(t, log.String(), "ingest goes on without")
		require.Contains(t, log.String(), "the disk is nearly full")
		recordings.Tap([]byte{})
		messages, _, _ = recordings.Recorded()
		require.EqualValues(t, 1, messages, "what comes later is dropped")
	})
}
