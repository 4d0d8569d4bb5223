package swap

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// The swap API tells a key that is missing from one that is unknown, in its own error body.
func TestKeysAreRefusedWithAReason(t *testing.T) {
	f := start(t, Config{}, chain())
	for key, message := range map[string]string{"": "required in the header X-API-KEY", "ml_swap_x": "not valid"} {
		f.key = key
		status, body := f.do(t, http.MethodGet, "/api/v2/quote", "")
		require.Equal(t, http.StatusUnauthorized, status)
		require.Contains(t, string(body), message)
		require.Contains(t, string(body), `"statusCode":401`)
	}
}
