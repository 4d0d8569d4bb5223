package keys

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func store(t *testing.T, entries ...Entry) *Static {
	t.Helper()
	s, err := NewStatic(entries...)
	require.NoError(t, err)
	return s
}

func TestAKeyOpensItsProductOnly(t *testing.T) {
	rpcKey, rpcHash := Generate(RPC)
	swapKey, swapHash := Generate(Swap)
	require.True(t, strings.HasPrefix(rpcKey, "ml_rpc_"))
	require.True(t, strings.HasPrefix(swapKey, "ml_swap_"))
	both := store(t, Entry{"alice", RPC, rpcHash}, Entry{"bob", Swap, swapHash})
	rpc, err := NewGate(both, RPC, "0.0.0.0:1", "--rpc-keys")
	require.NoError(t, err)
	swap, err := NewGate(both, Swap, "0.0.0.0:1", "--swap-keys")
	require.NoError(t, err)

	pass, refused := rpc.Admit(Request{Key: rpcKey})
	require.Nil(t, refused)
	require.Equal(t, "alice", pass.ID())
	pass, refused = swap.Admit(Request{Key: swapKey})
	require.Nil(t, refused)
	require.Equal(t, "bob", pass.ID())

	for _, wrong := range []string{"", "x", swapKey, rpcKey + "x", rpcKey[:len(rpcKey)-1], rpcHash.String(), strings.Repeat("x", 1<<20)} {
		_, refused = rpc.Admit(Request{Key: wrong})
		require.NotNil(t, refused, "%.80s", wrong)
		require.Equal(t, http.StatusUnauthorized, refused.Status)
		require.Equal(t, -32401, refused.RPCCode())
	}
	_, refused = swap.Admit(Request{Key: rpcKey})
	require.Equal(t, RuleUnknown, refused.Rule)
}

func TestKeysAreDifferentAndLong(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		key, hash := Generate(RPC)
		require.False(t, seen[key])
		seen[key] = true
		require.Equal(t, HashOf(key), hash)
		require.Greater(t, len(key), 40)
	}
}

func TestConfiguredKeysAreChecked(t *testing.T) {
	_, hash := Generate(RPC)
	entries, err := ParseEntries(RPC, []string{"a:" + hash.String(), " b-1.x_:" + strings.ToUpper(HashOf("b").String())})
	require.NoError(t, err)
	require.Equal(t, []Entry{{"a", RPC, hash}, {"b-1.x_", RPC, HashOf("b")}}, entries)

	_, err = ParseEntries(Swap, []string{"a", "b:12", ":" + hash.String(), "ml_swap_inTheClear", "ml_swap_inTheClearToo:name"})
	require.ErrorContains(t, err, "swap key 1: must be NAME:SHA256")
	require.ErrorContains(t, err, `swap key 2: must be a SHA-256`)
	require.ErrorContains(t, err, "swap key 3")
	require.ErrorContains(t, err, "swap key 5")
	require.NotContains(t, err.Error(), "inTheClear")

	for what, list := range map[string][]Entry{
		"occurs twice":  {{"a", RPC, hash}, {"a", RPC, HashOf("x")}},
		"same hash":     {{"a", RPC, hash}, {"b", RPC, hash}},
		"must be rpc":   {{"a", "nft", hash}},
		"the name must": {{"a b", RPC, hash}},
		"empty string":  {{"a", RPC, HashOf("")}},
	} {
		_, err := NewStatic(list...)
		require.ErrorContains(t, err, what)
	}
	_, err = NewStatic(Entry{"a", RPC, hash}, Entry{"a", Swap, HashOf("x")})
	require.NoError(t, err, "one name, two products")
}

func TestASurfaceWithoutKeysOpensOnLoopbackOnly(t *testing.T) {
	empty := store(t, Entry{"other", Swap, HashOf("x")})
	for _, addr := range []string{"127.0.0.1:0", "localhost:1", "[::1]:1", "127.8.9.1:1"} {
		g, err := NewGate(empty, RPC, addr, "--rpc-keys")
		require.NoError(t, err, addr)
		require.True(t, g.Open())
		pass, refused := g.Admit(Request{})
		require.Nil(t, refused)
		require.Equal(t, OpenID, pass.ID())
	}
	for _, addr := range []string{"0.0.0.0:1", ":1", "[::]:1", "10.0.0.1:1", "mintlake.example:1"} {
		_, err := NewGate(empty, RPC, addr, "--rpc-keys")
		require.ErrorContains(t, err, "mintlake keys new rpc", addr)
		require.ErrorContains(t, err, "--rpc-keys", addr)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := NewGate(empty, RPC, "nonsense", "")
	require.ErrorContains(t, err, "host:port")

	key, hash := Generate(RPC)
	g, err := NewGate(store(t, Entry{"a", RPC, hash}), RPC, "0.0.0.0:1", "--rpc-keys")
	require.NoError(t, err)
	require.False(t, g.Open())
	_, refused := g.Admit(Request{})
	require.Equal(t, RuleMissing, refused.Rule)
	pass, refused := g.Admit(Request{Key: key})
	require.Nil(t, refused)
	require.Equal(t, "a", pass.ID())
	require.True(t, g.AdmitHost("rpc.example"))
}

func TestAnOpenGateAnswersToLoopbackNamesOnly(t *testing.T) {
	g, err := NewGate(store(t), RPC, "127.0.0.1:8899", "")
	require.NoError(t, err)
	for host, want := range map[string]bool{
		"127.0.0.1:8899": true, "localhost": true, "LOCALHOST:1": true, "[::1]:8899": true, "[::1]": true,
		"evil.example": false, "evil.example:8899": false, "localhost.evil.example": false, "": false, "10.0.0.1": false,
	} {
		require.Equal(t, want, g.AdmitHost(host), host)
	}
}
