package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestTheTablesComeBackFromTheLog loses ClickHouse's data in two ways; the log alone brings every
// row back. A base of balances in the log changes nothing.
func TestTheTablesComeBackFromTheLog(t *testing.T) {
	t.Parallel()
	dir, kafka := t.TempDir(), kafkaFlags(t)
	up := launch(t, dir, append(append(sharedSources(t), "--balances-mode", "all", "--balances-base-every", "5s"), kafka...)...)
	up.awaitDone()
	until(t, func() bool {
		return up.query("SELECT count() FROM mintlake.balance_bases_raw WHERE accounts > 0 AND mints > 0")[0] != "0"
	}, 100*time.Millisecond, "no base was written")
	up.awaitDone()
	want := up.dump()
	require.NotEmpty(t, want["tokens"])
	require.NotEmpty(t, want["wallet"])
	require.Zero(t, up.stop())

	for name, lose := range map[string]func(){
		"folder removed": func() { require.NoError(t, os.RemoveAll(filepath.Join(dir, "clickhouse"))) },
		"mintlake rebuild": func() {
			rebuild := exec.Command(binary, append(append([]string{"rebuild", "--data-dir", dir}, freePorts()...), kafka...)...)
			out, err := rebuild.CombinedOutput()
			require.NoError(t, err, string(out))
		},
	} {
		lose()
		up := launch(t, dir, append(kafka, "--source", "none")...)
		up.awaitDone()
		requireEqualDumps(t, want, up.dump())
		require.False(t, t.Failed(), name)
		require.Zero(t, up.stop())
	}
}
