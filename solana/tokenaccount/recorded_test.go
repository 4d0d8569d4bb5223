package tokenaccount_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/pubkey"
	"github.com/mintlake/mintlake/solana/tokenaccount"
)

// Mint accounts as a node answered them, January 2026.
func TestRecordedMints(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(testkit.Shared(t, "data/pool-accounts"), "get_account_*.json"))
	require.NoError(t, err)
	mints := map[bool]int{}
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		var recorded struct {
			Response struct {
				Owner []byteNumber `json:"owner"`
				Data  []byteNumber `json:"data"`
			} `json:"response"`
		}
		if json.Unmarshal(raw, &recorded) != nil || len(recorded.Response.Owner) != 32 {
			continue
		}
		owner, data := pubkey.Key(bytesOf(recorded.Response.Owner)), bytesOf(recorded.Response.Data)
		if owner != tokenaccount.ProgramToken && owner != tokenaccount.ProgramToken2022 {
			continue
		}
		mint, err := tokenaccount.ParseMint(owner, data)
		require.NoError(t, err, filepath.Base(path))
		for _, extension := range mint.Extensions {
			require.NotContains(t, attributes(extension), "raw", "%s of %s is understood", extension.Name, filepath.Base(path))
		}
		if mint.Program != tokenaccount.ProgramToken2022 {
			require.EqualValues(t, 9, mint.Decimals, "wrapped SOL")
			require.Zero(t, mint.Supply, "which has no supply of its own")
		} else {
			require.EqualValues(t, 6, mint.Decimals)
			require.Positive(t, mint.Supply)
			require.NotNil(t, mint.TokenMetadata)
			require.NotEmpty(t, mint.TokenMetadata.URI)
		}
		mints[mint.Program == tokenaccount.ProgramToken2022]++
	}
	require.Equal(t, map[bool]int{false: 1, true: 1}, mints)
}

// byteNumber is a byte that JSON carries as a number in a list.
type byteNumber uint16

func bytesOf(numbers []byteNumber) []byte {
	out := make([]byte, len(numbers))
	for i, number := range numbers {
		out[i] = byte(number)
	}
	return out
}
