package api_test

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
)

// TestABrowserGetsAPageWhereThereIsNothing: and a program gets an error that it can read.
func TestABrowserGetsAPageWhereThereIsNothing(t *testing.T) {
	const asBrowsersSend = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	log, mint := manyTokens()
	n := startNodeWith(t, log, func(deps *api.Deps) {
		deps.Explorer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!doctype html>the explorer")
		})
	}).awaitReady()
	page := n.do(http.MethodGet, "/nothing", "", "Accept", asBrowsersSend)
	require.Equal(t, http.StatusNotFound, page.StatusCode)
	require.Equal(t, "text/html; charset=utf-8", page.Header.Get("Content-Type"))
	require.Equal(t, "no-store", page.Header.Get("Cache-Control"))
	require.Equal(t, "<!doctype html>the explorer", string(page.body))

	for _, accept := range []string{"", "*/*", "application/json", "application/json, text/html"} {
		r := n.do(http.MethodGet, "/nothing", "", "Accept", accept)
		require.Equal(t, http.StatusNotFound, r.StatusCode, accept)
		require.Equal(t, "application/json", r.Header.Get("Content-Type"), accept)
	}
	// Where there is something, a browser gets that; and another method is no page.
	require.Equal(t, http.StatusOK, n.do(http.MethodGet, "/tokens/"+mint, "", "Accept", asBrowsersSend).StatusCode)
	require.Equal(t, http.StatusMethodNotAllowed, n.do(http.MethodGet, "/tokens/batch/", "", "Accept", asBrowsersSend).StatusCode)
	require.Equal(t, "application/json", n.do(http.MethodPost, "/nothing", "", "Accept", asBrowsersSend).Header.Get("Content-Type"))
}
