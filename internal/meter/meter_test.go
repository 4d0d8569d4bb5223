package meter_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/meter"
	"github.com/mintlake/mintlake/internal/testkit/metertest"
)

func TestAFolderThatGrowsIsTold(t *testing.T) {
	var recorder metertest.Recorder
	folder := filepath.Join(t.TempDir(), "made", "later")
	end := meter.Meter(recorder.Meter).Folder("copy", folder, 9)
	require.NoError(t, os.MkdirAll(folder, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "part"), []byte("123456789"), 0o600))
	require.Eventually(t, func() bool { return recorder.Works()[0].Done == 9 }, time.Minute, 10*time.Millisecond)
	end()
	recorder.RequireWhole(t, "copy")
}

func TestNobodyLooks(t *testing.T) {
	var none meter.Meter
	count, end := none.Begin("work", "things", 1)
	count(1)
	end()
	none.Folder("work", t.TempDir(), 1)()
}
