package backup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/metertest"
)

func TestWhatChangedIsFound(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, folder string){
		"is not what was written": func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "a", "one"), []byte("ONE"), 0o600))
		},
		"a/one is missing": func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, "a", "one"))) },
		"a/new is not in BACKUP.json": func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, "a", "new"), nil, 0o600))
		},
		"is no finished backup": func(t *testing.T, folder string) { require.NoError(t, os.Remove(filepath.Join(folder, Name))) },
		"cannot be read": func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, Name), []byte("{"), 0o600))
		},
		"has format 7": func(t *testing.T, folder string) {
			require.NoError(t, os.WriteFile(filepath.Join(folder, Name), []byte(`{"format":7}`), 0o600))
		},
		"is no plain file": func(t *testing.T, folder string) {
			require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(folder, "link")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(folder, "a"), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(folder, "a", "one"), []byte("one"), 0o600))
			var recorder metertest.Recorder
			written := Manifest{CreatedAt: time.Unix(1, 0).UTC(), Version: "v"}
			require.NoError(t, written.Write(t.Context(), folder, recorder.Meter))
			read, err := Read(t.Context(), folder, recorder.Meter)
			require.NoError(t, err)
			require.Equal(t, &written, read)
			require.Equal(t, int64(len("one")), recorder.RequireWhole(t, "list the files"))
			require.Equal(t, int64(len("one")), recorder.RequireWhole(t, "compare the backup with its list"))
			change(t, folder)
			_, err = Read(t.Context(), folder, nil)
			require.ErrorContains(t, err, name)
		})
	}
}
