package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/kafka"
	"github.com/mintlake/mintlake/internal/testkit/metertest"
	"github.com/mintlake/mintlake/operate/backup"
	"github.com/mintlake/mintlake/schemas"
)

// A backup of the log, and its restore, tell how far they are; e2e holds them to what they copy.
func TestBackupAndRestoreAreTold(t *testing.T) {
	cfg, to := defaults(), filepath.Join(t.TempDir(), "backup")
	cfg.DataDir = t.TempDir()
	writeLog(t, cfg.DataDir, []kafka.Record{{Topic: schemas.TopicSlots, Key: []byte("1"), Value: []byte("x")}}, func(string) {})
	require.NoError(t, os.WriteFile(filepath.Join(cfg.DataDir, "keys.json"), []byte("{}"), 0o600))

	var recorder metertest.Recorder
	made := backup.Backup{DataDir: cfg.DataDir, To: to, LogOnly: true, Out: io.Discard, Progress: recorder.Meter}
	require.NoError(t, made.Run(t.Context()))
	log := recorder.RequireWhole(t, "copy the log")
	require.Equal(t, log, recorder.RequireWhole(t, "check the log"))
	recorder.RequireWhole(t, "copy logos and other files")
	all := recorder.RequireWhole(t, "list the files")
	require.Greater(t, all, log)

	restored := defaults()
	restored.DataDir = filepath.Join(t.TempDir(), "new")
	restore := backup.Restore{
		From: to, DataDir: restored.DataDir, Out: io.Discard, Progress: recorder.Meter,
		Claim: func() (string, error) { return restored.dataPath(backup.RestoreFolder) },
	}
	require.NoError(t, restore.Run(t.Context()))
	require.Equal(t, all, recorder.RequireWhole(t, "compare the backup with its list"))
	require.Equal(t, all, recorder.RequireWhole(t, "copy the log and other files"))
}

// TestABackupSaysNoMoreThanItsLogHas: an import goes on while the log is copied.
func TestABackupSaysNoMoreThanItsLogHas(t *testing.T) {
	cfg, to := defaults(), filepath.Join(t.TempDir(), "backup")
	cfg.DataDir = t.TempDir()
	writeLog(t, cfg.DataDir, []kafka.Record{{Topic: schemas.TopicSlots, Key: []byte("1"), Value: []byte("x")}}, func(string) {})
	progress := filepath.Join(cfg.DataDir, backup.ImportFile)
	require.NoError(t, os.WriteFile(progress, []byte("before"), 0o600))
	run := backup.Backup{DataDir: cfg.DataDir, To: to, LogOnly: true, Out: io.Discard, Progress: func(what, _ string, _ int64) (func(int64), func()) {
		if what == "copy the log" {
			require.NoError(t, os.WriteFile(progress, []byte("while"), 0o600))
		}
		return func(int64) {}, func() {}
	}}
	require.NoError(t, run.Run(t.Context()))
	copied, err := os.ReadFile(filepath.Join(to, backup.ImportFile))
	require.NoError(t, err)
	require.Equal(t, "before", string(copied))
	copied, err = os.ReadFile(progress)
	require.NoError(t, err)
	require.Equal(t, "while", string(copied))
}
