package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/metertest"
	"github.com/mintlake/mintlake/schemas"
)

// A backup of the log, and its restore, tell how far they are; e2e holds them to what they copy.
func TestBackupAndRestoreAreTold(t *testing.T) {
	cfg, to := defaults(), filepath.Join(t.TempDir(), "backup")
	cfg.DataDir = t.TempDir()
	writeLog(t, cfg.DataDir, []kafka.Record{{Topic: schemas.TopicSlots, Key: []byte("1"), Value: []byte("x")}}, func(string) {})
	require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "keys.json"), []byte("{}"), 0o600))

	var recorder metertest.Recorder
	logger := slog.New(slog.DiscardHandler)
	backup := backupRun{to: to, logOnly: true, out: io.Discard, cfg: cfg, logger: logger, progress: recorder.Meter}
	require.NoError(t, backup.run(t.Context()))
	log := recorder.RequireWhole(t, "copy the log")
	require.Equal(t, log, recorder.RequireWhole(t, "check the log"))
	recorder.RequireWhole(t, "copy logos and other files")
	all := recorder.RequireWhole(t, "list the files")
	require.Greater(t, all, log)

	restored := defaults()
	restored.DataDir = filepath.Join(t.TempDir(), "new")
	restore := restoreRun{from: to, out: io.Discard, cfg: restored, logger: logger, progress: recorder.Meter}
	require.NoError(t, restore.run(t.Context()))
	require.Equal(t, all, recorder.RequireWhole(t, "compare the backup with its list"))
	require.Equal(t, all, recorder.RequireWhole(t, "copy the log and other files"))
}

// TestABackupSaysNoMoreThanItsLogHas: an import goes on while the log is copied.
func TestABackupSaysNoMoreThanItsLogHas(t *testing.T) {
	cfg, to := defaults(), filepath.Join(t.TempDir(), "backup")
	cfg.DataDir = t.TempDir()
	writeLog(t, cfg.DataDir, []kafka.Record{{Topic: schemas.TopicSlots, Key: []byte("1"), Value: []byte("x")}}, func(string) {})
	progress := filepath.Join(cfg.DataDir, importFile)
	require.NoError(t, os.WriteFile(progress, []byte("before"), 0o600))
	run := backupRun{to: to, logOnly: true, out: io.Discard, cfg: cfg, logger: slog.New(slog.DiscardHandler), progress: func(what, _ string, _ int64) (func(int64), func()) {
		if what == "copy the log" {
			require.NoError(t, os.WriteFile(progress, []byte("while"), 0o600))
		}
		return func(int64) {}, func() {}
	}}
	require.NoError(t, run.run(t.Context()))
	copied, err := os.ReadFile(filepath.Join(to, importFile))
	require.NoError(t, err)
	require.Equal(t, "before", string(copied))
	copied, err = os.ReadFile(progress)
	require.NoError(t, err)
	require.Equal(t, "while", string(copied))
}
