package file

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/parse"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/sourcetest"
	"github.com/mintlake/mintlake/solana/bounds"
)

func gz(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return out.Bytes()
}

func write(t testing.TB, dir, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
}

func open(t testing.TB, cfg Config) *Source {
	t.Helper()
	s, err := New(cfg, Deps{})
	require.NoError(t, err)
	return s
}

func TestContract(t *testing.T) {
	sourcetest.Contract(t, false, func(t *testing.T, setup sourcetest.Setup) source.Source {
		dir := t.TempDir()
		for i, b := range setup.Chain {
			switch i % 3 {
			case 0:
				write(t, dir, fmt.Sprintf("%d.json", b.Slot), b.JSON(t))
			case 1:
				write(t, dir, fmt.Sprintf("%d.json.gz", b.Slot), gz(t, b.JSON(t)))
			case 2:
				write(t, dir, fmt.Sprintf("%d.confirmedblock.pb", b.Slot), b.ConfirmedBlock(t))
			}
		}
		if setup.Broken {
			write(t, dir, fmt.Sprintf("0%d.json", setup.Chain[3].Slot), setup.Chain[3].JSON(t)[:100])
		}
		return open(t, Config{Paths: []string{dir}})
	})
}

func TestBrokenFilesAreRefusedWithTheirReason(t *testing.T) {
	b := sourcetest.NewChain(1000, 1)[0]
	dir := t.TempDir()
	write(t, dir, "README.md", []byte("hi"))
	write(t, dir, ".hidden.json", []byte("hi"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.json"), 0o700))
	write(t, dir, "1000.json", b.JSON(t))
	bad := map[string][]byte{
		"1001.json.gz":           gz(t, b.JSON(t))[:60],
		"1002.json.gz":           []byte("no gzip"),
		"1003.confirmedblock.pb": b.ConfirmedBlock(t)[:50],
		"a.confirmedblock.pb":    b.ConfirmedBlock(t),
		"block.json":             b.JSON(t),
		"account.json":           []byte(`{"jsonrpc":"2.0","result":{"context":{"slot":1},"value":{"lamports":1,"data":["","base64"],"owner":"x"}},"id":1}`),
		"error.json":             []byte(`{"jsonrpc":"2.0","error":{"code":-32007,"message":"skipped"},"id":1}`),
		"null.json":              []byte(`{"jsonrpc":"2.0","result":null,"id":1}`),
		"empty.json":             {},
		"list.json":              []byte(`[{"slot":1},{"lamports":5},[]`),
		"v9.json":                []byte(`[{"slot":1,"version":9,"transaction":["AA==","base64"],"meta":{"err":null}},7]`),
		"9.json":                 b.JSON(t), // its parent is slot 999
		"big.json.gz":            gz(t, make([]byte, 1<<20)),
		"data.csv":               []byte("a,b"),
		"x.geyser.zst":           []byte("no zstd at all"),
	}
	for name, data := range bad {
		write(t, dir, name, data)
	}
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{dir}, maxFileBytes: 1 << 19}).Run(t.Context(), sourcetest.Ledger{}, sink))
	require.Equal(t, []uint64{1000}, sink.Slots())
	refused := sink.RefusedInputs()
	for name := range bad {
		require.Contains(t, refused, filepath.Join(dir, name))
		require.NotContains(t, refused[filepath.Join(dir, name)].Error(), "\n")
	}
	require.Len(t, refused, len(bad))
	read, total := sink.ProgressSaid()
	require.Equal(t, total, read)
}

