package e2e

import (
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/bulk"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// BenchmarkFirstFill fills an empty registry from a validator's snapshot, and tells what each part
// takes: the command, up with its broker, projector and API, ClickHouse.
// MINTLAKE_TEST_BOOTSTRAP_MINTS sets the mints, 1,000,000 unless set. Each mint has two accounts of
// other kinds beside it.
func BenchmarkFirstFill(b *testing.B) {
	mints := mintsToFill(b, 1_000_000)
	w := snapshotfile.World{Chain: bulk.NewChain(mints, 123), Others: 2 * mints, KeepAll: true}
	path := writeSnapshot(b, &snapshotfile.Snapshot{Release: snapshotfile.Agave4, Slot: 123_000, Storages: w.Storages(123_000), Lattice: w.Sum()})
	w.Chain = nil
	for b.Loop() {
		dir := b.TempDir()
		up := launch(b, dir, "--source", "none", "--rooms", "projector,api")
		cmd := up.command(b.TempDir(), "bootstrap", "validator-snapshot", path)
		began := time.Now()
		require.NoError(b, cmd.Start())
		parts := map[string]*meter{
			"up": newMeterOf(true, false, up.cmd.Process.Pid), "clickhouse": newMeterOf(false, true, up.cmd.Process.Pid), "command": newMeter(cmd.Process.Pid),
		}
		require.NoError(b, cmd.Wait())
		b.ReportMetric(time.Since(began).Seconds(), "s/log")
		up.awaitProjected(2 * time.Hour)
		b.ReportMetric(time.Since(began).Seconds(), "s/rows")
		for name, part := range parts {
			b.ReportMetric(part.peakMiB(), "MiB/"+name)
		}
		b.ReportMetric(float64(mints), "mints")
		for _, part := range []string{"kafka", "clickhouse"} {
			b.ReportMetric(folderMiB(b, filepath.Join(dir, part)), "MiB/disk-"+part)
		}
		require.Zero(b, up.stop())
	}
}

// folderMiB is the size of a folder's files.
func folderMiB(b *testing.B, dir string) float64 {
	b.Helper()
	size := int64(0)
	require.NoError(b, filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // a part that was merged meanwhile is gone
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
		return nil
	}))
	return float64(size) / (1 << 20)
}
