package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnEmptyListSaysSo: no command answers with nothing at all.
func TestAnEmptyListSaysSo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"items":[],"changes":[],"points":[],"pools":[],"trades":[],"total":0,"limit":20,"next":null,"complete":true}`)
	}))
	t.Cleanup(server.Close)
	for command, want := range map[string]string{
		"tokens search nothing":         "no token matches",
		"tokens trades " + usdc:         "no trade is known",
		"tokens pools " + usdc:          "no pool of it is known",
		"tokens liquidity " + usdc:      "no hour of it is known",
		"tokens history " + usdc:        "nothing of it is known",
		"tokens holders " + usdc:        "no holder of it is known",
		"owners get " + wallet:          "it holds no token that is known",
		"owners accounts " + wallet:     "no token account of it is known",
		"pools liquidity " + poolOfUSDC: "nothing is known to have been put into it or taken out",
		"pools history " + poolOfUSDC:   "no hour of it is known",
	} {
		out, err := call(t, "", append(strings.Fields(command), "--url", server.URL)...)
		require.NoError(t, err, command)
		require.Contains(t, out, want, command)
	}
}
