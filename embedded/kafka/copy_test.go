package kafka_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	embedded "github.com/mintlake/mintlake/embedded/kafka"
	"github.com/mintlake/mintlake/embedded/kafka/segments"
	"github.com/mintlake/mintlake/internal/testkit/metertest"
)

// TestCopyOfALog copies the log of a broker that was killed: every whole batch is in the copy, the
// torn end is not, and damage is told of.
func TestCopyOfALog(t *testing.T) {
	_, killed := logFolder(t)
	for name, c := range map[string]struct {
		change func(t *testing.T, file string)
		err    error
	}{
		"as it was left": {change: func(*testing.T, string) {}},
		"a batch is being written": {change: func(t *testing.T, file string) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file, append(raw, raw[:70]...), 0o600))
		}},
		"a flipped bit": {err: segments.ErrCopyDamaged, change: func(t *testing.T, file string) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			raw[100] ^= 1
			require.NoError(t, os.WriteFile(file, raw, 0o600))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path, to := killed.copy(t), t.TempDir()
			want := readLog(t, path)
			files, err := filepath.Glob(filepath.Join(path, "broker/partitions/keys-0/*.dat"))
			require.NoError(t, err)
			require.NotEmpty(t, files)
			c.change(t, files[len(files)-1])
			require.NoError(t, embedded.CopyGroups(path, to))
			var recorder metertest.Recorder
			err = embedded.CopyLog(t.Context(), path, to, "", recorder.Meter)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.NotEmpty(t, want)
			require.Equal(t, want, readLog(t, to))
			copied := recorder.Work(t, "copy the log")
			require.Equal(t, copied.Done, recorder.RequireWhole(t, "check the log"), "what is copied is checked")
			require.LessOrEqual(t, copied.Done, copied.Total, "a torn end is not copied")
		})
	}
	require.Error(t, embedded.CopyGroups(t.TempDir(), t.TempDir()), "no log")
}
