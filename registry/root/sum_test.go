package root_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/registry/root"
)

func TestSumRefusesOtherLengths(t *testing.T) {
	var sum root.Sum
	for _, text := range []string{"", "1", "0OIl", "11111111111111111111111111111111111111111111111111"} {
		require.Error(t, sum.UnmarshalText([]byte(text)), text)
	}
	want := new(root.Builder).Root(0).Hash
	text, err := want.MarshalText()
	require.NoError(t, err)
	require.NoError(t, sum.UnmarshalText(text))
	require.Equal(t, want, sum)
}

func FuzzSumText(f *testing.F) {
	f.Add([]byte("6MW6T7yVdBNQDKoDmW7fHDXcYV2fxsDbz7nBtwHxNBEo"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var sum, again root.Sum
		if sum.UnmarshalText(text) == nil {
			require.NoError(t, again.UnmarshalText([]byte(sum.String())))
			require.Equal(t, sum, again)
		}
	})
}
