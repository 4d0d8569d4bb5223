package demo

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/chain"
	"github.com/mintlake/mintlake/testworld/ledger"
)

func TestMetadataHost(t *testing.T) {
	n := start(t, testConfig())
	require.NoError(t, n.Step(10))
	get := func(path string) (*http.Response, []byte) {
		resp, err := http.Get(n.BaseURL() + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp, b
	}
	list, _ := n.Ledger().Program(chain.MetaplexProgram, ledger.Processed, func(chain.Key, *chain.Account) bool { return true })
	good := 0
	for _, w := range list[:40] {
		m, ok := chain.ReadMetaplex(w.Account)
		require.True(t, ok)
		path, local := strings.CutPrefix(m.URI, n.BaseURL())
		if !local {
			continue
		}
		resp, body := get(path)
		var doc struct{ Name, Symbol, Image string }
		if resp.StatusCode != http.StatusOK || json.Unmarshal(body, &doc) != nil {
			continue // broken on purpose
		}
		require.Equal(t, m.Name, doc.Name)
		require.Equal(t, m.Symbol, doc.Symbol)
		good++
	}
	require.Greater(t, good, 20)
	resp, _ := get("/metadata/nonsense.json")
	require.Equal(t, 404, resp.StatusCode)
	resp, _ = get("/logo/" + chain.USDCMint.String() + ".gif")
	require.Equal(t, 404, resp.StatusCode)
}

func TestWriteBlocksWritesWhatGetBlockGives(t *testing.T) {
	cfg := testConfig()
	cfg.publicBaseURL = "http://127.0.0.1:9"
	dir := t.TempDir()
	slots, err := WriteBlocks(dir, cfg, 1002, 1012)
	require.NoError(t, err)
	require.NotEmpty(t, slots)
	n := start(t, cfg)
	require.NoError(t, n.Step(20))
	for _, slot := range slots {
		f, err := os.Open(filepath.Join(dir, chain.UIAmount(slot, 0)+".json.gz"))
		require.NoError(t, err)
		z, err := gzip.NewReader(f)
		require.NoError(t, err)
		file, err := io.ReadAll(z)
		require.NoError(t, err)
		require.NoError(t, f.Close())
		var raw json.RawMessage
		require.Nil(t, call(t, n, &raw, "getBlock", slot, opt("encoding", "base64", "maxSupportedTransactionVersion", 1)))
		require.True(t, bytes.Equal(file, raw), "slot %d", slot)
	}
	_, err = WriteBlocks(dir, cfg, 1, 2)
	require.Error(t, err)
	files, err := filepath.Glob(filepath.Join(dir, ".block-*"))
	require.NoError(t, err)
	require.Empty(t, files)
}
