package e2e

import (
	"compress/gzip"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/lattice"
	"github.com/mintlake/mintlake/testworld/bulk"
	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
	"github.com/mintlake/mintlake/testworld/rpc"
	"github.com/mintlake/mintlake/testworld/snapshotfile"
)

// writeSnapshot writes an archive under its own name.
func writeSnapshot(t testing.TB, s *snapshotfile.Snapshot) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), s.Name("zst"))
	file, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, s.Write(file, "zst"))
	require.NoError(t, file.Close())
	return path
}

// rootAfter is the root of a log that a command fills.
func rootAfter(t *testing.T, args ...string) string {
	t.Helper()
	up := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "none", "--rooms", "swap")...)
	mustRun(t, up.command(t.TempDir(), args...))
	return up.rootOfLog()
}

// TestASnapshotHasTheRootOfABootstrapOverRPC: of the same mints.
func TestASnapshotHasTheRootOfABootstrapOverRPC(t *testing.T) {
	t.Parallel()
	url, _ := simulatedNode(t, bulkMints)
	w := snapshotfile.World{Chain: bulk.NewChain(bulkMints, 123), Others: 2 * bulkMints, PerStorage: 1000, KeepAll: true}
	s := &snapshotfile.Snapshot{Release: snapshotfile.Agave4, Slot: 123_000, Storages: w.Storages(123_000), Lattice: w.Sum()}
	require.Equal(t, rootAfter(t, "bootstrap", "rpc", "--rpc-upstream", url), rootAfter(t, "bootstrap", "validator-snapshot", writeSnapshot(t, s)))
}

// history is a made-up chain: its blocks as files, and all that its accounts were, by slot. url is
// a node that is at its end.
type history struct {
	folder   string
	url      string
	storages []snapshotfile.Storage
	slots    []uint64
}

func newHistory(t testing.TB, accounts int) *history {
	cfg := chain.Config{Seed: 11, TPS: 1000, Tokens: 400}
	g, err := chain.New(cfg)
	require.NoError(t, err)
	h := &history{folder: t.TempDir()}
	h.add(g.NextSlot()-1, g.Genesis())
	book := ledger.New(ledger.Config{}, g.NextSlot(), 0, g.Genesis())
	for g.Accounts() < accounts {
		slot, _ := g.Next(nil)
		require.Equal(t, chain.Live, slot.Kind)
		require.NoError(t, slot.Sign())
		h.write(t, slot.Block)
		book.Add(slot)
		var writes []chain.Write
		for _, tx := range slot.Block.Txs {
			writes = append(writes, tx.Writes...)
		}
		h.add(slot.Number, writes)
	}
	book.Settle()
	node, err := rpc.New(rpc.Deps{Ledger: book, Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), GenesisHash: g.GenesisHash(), Chain: g.Config()})
	require.NoError(t, err)
	server := httptest.NewServer(node)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// add makes the storage of a slot: each write is a version of its account.
func (h *history) add(slot uint64, writes []chain.Write) {
	accounts := make([]*lattice.Account, 0, len(writes))
	for _, write := range writes {
		account := &lattice.Account{Address: write.Key}
		if a := write.Account; a != nil {
			account.Lamports, account.Owner, account.Data, account.Executable = a.Lamports, a.Owner, a.Data, a.Executable
		}
		accounts = append(accounts, account)
	}
	h.storages = append(h.storages, snapshotfile.Storage{Slot: slot, ID: slot % 1000, Accounts: slices.Values(accounts)})
	h.slots = append(h.slots, slot)
}

func (h *history) write(t testing.TB, block *chain.Block) {
	body, err := rpc.Encode(block)
	require.NoError(t, err)
	file, err := os.Create(filepath.Join(h.folder, strconv.FormatUint(block.Slot, 10)+".json.gz"))
	require.NoError(t, err)
	out := gzip.NewWriter(file)
	_, err = out.Write(body)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	require.NoError(t, file.Close())
}

// snapshot is one of the slots up to a number of them, over a full one below it if base is not 0.
func (h *history) snapshot(base, slots int) *snapshotfile.Snapshot {
	s := &snapshotfile.Snapshot{Release: snapshotfile.Agave4, Slot: h.slots[slots-1], Storages: h.storages[base:slots], Lattice: snapshotfile.Sum(h.storages[:slots]...)}
	if base > 0 {
		s.Base = h.slots[base-1]
	}
	return s
}

// TestASnapshotHasTheRootOfAReplay: the chain's accounts at the end say of every token what the
// accounts of genesis and all blocks behind it say, and what a node tells over RPC; so do the
// accounts of a moment in between and the blocks.
func TestASnapshotHasTheRootOfAReplay(t *testing.T) {
	t.Parallel()
	h := newHistory(t, 10_000)
	whole := len(h.slots)
	// Some instructions name only an account of metadata: enrichment asks the node about these.
	replayed := func(slots int) string {
		up := launch(t, t.TempDir(), append(kafkaFlags(t), "--source", "file:"+h.folder, "--rpc-upstream", h.url)...)
		mustRun(t, up.command(t.TempDir(), "bootstrap", "validator-snapshot", writeSnapshot(t, h.snapshot(0, slots))))
		up.awaitDone()
		return up.rootOfLog()
	}
	want := rootAfter(t, "bootstrap", "validator-snapshot", writeSnapshot(t, h.snapshot(0, whole)))
	require.Equal(t, want, rootAfter(t, "bootstrap", "rpc", "--rpc-upstream", h.url), "over RPC")
	require.Equal(t, want, replayed(1), "from genesis")
	require.Equal(t, want, replayed(whole/2), "from a moment in between")
	require.Equal(t, want, rootAfter(t, "bootstrap", "validator-snapshot", writeSnapshot(t, h.snapshot(0, whole/2)),
		"--incremental", writeSnapshot(t, h.snapshot(whole/2, whole))), "as a pair")
}
