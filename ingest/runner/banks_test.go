package runner_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/ingest/runner"
	"github.com/mintlake/mintlake/ingest/source"
	"github.com/mintlake/mintlake/ingest/source/file"
	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

// sequence is what must be left of a sequence of updates with several banks.
type sequence struct {
	Expect struct {
		Ledger map[string]struct {
			Status    string `json:"status"`
			Blockhash string `json:"blockhash"`
		} `json:"ledger"`
		Registry struct {
			Mints  []string `json:"mints"`
			Absent []string `json:"absent"`
		} `json:"registry"`
	} `json:"expect"`
}

// recordingOf writes messages, each behind its length, as a recording.
func recordingOf(t *testing.T, messages []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.geyser.zst")
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	out, err := file.NewRecorder(f)
	require.NoError(t, err)
	for len(messages) > 0 {
		size := binary.BigEndian.Uint32(messages)
		require.NoError(t, out.Write(messages[4:4+size]))
		messages = messages[4+size:]
	}
	require.NoError(t, out.Close())
	return path
}

// TestBanksThatLose: ten sequences in which slots have several banks, as a recording at confirmed
// and at processed. Only what the chain confirmed is in the ledger and in the registry.
func TestBanksThatLose(t *testing.T) {
	folder := testkit.Shared(t, "data/chain-2026/geyser")
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	require.NoError(t, err)
	require.Len(t, names, 10)
	for _, name := range names {
		base := name[:len(name)-len(".json")]
		for _, form := range []string{".confirmed.geyser.zst", ".confirmed.bin", ".processed.bin"} {
			t.Run(filepath.Base(base)+form, func(t *testing.T) {
				var want sequence
				raw, err := os.ReadFile(name)
				require.NoError(t, err)
				require.NoError(t, json.Unmarshal(raw, &want))
				path := base + form
				if filepath.Ext(form) == ".bin" {
					messages, err := os.ReadFile(path)
					require.NoError(t, err)
					path = recordingOf(t, messages)
				}
				requireSequence(t, path, &want)
			})
		}
	}
}

func requireSequence(t *testing.T, path string, want *sequence) {
	t.Helper()
	files, err := file.New(file.Config{Paths: []string{path}}, file.Deps{})
	require.NoError(t, err)
	l := &log{}
	r, err := runner.New(runner.Config{Sources: []source.Source{files}}, runner.Deps{Producer: l})
	require.NoError(t, err)
	require.NoError(t, r.Run(t.Context()))
	require.Empty(t, r.Coverage().Gaps)
	require.Zero(t, r.Progress().Refused)

	last := map[string]*eventspb.SlotRecord{}
	for _, record := range l.slots(t) {
		last[strconv.FormatUint(record.GetSlot(), 10)] = record
	}
	for slot, expected := range want.Expect.Ledger {
		require.Contains(t, last, slot)
		switch expected.Status {
		case "ingested":
			require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_INGESTED, last[slot].GetStatus(), slot)
			require.Equal(t, expected.Blockhash, base58.Encode(last[slot].GetBlockhash()), slot)
		default:
			require.Equal(t, "skipped", expected.Status)
			require.Equal(t, eventspb.SlotStatus_SLOT_STATUS_SKIPPED, last[slot].GetStatus(), slot)
		}
	}
	mints := map[string]bool{}
	require.NoError(t, l.ReadMints(context.Background(), func(mint pubkey.Key, _ uint64, _ bool) { mints[mint.String()] = true }))
	for _, mint := range want.Expect.Registry.Mints {
		require.True(t, mints[mint], "mint %s of the chain", mint)
	}
	for _, mint := range want.Expect.Registry.Absent {
		require.False(t, mints[mint], "mint %s of a bank that lost", mint)
	}
}
