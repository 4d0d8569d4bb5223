package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// covered counts changes of supply that the table still holds although a later read of the account
// covers them.
const covered = `SELECT count() FROM mintlake.token_facts_raw AS delta FINAL INNER JOIN (
	SELECT mint, fact.1 AS read FROM mintlake.token_facts_raw FINAL WHERE register = 3) AS supply USING mint
	WHERE register = 4 AND delta.fact.1 <= read FORMAT TSV`

// TestExportOfALiveDemo exports while the demo chain runs, after accounts were read again, and
// imports what it got: both have the same root.
func TestExportOfALiveDemo(t *testing.T) {
	t.Parallel()
	demo := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "demo:?past=0&tps=200&tokens=60&seed=9")...)
	for deadline := time.Now().Add(hang); demo.query(covered)[0] == "0"; time.Sleep(200 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "no account of a busy mint was read again\n%s", demo.log())
	}
	folder := filepath.Join(t.TempDir(), "snapshot")
	mustRun(t, exec.Command(binary, "export", "--to", folder, "--clickhouse-dsn", demo.addresses["clickhouse"]))
	require.Zero(t, demo.stop(), demo.log())

	raw, err := os.ReadFile(filepath.Join(folder, "manifest.json"))
	require.NoError(t, err)
	var manifest struct {
		Root struct {
			Hash   string `json:"hash"`
			Tokens int    `json:"tokens"`
		} `json:"root"`
	}
	require.NoError(t, json.Unmarshal(raw, &manifest))
	require.Positive(t, manifest.Root.Tokens)

	up := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "none", "--rooms", "projector")...)
	mustRun(t, up.command(t.TempDir(), "import", "--from", folder, "--insecure"))
	imported := up.registry()
	require.Contains(t, imported["root"][0], "root="+manifest.Root.Hash)
	require.Len(t, imported["tokens"], manifest.Root.Tokens)
	require.Zero(t, up.stop(), up.log())
}
