package swap

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// TestQuotesAreEncodedAsEncodingJSONDoes: every byte, for quotes with anything in their fields. A
// field that is forgotten in appendJSON is found here.
func TestQuotesAreEncodedAsEncodingJSONDoes(t *testing.T) {
	responses := rapid.Make[Response]()
	rapid.Check(t, func(t *rapid.T) {
		r := responses.Draw(t, "response")
		r.Transaction, r.Simulation = nil, nil
		want, err := json.Marshal(&r)
		require.NoError(t, err)
		require.Equal(t, string(want), string(r.appendJSON(nil)))
	})
	var empty Response
	want, err := json.Marshal(&empty)
	require.NoError(t, err)
	require.Equal(t, string(want), string(empty.appendJSON(nil)), "lists that are nil are null")
}
