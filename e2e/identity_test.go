package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/testworld/jsonrpc"
)

// genesisNode answers getGenesisHash with the number's hash, or, for 0, that it does not know the
// method.
func genesisNode(t *testing.T, number *atomic.Int32) string {
	t.Helper()
	methods := map[string]jsonrpc.Method{"getGenesisHash": func([]json.RawMessage) (any, error) {
		hash := [32]byte{byte(number.Load())}
		if hash == [32]byte{} {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "Method not found"}
		}
		return base58.Encode(hash[:]), nil
	}}
	server := httptest.NewServer(&jsonrpc.Handler{Methods: methods})
	t.Cleanup(server.Close)
	return server.URL
}

// TestAnotherClusterIsNotJoined: an upstream of another chain than the data's, also one that was
// reset at the same URL, ends the start with both hashes. One that does not tell is used, with a
// warning.
func TestAnotherClusterIsNotJoined(t *testing.T) {
	t.Parallel()
	var number atomic.Int32
	url := genesisNode(t, &number)
	number.Store(1)
	dir := t.TempDir()
	args := []string{"--source", "none", "--rooms", "gateway", "--rpc-upstream", url}
	require.Zero(t, launch(t, dir, args...).stop())
	require.Zero(t, launch(t, dir, args...).stop(), "the same chain")

	number.Store(2)
	line := fails(t, dir, nil, args...)
	for _, hash := range [][32]byte{{1}, {2}} {
		require.Contains(t, line, base58.Encode(hash[:]))
	}
	require.Contains(t, line, "--data-dir")
	require.NotContains(t, line, "http://", "no URL, which may hold a key")

	number.Store(0)
	mute := launch(t, dir, args...)
	requireFillingAsks(t, mute)
	require.Zero(t, mute.stop())
	require.Equal(t, 1, strings.Count(mute.log(), "does not tell its genesis hash"))
}

// TestAnUpstreamOfAnotherChainIsLeftOut: beside one of the right chain, and where the blocks come
// from elsewhere. Where all that the chain is read from is another chain, the start fails.
func TestAnUpstreamOfAnotherChainIsLeftOut(t *testing.T) {
	t.Parallel()
	var right, wrong atomic.Int32
	right.Store(1)
	wrong.Store(2)
	rightURL, wrongURL := genesisNode(t, &right), genesisNode(t, &wrong)
	dir := t.TempDir()
	gateway := []string{"--source", "none", "--rooms", "gateway", "--rpc-upstream"}
	require.Zero(t, launch(t, dir, append(gateway, rightURL)...).stop())

	both := launch(t, dir, append(gateway, wrongURL+","+rightURL)...)
	require.EqualValues(t, 1, both.metric("mintlake_rpc_upstream_other_chain"))
	hash := [32]byte{1}
	for range 5 {
		answer, err := http.Post(both.addresses["rpc"], "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"getGenesisHash"}`))
		require.NoError(t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Contains(t, string(body), base58.Encode(hash[:]))
	}
	require.Zero(t, both.stop())
	require.Contains(t, both.log(), "is left out")

	wrong.Store(3)
	right.Store(2)
	require.Contains(t, fails(t, dir, nil, append(gateway, wrongURL+","+rightURL)...), "--data-dir")

	beside := launch(t, t.TempDir(), "--source", "demo:?past=0&tokens=20&seed=5&tps=20", "--rooms", "ingest,gateway", "--rpc-upstream", wrongURL)
	require.EqualValues(t, 1, beside.metric("mintlake_rpc_upstream_other_chain"))
	require.Zero(t, beside.stop())
}

// requireFillingAsks: neither a bootstrap nor an import fills a registry of chain 1 with chain 2;
// that of chain 2 takes its own.
func requireFillingAsks(t *testing.T, first *instance) {
	t.Helper()
	var number atomic.Int32
	number.Store(2)
	url, folder := genesisNode(t, &number), filepath.Join(t.TempDir(), "snapshot")
	second := launch(t, t.TempDir(), "--source", "none", "--rooms", "projector,gateway", "--rpc-upstream", url)
	mustRun(t, exec.Command(binary, "export", "--to", folder, "--clickhouse-dsn", second.addresses["clickhouse"], "--kafka-brokers", second.addresses["kafka"]))
	importing := []string{"import", "--from", folder, "--insecure"}
	for _, args := range [][]string{{"bootstrap", "rpc", "--rpc-upstream", url}, importing} {
		out, err := first.command(t.TempDir(), args...).CombinedOutput()
		require.Error(t, err, args)
		for _, hash := range [][32]byte{{1}, {2}} {
			require.Contains(t, string(out), base58.Encode(hash[:]), args)
		}
		require.Contains(t, string(out), "--data-dir", "the way on")
		require.NotContains(t, string(out), "http://", "no URL, which may hold a key")
	}
	mustRun(t, second.command(t.TempDir(), importing...))
	require.Zero(t, second.stop())
}

// TestTheDemoStaysOneChain: also when its settings change. Without the file that remembers it the
// chain is another one, which is refused, and a damaged file is named.
func TestTheDemoStaysOneChain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(tps string) []string {
		return []string{"--source", "demo:?past=0&tokens=20&seed=5&tps=" + tps, "--rooms", "ingest,gateway"}
	}
	for _, tps := range []string{"20", "20", "40"} {
		require.Zero(t, launch(t, dir, start(tps)...).stop(), tps)
	}
	state := filepath.Join(dir, "demo.json")
	text, err := os.ReadFile(state)
	require.NoError(t, err)
	require.NoError(t, os.Truncate(state, int64(len(text)/2)))
	up := launch(t, dir, start("40")...)
	require.Zero(t, up.stop(), "what is damaged is made anew of the log")
	require.Contains(t, up.log(), state)
	require.Contains(t, up.log(), "damaged")
	text, err = os.ReadFile(state)
	require.NoError(t, err)

	require.NoError(t, os.Remove(state))
	line := fails(t, dir, nil, start("40")...)
	require.Contains(t, line, "genesis")
	require.Contains(t, line, "--data-dir", "the way on")

	require.NoError(t, os.WriteFile(state, text, 0o600))
	require.Zero(t, launch(t, dir, start("40")...).stop(), "the file was restored")
}
