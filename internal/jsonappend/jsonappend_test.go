package jsonappend_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/mintlake/mintlake/internal/jsonappend"
	_ "github.com/mintlake/mintlake/internal/testkit/rapidseed"
)

// TestEqualsEncodingJSON: for any list and any number, every byte.
func TestEqualsEncodingJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SliceOf(rapid.String()).Draw(t, "list")
		want, err := json.Marshal(list)
		require.NoError(t, err)
		require.Equal(t, string(want), string(jsonappend.Strings(nil, list)))
		number := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e-6, 9.99e-7, 1e-9, 1e20, 1e21, -1.5e22, math.MaxFloat64})).Draw(t, "number")
		want, err = json.Marshal(number)
		require.NoError(t, err)
		require.Equal(t, string(want), string(jsonappend.Float(nil, &number)))
	})
	require.Equal(t, "null", string(jsonappend.Strings(nil, nil)))
	require.Equal(t, "null", string(jsonappend.Float(nil, nil)))
}

func FuzzString(f *testing.F) {
	f.Add("a\"<\u2028\xff\x00é")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		require.NoError(t, err)
		require.Equal(t, string(want), string(jsonappend.String(nil, s)))
		require.Equal(t, string(want), string(jsonappend.String(nil, []byte(s))))
	})
}
