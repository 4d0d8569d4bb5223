package solana

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/solana/txwire"
)

// TestTheHighestVersionIsAskedFor: unless a block's caller says less.
func TestTheHighestVersionIsAskedFor(t *testing.T) {
	var asked []any
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Params []any `json:"params"`
		}
		if json.NewDecoder(r.Body).Decode(&request) == nil {
			asked = append(asked, request.Params[1].(map[string]any)["maxSupportedTransactionVersion"])
		}
		reply(w, `"result":{}`)
	}))
	defer s.Close()
	c := client(t, Config{Endpoints: []string{s.URL}})
	_, err := c.GetBlock(t.Context(), 1, BlockOptions{})
	require.NoError(t, err)
	old := txwire.V0
	_, err = c.GetBlock(t.Context(), 1, BlockOptions{MaxVersion: &old})
	require.NoError(t, err)
	require.Equal(t, []any{float64(txwire.Highest), 0.}, asked)
}

func TestUnsupportedVersion(t *testing.T) {
	const text = "Transaction version (%s) is not supported by the requesting client. Please try the request again with the following configuration parameter"
	for number, want := range map[string]uint8{"1": 1, "2": 2, "255": 255, "256": 0, "-1": 0, "": 0, "99999999999999999999": 0} {
		version, ok := UnsupportedVersion(fmt.Errorf("getBlock: %w", &RPCError{Code: CodeUnsupportedVersion, Message: fmt.Sprintf(text, number)}))
		require.True(t, ok)
		require.Equal(t, want, version, number)
	}
	_, ok := UnsupportedVersion(&RPCError{Code: CodeSlotSkipped, Message: fmt.Sprintf(text, "2")})
	require.False(t, ok)
	_, ok = UnsupportedVersion(errors.New("Transaction version (2)"))
	require.False(t, ok)
	require.False(t, Retryable(&RPCError{Code: CodeUnsupportedVersion}))
}
