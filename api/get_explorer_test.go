package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
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

// TestALinkToATokenSaysWhatItIs: a chat that shows a link reads the document, and runs no script.
func TestALinkToATokenSaysWhatItIs(t *testing.T) {
	log, mint := manyTokens()
	log.Token(30, 30, `"><script>`, "x</head>\u202e"+strings.Repeat("y", 200), time.Now())
	n := startNodeWith(t, log, func(deps *api.Deps) {
		deps.Explorer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<html><head></head><body></body></html>")
		})
	}).awaitReady()
	page := string(n.get("/token/" + mint).body)
	require.Contains(t, page, `<meta property="og:title" content="SYM0 Name of token 0">`)
	require.Regexp(t, `<meta property="og:image" content="http://[^"]+/img/`+mint+`">`, page)

	hostile := string(n.get("/token/" + apitest.Address(apitest.Mint(30))).body)
	require.Contains(t, hostile, `content="&#34;&gt;&lt;script&gt; x&lt;/head&gt;yyy`)
	require.NotContains(t, hostile, "<script>")
	require.NotContains(t, hostile, "\u202e")
	require.Equal(t, 1, strings.Count(hostile, "</head>"))

	for _, other := range []string{apitest.Address(apitest.Mint(31)), "no%20mint"} {
		require.Equal(t, "<html><head></head><body></body></html>", string(n.get("/token/"+other).body))
	}
}
