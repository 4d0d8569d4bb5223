package cli

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
)

// TestSwapsAreMadeOnTheDemoOnly: there the transaction is signed with the key of the file, and what
// came of it is shown. Elsewhere nothing is asked for, nor is a file read that is no key.
func TestSwapsAreMadeOnTheDemoOnly(t *testing.T) {
	seed := make([]byte, ed25519.SeedSize)
	key := ed25519.NewKeyFromSeed(seed)
	list := make([]int, len(key))
	for i, b := range key {
		list[i] = int(b)
	}
	text, err := json.Marshal(list)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "id.json")
	require.NoError(t, os.WriteFile(file, text, 0o600))

	node := canned(t)
	_, err = call(t, "", "quote", "SOL", "USDC", "1.5", "--swap", file, "--url", node.URL, "--swap-url", node.URL)
	require.ErrorIs(t, err, errNotDemo)

	message := []byte("\x80 a message")
	txn := base64.StdEncoding.EncodeToString(append(append([]byte{1}, make([]byte, ed25519.SignatureSize)...), message...))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"source":{"kind":"demo"}}`)
	})
	mux.HandleFunc("POST /api/v2/swap", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		require.NoError(t, json.NewDecoder(r.Body).Decode(&asked))
		require.Equal(t, pubkey.Key(key[32:]).String(), asked["user_account"])
		fmt.Fprintf(w, `{"amount_in":"1500000000","amount_out":"224683081","txn":%q,"unknown":1}`, txn)
	})
	mux.HandleFunc("POST /api/v2/send", func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Transaction []byte
			Quote       map[string]any
		}
		require.NoError(t, json.NewDecoder(r.Body).Decode(&sent))
		require.True(t, ed25519.Verify(key.Public().(ed25519.PublicKey), message, sent.Transaction[1:65]))
		require.Contains(t, sent.Quote, "unknown", "the answer as it came")
		fmt.Fprint(w, `{"signature":"5h6x","status":"landed","slot":400000123,"err":null,"fee":6980,"amount_in":"1500000000","amount_out":"224683000","slippage_realised_bps":0.36}`)
	})
	mux.HandleFunc("/", node.Config.Handler.ServeHTTP)
	demo := httptest.NewServer(mux)
	t.Cleanup(demo.Close)
	ask := []string{"quote", "SOL", "USDC", "1.5", "--url", demo.URL, "--swap-url", demo.URL, "--swap"}
	shown, err := call(t, "", append(ask, file)...)
	require.NoError(t, err)
	for _, part := range []string{"landed", "5h6x", "224.683", "0.0036 %"} {
		require.Contains(t, shown, part)
	}
	for name, content := range map[string]string{"short": "[1,2]", "wrong": fmt.Sprint(append([]int{9}, list[1:]...)), "text": "x"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := call(t, "", append(ask, path)...)
		require.ErrorContains(t, err, "is no key file")
	}
}
