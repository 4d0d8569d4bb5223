package e2e

import (
	"archive/tar"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// released are the archives of testdata/released, with the roots that the versions themselves told.
var released = map[string]string{
	"2026-11-24": "slot=400000051 tokens=37 root=PLubUxG5W31UwW97px6iRA7xnHT4FN85Ww5pRh8qprz",
	"2026-11-28": "slot=400000105 tokens=41 root=AP8szXCRbdrrjHZMy2YvSShB55EGzaZsLxwYqG2QyNaL",
}

// unpack makes a data folder of an archive.
func unpack(t *testing.T, name string) (dir string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "released", name+".tar.zst"))
	require.NoError(t, err)
	defer func() { _ = file.Close() }()
	raw, err := zstd.NewReader(file)
	require.NoError(t, err)
	defer raw.Close()
	dir = t.TempDir()
	for archive := tar.NewReader(raw); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(header.Name) || header.Name == "./", header.Name)
		path := filepath.Join(dir, header.Name)
		switch header.Typeflag {
		case tar.TypeDir:
			require.NoError(t, os.MkdirAll(path, 0o750))
		case tar.TypeSymlink:
			require.NoError(t, os.Symlink(header.Linkname, path))
		default:
			content, err := io.ReadAll(archive)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, content, header.FileInfo().Mode().Perm()))
		}
	}
}

// onFolder runs a command on a data folder, and returns its exit code and output.
func onFolder(t *testing.T, dir string, args ...string) (int, string) {
	t.Helper()
	command := exec.Command(binary, append(append(args, "--data-dir", dir, "--log-level", "error"), freePorts()...)...)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

// TestDataFoldersOfReleasedVersions: an upgrade names what it makes anew, does so in the
// background, and leaves the root as it was.
func TestDataFoldersOfReleasedVersions(t *testing.T) {
	t.Parallel()
	for name, root := range released {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, name)
			_, slot, _ := strings.Cut(strings.Fields(root)[0], "=")
			sameRoot := func() {
				code, out := onFolder(t, dir, "root", "--at-slot", slot)
				require.Zero(t, code, out)
				require.Contains(t, out, root)
			}
			sameRoot()
			code, out := onFolder(t, dir, "verify")
			require.Equal(t, 2, code, out)
			require.Contains(t, out, "the tables are of an earlier version", "and not damaged")

			up := launch(t, dir, "--source", "none")
			until(t, func() bool { return strings.Contains(up.log(), `"tables are made anew"`) }, 100*time.Millisecond)
			require.Contains(t, up.log(), "tables were made by an earlier version's rules: they are made anew from the log in the background")
			require.Contains(t, up.log(), "tables=token_facts_raw,token_fact_history_raw,tokens_raw")
			require.Zero(t, up.stop())
			code, out = onFolder(t, dir, "verify")
			require.Zero(t, code, out)
			require.NotContains(t, out, "DIFFERS")
			sameRoot()
			requirePrivate(t, dir)

			up = launch(t, dir, "--source", "none")
			require.NotContains(t, up.log(), "earlier version's rules", "once is enough")
			until(t, func() bool { return up.query("SELECT count() FROM mintlake.waiting_minutes")[0] == "0" }, 100*time.Millisecond, "minutes are valued")
			require.Zero(t, up.stop())
			code, out = onFolder(t, dir, "verify")
			require.Zero(t, code, out)
			require.NotRegexp(t, "DIFFERS|waiting", out)
		})
	}
}

// requirePrivate: each file of a data folder is its owner's alone.
func requirePrivate(t *testing.T, dir string) {
	t.Helper()
	files := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			files++
			require.Zero(t, info.Mode().Perm()&0o077, "%s is %s", path, info.Mode())
		}
		return err
	}))
	require.Greater(t, files, 100)
}

