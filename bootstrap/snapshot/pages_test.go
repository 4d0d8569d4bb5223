package snapshot

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/gzip"
	"github.com/parquet-go/parquet-go/compress/snappy"
	"github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/stretchr/testify/require"
)

// parquetOf writes rows with a codec into one page of each column.
func parquetOf(t *testing.T, codec compress.Codec, rows int, row factRow) string {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[factRow](&out, parquet.Compression(codec), parquet.PageBufferSize(1<<30), parquet.MaxRowsPerRowGroup(1<<30))
	batch := make([]factRow, 1000)
	for i := range batch {
		batch[i] = row
	}
	for n := rows; n > 0; n -= len(batch) {
		_, err := w.Write(batch[:min(n, len(batch))])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	path := filepath.Join(t.TempDir(), "facts-0000.parquet")
	require.NoError(t, os.WriteFile(path, out.Bytes(), 0o600))
	return path
}

// TestPagesThatExpandAreRefused, and what they claim is not made room for: a file of a few
// kilobytes costs what the limit allows.
func TestPagesThatExpandAreRefused(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	small := factRow{Mint: "m", Register: 1, Value: "v"}
	for name, path := range map[string]string{
		"values of 65 MiB":       parquetOf(t, &zstd.Codec{}, 65, factRow{Mint: "m", Register: 1, Value: long}),
		"a long item":            parquetOf(t, &zstd.Codec{}, 1, factRow{Mint: "m", Register: 1, Item: strings.Repeat(long, 65)}),
		"millions of equal rows": parquetOf(t, &zstd.Codec{}, maxPageValues+1, small),
		"gzip":                   parquetOf(t, &gzip.Codec{}, 128, small),
		"snappy":                 parquetOf(t, &snappy.Codec{}, 128, small),
	} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = readRows(path, 0, func(*factRow) error { return fmt.Errorf("a row of %s was read", name) })
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, ErrContent, "%s of %d bytes", name, info.Size())
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(6*maxPageBytes), name)
	}
}

// TestPagesOfExportsAreRead, however many there are.
func TestPagesOfExportsAreRead(t *testing.T) {
	for _, rows := range []int{0, 1, 1000, rowGroupRows} {
		read := 0
		path := parquetOf(t, &zstd.Codec{}, rows, factRow{Mint: "m", Register: 1, Item: "i", Value: strings.Repeat("v", 100)})
		require.NoError(t, readRows(path, 0, func(*factRow) error {
			read++
			return nil
		}))
		require.Equal(t, rows, read)
	}
}

// TestDamagedPagesAreFaultsOfTheFile, wherever the damage is.
func TestDamagedPagesAreFaultsOfTheFile(t *testing.T) {
	path := parquetOf(t, &zstd.Codec{}, 300, factRow{Mint: "m", Register: 1, Value: "v"})
	good, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := 0; at < len(good); at += 5 {
		for _, flip := range []byte{0x01, 0xff} {
			bad := bytes.Clone(good)
			bad[at] ^= flip
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			if err := readRows(path, 0, func(*factRow) error { return nil }); err != nil {
				require.ErrorIs(t, err, ErrContent, at)
			}
		}
	}
}
