package solana

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit/unknowntest"
)

// TestUndocumentedCodesAreNoted: each attempt that a server answers with a code that nodes do not
// document counts, and no other.
func TestUndocumentedCodesAreNoted(t *testing.T) {
	codes := []string{"-32099", "-32015", "-32001", "-32022", "-32602", "429", "-32099", "12"}
	s, _ := server(t, func(w http.ResponseWriter, _ string, call int) {
		reply(w, `"error":{"code":`+codes[min(call-1, len(codes)-1)]+`,"message":"the server's text"}`)
	})
	book := unknowntest.New(t)
	c, err := NewClient(Config{Endpoints: []string{s.URL}, MaxAttempts: 1}, Deps{Unknowns: book})
	require.NoError(t, err)
	for range codes {
		require.Error(t, c.Call(t.Context(), "getBlock", nil, nil))
	}
	noted := unknowntest.Noted(t, book)
	require.Len(t, noted, 2)
	found := noted["rpc_error_code/-32099"]
	require.EqualValues(t, 2, found.Count)
	require.Equal(t, "getBlock", found.SamplePlace)
	require.Equal(t, "the server's text", string(found.Sample))
	require.Contains(t, noted, "rpc_error_code/12")
}
