package chengine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	chengine "github.com/mintlake/mintlake/embedded/clickhouse"
)

// TestADamagedMergeLosesNoRow: on a full disk merged parts were seen whose files are empty. The
// parts that they were made of are still there.
func TestADamagedMergeLosesNoRow(t *testing.T) {
	r := start(t, chengine.Config{})
	require.Equal(t, 200, curl(t, r.Addr(), "", "CREATE DATABASE d ENGINE = Atomic").status)
	const often = ", cleanup_delay_period = 1, cleanup_delay_period_random_add = 0, max_cleanup_delay_period = 1"
	for table, settings := range map[string]string{"t": often, "swept": often + ", old_parts_lifetime = 0"} {
		for _, statement := range []string{
			"CREATE TABLE d." + table + " (x Int64, INDEX i x TYPE minmax) ENGINE = MergeTree ORDER BY x SETTINGS min_bytes_for_wide_part = 0" + settings,
			"INSERT INTO d." + table + " SELECT number FROM numbers(1000)",
			"INSERT INTO d." + table + " SELECT number FROM numbers(1000, 500)",
			"OPTIMIZE TABLE d." + table + " FINAL",
		} {
			require.Equal(t, 200, curl(t, r.Addr(), "", statement).status, statement)
		}
		require.Equal(t, "all_1_2_1\n", curl(t, r.Addr(), "SELECT name FROM system.parts WHERE active AND table = '"+table+"'", "").body)
	}
	require.Eventually(t, func() bool {
		return curl(t, r.Addr(), "SELECT count() FROM system.parts WHERE table = 'swept'", "").body == "1\n"
	}, 5*time.Minute, 100*time.Millisecond, "the engine has removed what it wanted to remove")
	require.NoError(t, r.stop())

	merged, err := filepath.Glob(filepath.Join(r.dir, "engine/store/*/*/all_1_2_1/x.bin"))
	require.NoError(t, err)
	require.Len(t, merged, 2)
	for _, file := range merged {
		require.NoError(t, os.Truncate(file, 0))
	}
	r = start(t, chengine.Config{DataDir: r.dir})
	require.Equal(t, "1500\t1124250\n", curl(t, r.Addr(), "SELECT count(), sum(x) FROM d.t", "").body)
}
