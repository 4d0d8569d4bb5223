package demo

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/testworld/chain"
)

// TestTheNodeSignsItsTokenList, which has the tokens of genesis and no copy of them, and is the
// same after a restart.
func TestTheNodeSignsItsTokenList(t *testing.T) {
	cfg := Config{Seed: 4, TPS: 10, Tokens: 60, Wallets: 32, Manual: true, Past: time.Hour, publicBaseURL: "http://demo.test", StartSlot: 2000}
	n := start(t, cfg)
	require.NoError(t, n.Step(20))
	get := func(path string) []byte {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.RPCURL()+path, nil)
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		return body
	}
	file, signature, signer := n.TokenList()
	require.Equal(t, file, get("tokenlist.json"))
	require.Equal(t, signature, get("tokenlist.json.sig"))
	raw, err := base64.StdEncoding.DecodeString(string(signature))
	require.NoError(t, err)
	require.True(t, ed25519.Verify(signer, file, raw))
	var list struct {
		Name, Timestamp string
		Tokens          []struct {
			Address, Symbol, Name, LogoURI string
			Decimals                       uint8
			Tags                           []string
		}
	}
	require.NoError(t, json.Unmarshal(file, &list))
	require.Equal(t, ListName, list.Name)
	at, err := time.Parse(time.RFC3339, list.Timestamp)
	require.NoError(t, err)
	require.Equal(t, n.gen.BlockTime(1940), at.Unix())
	require.Len(t, list.Tokens, 24)
	for i, token := range list.Tokens {
		mint := pubkey.MustParse(token.Address)
		require.Equal(t, token.Symbol, n.gen.Major(mint))
		require.Equal(t, []string{"verified"}, token.Tags)
		require.Contains(t, token.LogoURI, "http://demo.test/logo/"+token.Address)
		if i == 0 {
			require.Equal(t, chain.NativeMint, mint)
			require.EqualValues(t, 9, token.Decimals)
		}
	}
	again := cfg
	again.GenesisSlot, again.StartSlot = 1940, 2020
	same, _, _ := start(t, again).TokenList()
	require.Equal(t, file, same)
}
