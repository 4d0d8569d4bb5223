package internaltoken

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyTheTokenIsAdmitted(t *testing.T) {
	token := Generate()
	require.True(t, Valid(token))
	require.NotEqual(t, token, Generate())
	check := NewCheck(token)
	require.True(t, check.Admits(token))
	require.False(t, check.Admits(token+"x"))
	require.False(t, check.Admits(""))
	for _, none := range []Check{{}, NewCheck("")} {
		require.False(t, none.Admits(""))
		require.False(t, none.Admits(token))
	}
	for _, bad := range []string{"", "short", "0123456789 abcdef", "0123456789abcdeé"} {
		require.False(t, Valid(bad), bad)
	}
}
