package parts

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestEveryFileIsChecked: a wrong byte in any file of a part, of either form, is found, and so is a
// file that is cut or gone.
func TestEveryFileIsChecked(t *testing.T) {
	n := &node{t: t, dir: t.TempDir()}
	n.start()
	defer n.stop()
	n.exec("CREATE DATABASE mintlake ENGINE = Atomic")
	for form, bytes := range map[string]string{"wide": "0", "compact": "100000000"} {
		n.exec("CREATE TABLE mintlake."+form+" (n UInt64, s String, m Map(LowCardinality(String), String), INDEX i s TYPE bloom_filter GRANULARITY 1, "+
			"PROJECTION p (SELECT * ORDER BY s)) ENGINE = MergeTree PARTITION BY n % 1 ORDER BY n SETTINGS min_bytes_for_wide_part = "+bytes,
			"INSERT INTO mintlake."+form+" SELECT number, toString(number), map('a', toString(number)) FROM numbers(20000)")
	}
	for _, form := range []string{"wide", "compact"} {
		var folder string
		require.NoError(t, n.conn.QueryRow(t.Context(), "SELECT path FROM system.parts WHERE table = $1 AND active", form).Scan(&folder))
		message, err := checkFiles(t.Context(), folder)
		require.NoError(t, err)
		require.Empty(t, message)
		sums, err := readChecksums(filepath.Join(folder, checksumsFile))
		require.NoError(t, err)
		require.Greater(t, len(sums), 5)
		for _, sum := range append(sums, fileSum{name: checksumsFile}) {
			path := filepath.Join(folder, sum.name)
			if filepath.Ext(path) == ".proj" {
				path = filepath.Join(path, "data.bin")
				if form == "wide" {
					path = filepath.Join(filepath.Dir(path), "n.bin")
				}
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			flipped := bytes.Clone(text)
			flipped[len(flipped)/2] ^= 1
			for _, damaged := range [][]byte{flipped, text[:len(text)/2]} {
				require.NoError(t, os.WriteFile(path, damaged, 0o600))
				message, err := checkFiles(t.Context(), folder)
				require.NoError(t, err, path)
				require.NotEmpty(t, message, path)
			}
			require.NoError(t, os.Remove(path))
			message, err := checkFiles(t.Context(), folder)
			if sum.name == checksumsFile {
				require.ErrorIs(t, err, errNotHere)
			} else {
				require.NoError(t, err)
				require.NotEmpty(t, message, path)
			}
			require.NoError(t, os.WriteFile(path, text, 0o600))
		}
		message, err = checkFiles(t.Context(), folder)
		require.NoError(t, err)
		require.Empty(t, message)
	}
}

// TestAWrongBitInALargeBlockIsToldSoon: ClickHouse itself searches for the bit for minutes, and no
// query that meets it can be killed.
func TestAWrongBitInALargeBlockIsToldSoon(t *testing.T) {
	n := &node{t: t, dir: t.TempDir()}
	n.start()
	n.exec("CREATE DATABASE mintlake ENGINE = Atomic", "CREATE TABLE mintlake.d (n UInt64, s FixedString(52)) ENGINE = MergeTree ORDER BY n",
		"INSERT INTO mintlake.d SELECT number, randomFixedString(52) FROM numbers(8192)")
	name := n.parts()[0]
	n.stop()
	data := filepath.Join(n.part(name), "data.bin")
	text, err := os.ReadFile(data)
	require.NoError(t, err)
	require.Greater(t, len(text), 400_000, "one block holds the column")
	text[len(text)-1000] ^= 1
	require.NoError(t, os.WriteFile(data, text, 0o600))
	n.start()
	defer n.stop()
	begin := time.Now()
	var log bytes.Buffer
	damage, _ := n.watched(&log)
	require.Less(t, time.Since(begin), 20*time.Second)
	require.Len(t, damage, 1)
	require.Equal(t, Broken, damage[0].Kind)
	require.Contains(t, damage[0].Reason, "data.bin differs from its checksum")
	require.Contains(t, log.String(), "a part of a clickhouse table is damaged")
	broken, err := CheckTable(t.Context(), n.conn, "mintlake", "d")
	require.NoError(t, err)
	require.Contains(t, broken, name)
}
