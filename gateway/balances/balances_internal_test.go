package balances

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheTokenGoesThroughNoProxy: a proxy that the environment names would read the token.
func TestTheTokenGoesThroughNoProxy(t *testing.T) {
	s, err := New(Config{API: "http://api.test"}, Deps{})
	require.NoError(t, err)
	require.Nil(t, s.client.Transport.(*http.Transport).Proxy)
}