// TestBlocksThatCannotBeAreRefused: each is refused by name, and the others are read.
func TestBlocksThatCannotBeAreRefused(t *testing.T) {
	within, err := bounds.New(bounds.Deps{})
	require.NoError(t, err)
	chain, dir := sourcetest.NewChain(1000, 30), t.TempDir()
	for _, b := range chain {
		write(t, dir, fmt.Sprintf("%d.json", b.Slot), b.JSON(t))
	}
	last := chain[29]
	for name, b := range map[string]sourcetest.Block{
		"18446744073709551614.json": {Slot: math.MaxUint64 - 1, Parent: math.MaxUint64 - 2, BlockTime: last.BlockTime},
		"9007199254740993.json":     {Slot: 1<<53 + 1, Parent: 1 << 53, BlockTime: last.BlockTime},
		"2000.json":                 {Slot: 2000, Parent: 1999, BlockTime: 4_102_444_800},
		"2001.json":                 {Slot: 2001, Parent: 2000, BlockTime: 1},
		"900000000.json":            {Slot: 900_000_000, Parent: 1999, BlockTime: last.BlockTime},
	} {
		made := *sourcetest.NewBlock(b.Slot, &sourcetest.Block{Slot: b.Parent, Hash: last.Hash}, "lie")
		made.BlockTime = b.BlockTime
		write(t, dir, name, made.JSON(t))
	}
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{dir}, Reader: parse.Reader{}.Within(within)}).Run(t.Context(), sourcetest.Ledger{}, sink))
	sourcetest.RequireChain(t, chain, sink.Blocks())
	require.Len(t, sink.RefusedInputs(), 5)
	for name, err := range sink.RefusedInputs() {
		require.ErrorIs(t, err, bounds.ErrImpossible, name)
	}
}

// TestKnownBlocksAtAnySpeed: they are not passed on, and do not wait for their time. The slots that
// they skip are told, as those of other blocks are.
func TestKnownBlocksAtAnySpeed(t *testing.T) {
	blocks := sourcetest.NewChain(1000, 9)
	dir := t.TempDir()
	for _, b := range blocks {
		write(t, dir, fmt.Sprintf("%d.json", b.Slot), b.JSON(t))
	}
	ledger := sourcetest.LedgerOf(blocks, 8)
	for _, speed := range []float64{0, 1e-9} { // at which a second takes 32 years
		registry := prometheus.NewRegistry()
		s, err := New(Config{Paths: []string{dir}, Speed: speed}, Deps{Registerer: registry})
		require.NoError(t, err)
		sink := &sourcetest.Sink{Ledger: ledger}
		require.NoError(t, s.Run(t.Context(), ledger, sink))
		require.Equal(t, []uint64{blocks[8].Slot}, sink.Slots(), "speed %g", speed)
		require.Equal(t, blocks.Skipped(), sink.SkippedSlots(), "speed %g", speed)
		require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
			# HELP mintlake_source_known_blocks_total Blocks dropped because an earlier run had ingested them.
			# TYPE mintlake_source_known_blocks_total counter
			mintlake_source_known_blocks_total{kind="file"} 8
		`), "mintlake_source_known_blocks_total"))
	}
}

func TestMissingPathEndsTheRun(t *testing.T) {
	err := open(t, Config{Paths: []string{filepath.Join(t.TempDir(), "nowhere")}}).Run(t.Context(), sourcetest.Ledger{}, &sourcetest.Sink{})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestFileNamedItselfIsNeverPassedOver(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "README.md", []byte("hi"))
	sink := &sourcetest.Sink{}
	require.NoError(t, open(t, Config{Paths: []string{filepath.Join(dir, "README.md")}}).Run(t.Context(), sourcetest.Ledger{}, sink))
	require.Len(t, sink.RefusedInputs(), 1)
}

func TestRealFiles(t *testing.T) {
	sink := &sourcetest.Sink{}
	s := open(t, Config{Paths: []string{testkit.Shared(t, "data/transactions"), testkit.Shared(t, "data/blocks")}})
	require.NoError(t, s.Run(t.Context(), sourcetest.Ledger{}, sink))
	blocks := sink.Blocks()
	require.Len(t, blocks, 3+56)
	counts := map[uint64]int{}
	for _, b := range blocks[:3] {
		require.True(t, b.Whole)
		counts[b.Slot] = len(b.Transactions)
	}
	require.Equal(t, map[uint64]int{254170887: 602, 332254855: 1445, 361774429: 1790}, counts)
	require.Len(t, sink.RefusedInputs(), 1)
}
