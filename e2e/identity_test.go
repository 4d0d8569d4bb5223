package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mr-tron/base58"
	"github.com/stretchr/testify/require"
)

// genesisNode answers getGenesisHash with the number's hash, or, for 0, that it does not know the
// method.
func genesisNode(t *testing.T, number *atomic.Int32) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		hash := [32]byte{byte(number.Load())}
		if call.Method != "getGenesisHash" || hash == [32]byte{} {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, call.ID)
			return
		}
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%q}`, call.ID, base58.Encode(hash[:]))
	}))
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
	require.Zero(t, mute.stop())
	require.Equal(t, 1, strings.Count(mute.log(), "does not tell its genesis hash"))
}

// TestTheDemoStaysOneChain: also when its settings change.
func TestTheDemoStaysOneChain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, tps := range []string{"20", "20", "40"} {
		up := launch(t, dir, "--source", "demo:?tokens=20&seed=5&tps="+tps, "--rooms", "ingest,gateway")
		require.Zero(t, up.stop(), tps)
	}
}
