package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

// TestHostsOfALoopbackAddress: a web page whose own name was pointed at 127.0.0.1 must not read the
// node.
func TestHostsOfALoopbackAddress(t *testing.T) {
	n := startNode(t, apitest.NewLog(), func(c *api.Config) { c.AllowedHosts = []string{"registry.example"} })
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "registry.example": 200, "evil.example": 403, "127.0.0.1.evil.example": 403} {
		for _, path := range []string{"/healthz", "/tokens?q=a"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+n.Addr()+path, nil)
			require.NoError(t, err)
			r.Host = host
			response, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			if want == 403 || path == "/healthz" {
				require.Equal(t, want, response.StatusCode, host+path)
			} else {
				require.NotEqual(t, 403, response.StatusCode, host+path)
			}
		}
	}
}
