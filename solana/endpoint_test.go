package solana

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheHostOfAnEndpointTellsNoKey(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://rpc.example/v2/secret":              "rpc.example",
		"https://rpc.example:8899/?api-key=secret":   "rpc.example:8899",
		"http://user:secret@[::1]:8899/#secret":      "[::1]:8899",
		"https://name.rpc.example/secret?secret#key": "name.rpc.example",
		"http://%zz/secret":                          "",
	} {
		require.Equal(t, want, Host(endpoint))
	}
}
