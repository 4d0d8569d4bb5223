package demo

import (
	"bytes"
	"crypto/sha256"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

// checkpointConfig is a chain whose restarts have one address, as those of one data folder do.
func checkpointConfig(folder string, start uint64) Config {
	return Config{
		Seed: 4, TPS: 10, Tokens: 60, Wallets: 32, Manual: true, ForkRate: 0.05, SkipRate: 0.05, Switched: 50, Dead: 70,
		publicBaseURL: "http://demo.test", GenesisSlot: 1000, StartSlot: start, Checkpoints: folder, ledger: ledger.Config{Blocks: 500},
	}
}

// resumed starts a node and returns it with what it logged.
func resumed(t *testing.T, cfg Config) (*Node, string) {
	t.Helper()
	var log bytes.Buffer
	n, err := New(cfg, Deps{Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	n.base.Store(cfg.publicBaseURL)
	require.NoError(t, n.build(t.Context()))
	return n, log.String()
}

// requireSame holds two nodes to each other: all that is kept, and the slots that come.
func requireSame(t *testing.T, want, got *Node) {
	t.Helper()
	for range 300 {
		require.NoError(t, want.step())
		require.NoError(t, got.step())
	}
	require.Equal(t, want.Slot(), got.Slot())
	require.Equal(t, want.ledger.TransactionCount(ledger.Processed), got.ledger.TransactionCount(ledger.Processed))
	for slot := want.ledger.First(); slot <= want.Slot(); slot++ {
		a, _, held := want.ledger.Block(slot)
		b, _, ok := got.ledger.Block(slot)
		require.Equal(t, held, ok, slot)
		if !held {
			continue
		}
		require.Equal(t, a.Hash, b.Hash)
		require.Len(t, b.Txs, len(a.Txs), slot)
		for i, tx := range a.Txs {
			require.Equal(t, tx.Wire(), b.Txs[i].Wire())
			require.Equal(t, tx.Meta, b.Txs[i].Meta)
			require.Equal(t, tx.Writes, b.Txs[i].Writes)
		}
	}
	require.Equal(t, want.gen.Checkpoint(), got.gen.Checkpoint())
}

// TestARestartGoesOnFromACheckpoint as if it had made every slot again: also if the newest file is
// damaged, of another chain or not whole, which is told by name.
func TestARestartGoesOnFromACheckpoint(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "demo-checkpoints")
	first := start(t, checkpointConfig(folder, 1000))
	for i := range uint64(5) {
		require.NoError(t, first.Step(1050))
		require.Eventually(t, func() bool {
			slots := checkpointSlots(folder)
			return len(slots) > 0 && slots[len(slots)-1] >= 1000*(i+2)
		}, hang, time.Millisecond)
	}
	const next = 1000 + 5*1050
	var slots []uint64
	require.Eventually(t, func() bool { slots = checkpointSlots(folder); return len(slots) == keptCheckpoints }, hang, time.Millisecond)
	again := func() (*Node, string) { return resumed(t, checkpointConfig(folder, next)) }
	plain := func() *Node { n, _ := resumed(t, checkpointConfig("", next)); return n }
	got, log := again()
	require.Contains(t, log, "goes on from its checkpoint")
	requireSame(t, plain(), got)

	name := func(slot uint64) string { return got.checkpointName(slot) }
	used := slots[len(slots)-2]
	content, err := os.ReadFile(name(used))
	require.NoError(t, err)
	flipped := bytes.Clone(content)
	flipped[len(flipped)/2] ^= 1
	old, err := decodeCheckpoint(content)
	require.NoError(t, err)
	old.Version--
	older, err := encodeCheckpoint(old)
	require.NoError(t, err)
	old.Version, old.Chain.Chain = ChainVersion, "{}"
	other, err := encodeCheckpoint(old)
	require.NoError(t, err)
	for _, damaged := range [][]byte{{}, content[:40], content[:len(content)-1], flipped, older, other} {
		require.NoError(t, os.WriteFile(name(used), damaged, 0o600))
		got, log = again()
		require.Contains(t, log, "file="+name(used))
		require.Contains(t, log, "goes on from its checkpoint", "an older one serves")
	}
	requireSame(t, plain(), got)
	require.NoError(t, os.Remove(name(slots[0])))
	got, log = again()
	require.NotContains(t, log, "goes on from its checkpoint")
	requireSame(t, plain(), got)
}

// FuzzCheckpoint reads damaged files whose sum is right: what is read either does not belong to the
// chain, or makes slots.
func FuzzCheckpoint(f *testing.F) {
	cfg := chain.Config{Seed: 1, TPS: 10, Tokens: 4, Wallets: 8}
	gen, err := chain.New(cfg)
	require.NoError(f, err)
	gen.Next(nil)
	content, err := encodeCheckpoint(&checkpoint{Version: ChainVersion, Chain: gen.Checkpoint()})
	require.NoError(f, err)
	f.Add(content[sha256.Size:])
	empty, err := encodeCheckpoint(&checkpoint{Version: ChainVersion, Chain: &chain.Checkpoint{}})
	require.NoError(f, err)
	f.Add(empty[sha256.Size:])
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := decodeCheckpoint(raw); err == nil {
			t.Fatal("a file without its sum was read")
		}
		sum := sha256.Sum256(raw)
		if c, err := decodeCheckpoint(append(sum[:], raw...)); err == nil {
			_, _ = chain.Resume(cfg, c.Chain)
		}
	})
}
