package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/schemas/openapi"
	"github.com/mintlake/mintlake/web"
)

// The reference shows this node's address and answers, and asks nobody else.
func TestTheReferenceShowsThisNode(t *testing.T) {
	docs := web.Docs()
	testkit.NeedPages(t, docs != nil)
	browser := testkit.Chromium(t)
	document, err := openapi.JSON()
	require.NoError(t, err)
	const mint = "MintOfThisNode111111111111111111111111111111"
	var mu sync.Mutex
	asked := map[string]bool{}
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.Method+" "+r.URL.Path] = true
		mu.Unlock()
		switch {
		case r.URL.Path == "/docs":
			docs.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/explorer/"):
			web.Handler(web.Links{}).ServeHTTP(w, r)
		case r.URL.Path == "/openapi.json":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(document)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"items":[{"mint":"` + mint + `","symbol":"HERE"}],"total":1}`))
		}
	}))
	defer node.Close()
	calls := []string{"GET /tokens", "GET /tokens/" + mint, "GET /tokens/" + mint + "/history", "POST /tokens/batch", "GET /status"}
	missing := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.DeleteFunc(slices.Clone(calls), func(call string) bool { return asked[call] })
	}
	var dom []byte
	var log strings.Builder
	for range 3 { // a browser that does not come so far on a busy machine says nothing about us
		log.Reset()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--window-size=1400,2000",
			"--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--virtual-time-budget=8000", "--dump-dom", node.URL+"/docs")
		cmd.Stderr = &log
		dom, err = cmd.Output()
		cancel()
		if err == nil && len(missing()) == 0 {
			break
		}
	}
	require.NoError(t, err)
	require.Contains(t, string(dom), node.URL, "examples name this server")
	require.Contains(t, string(dom), "Search the registry")
	for _, line := range strings.Split(log.String(), "\n") {
		require.NotContains(t, line, "Content Security Policy", "the page asked for what it may not")
		require.NotContains(t, line, "Uncaught")
	}
	require.Empty(t, missing(), "are asked for their examples")
}
