package listen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestATakenPortSaysWhatToDo(t *testing.T) {
	first, err := TCP(t.Context(), "127.0.0.1:0", "--x-addr")
	require.NoError(t, err)
	defer first.Close()
	_, err = TCP(t.Context(), first.Addr().String(), "--x-addr")
	require.ErrorContains(t, err, "is taken")
	require.ErrorContains(t, err, "--x-addr")
	require.NotContains(t, err.Error(), "\n")
	_, err = TCP(t.Context(), "256.0.0.1:0", "--x-addr")
	require.ErrorContains(t, err, "--x-addr")
}

func TestDialable(t *testing.T) {
	for addr, want := range map[string]string{
		"127.0.0.1:80": "127.0.0.1:80", "0.0.0.0:80": "127.0.0.1:80", ":80": "127.0.0.1:80", "[::]:80": "[::1]:80", "10.1.2.3:80": "10.1.2.3:80", "host:80": "host:80",
	} {
		require.Equal(t, want, Dialable(addr), addr)
	}
}