// TestAnUpgradeWithARegisterIsNoDamage: rows that this version's rules would have made, and the
// version before did not.
func TestAnUpgradeWithARegisterIsNoDamage(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "2026-11-28")
	up := launch(t, dir, "--source", "none")
	until(t, func() bool { return strings.Contains(up.log(), `"tables are made anew"`) }, 100*time.Millisecond)
	up.query("ALTER TABLE mintlake.token_facts_raw DELETE WHERE register = 22 SETTINGS mutations_sync = 1")
	require.Zero(t, up.stop())
	code, out := onFolder(t, dir, "verify", "--tables", "token_facts_raw,tokens_raw,slots_raw")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "token_facts_raw          DIFFERS", "without an upgrade it is damage")

	up = launch(t, dir, "--source", "none")
	up.query("TRUNCATE TABLE mintlake.table_rules") // as after an upgrade
	require.Zero(t, up.stop())
	code, out = onFolder(t, dir, "verify", "--tables", "token_facts_raw,tokens_raw,slots_raw")
	require.Equal(t, 2, code, out)
	require.Contains(t, out, "token_facts_raw          outdated")
	require.Contains(t, out, "slots_raw                equal")
	require.NotContains(t, out, "DIFFERS")
	require.Contains(t, out, "`mintlake up` makes them anew in the background")

	up = launch(t, dir, "--source", "none")
	until(t, func() bool { return strings.Contains(up.log(), `"tables are made anew"`) }, 100*time.Millisecond)
	require.Zero(t, up.stop())
	code, out = onFolder(t, dir, "verify")
	require.Zero(t, code, out)
}

// TestDamagedStateOfANodeIsMadeAnew damages every small file that is made of something else, all at
// once. The node starts, tells, and has all its rows. The log's own marker and topics.json stop it.
func TestDamagedStateOfANodeIsMadeAnew(t *testing.T) {
	t.Parallel()
	dir := unpack(t, "2026-11-28")
	up := launch(t, dir, "--source", "none")
	until(t, func() bool { return strings.Contains(up.log(), `"tables are made anew"`) }, 100*time.Millisecond)
	require.Zero(t, up.stop())
	derived := []string{
		"clickhouse/mintlake-clickhouse.json", "clickhouse/parts.json", "clickhouse/lock", "clickhouse/config.xml", "clickhouse/engine/metadata/mintlake.sql",
		"clickhouse/engine/store/*/*/*.sql", "clickhouse/engine/store/*/*/format_version.txt", "clickhouse/engine/store/*/*/mutation_*.txt",
		"kafka/LOG_STATE.json", "kafka/LOCK", "kafka/broker/acls.json", "kafka/broker/broker_configs.json", "kafka/broker/pids.log",
		"kafka/broker/quotas.json", "kafka/broker/sasl.json", "kafka/broker/seq_windows.json", "kafka/broker/partitions/*/snapshot.json", "kafka/broker/partitions/*/0.idx",
		"swap/*.json", "swap/pools.checkpoint", "documents.json", "programs.json", "logos/names.log",
	}
	for name, damage := range map[string]func(path string) error{
		"empty":  func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"random": func(path string) error { return os.WriteFile(path, []byte(rand.Text()+"\x00\xff"), 0o600) },
		"wrong types": func(path string) error {
			return os.WriteFile(path, []byte(`{"owner":[1],"topics":"x","tables":[{}],"version":{}}`), 0o600)
		},
		"folder":     func(path string) error { return os.MkdirAll(filepath.Join(path, "inner"), 0o700) },
		"unreadable": func(path string) error { return os.Symlink(filepath.Base(path), path) },
	} {
		damaged := 0
		for _, pattern := range derived {
			paths, err := filepath.Glob(filepath.Join(dir, pattern))
			require.NoError(t, err)
			for _, path := range paths {
				require.NoError(t, errors.Join(os.RemoveAll(path), damage(path)), path)
				damaged++
			}
		}
		require.Greater(t, damaged, 60)
		up := launch(t, dir, "--source", "none")
		require.Contains(t, up.log(), "the marker of the embedded clickhouse is damaged and made anew", name)
		require.Contains(t, up.log(), "a definition of the embedded clickhouse is damaged", name)
		until(t, func() bool {
			return strings.Contains(up.log(), "the manifest of clickhouse's parts is damaged and made anew")
		}, 100*time.Millisecond, name)
		require.Zero(t, up.stop())
		code, out := onFolder(t, dir, "verify")
		require.Zero(t, code, "%s: %s", name, out)
	}
	for _, file := range []string{"kafka/MINTLAKE_KAFKA", "kafka/broker/topics.json"} {
		path := filepath.Join(dir, file)
		whole, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, []byte("damaged"), 0o600))
		up := begin(t, dir, "--source", "none")
		require.NotZero(t, up.end(), file)
		require.Contains(t, up.log(), filepath.Base(file))
		require.NoError(t, os.WriteFile(path, whole, 0o600))
	}
}
