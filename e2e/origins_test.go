package e2e

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
)

// TestPagesReachWhatTheirOperatorAllows: the settings reach the three surfaces, each its own.
func TestPagesReachWhatTheirOperatorAllows(t *testing.T) {
	t.Parallel()
	up := launch(t, t.TempDir(), "--source", "none", "--rooms", "gateway,swap", "--rpc-allowed-origins", "https://rpc.example",
		"--swap-allowed-origins", "https://swap.example", "--stream-allowed-origins", "https://stream.example,http://localhost:*")
	preflight := func(address, origin string) http.Header {
		req, err := http.NewRequest(http.MethodOptions, address, nil)
		require.NoError(t, err)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "content-type,x-api-key")
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusNoContent, resp.StatusCode)
		require.Equal(t, "Origin", resp.Header.Get("Vary"))
		return resp.Header
	}
	for surface, path := range map[string]string{"rpc": "/", "swap": "/api/v2/quote"} {
		own := "https://" + surface + ".example"
		h := preflight(up.addresses[surface]+path, own)
		require.Equal(t, own, h.Get("Access-Control-Allow-Origin"))
		require.Contains(t, h.Get("Access-Control-Allow-Headers"), "X-API-KEY")
		require.Empty(t, preflight(up.addresses[surface]+path, "https://stream.example").Get("Access-Control-Allow-Origin"))
	}
	for origin, ok := range map[string]bool{"https://stream.example": true, "http://localhost:3000": true, "http://stream.example": false, "https://rpc.example": false} {
		conn, resp, err := websocket.Dial(t.Context(), strings.Replace(up.addresses["stream"], "http", "ws", 1), &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
		require.Equal(t, ok, err == nil, origin)
		if err != nil {
			require.Equal(t, http.StatusForbidden, resp.StatusCode)
			continue
		}
		_ = conn.CloseNow()
	}
}

// originsPage calls every surface and writes what came of it into the document.
const originsPage = `<script>
const say = (name, what) => document.body.setAttribute("data-" + name, what)
onload = () => {
  const call = {method: "POST", headers: {"Content-Type": "application/json", "X-API-KEY": "k"}, body: '{"jsonrpc":"2.0","id":1,"method":"getHealth"}'}
  fetch("%s", call).then(r => say("rpc", "read"), () => say("rpc", "kept"))
  fetch("%s/api/v2/quote", {headers: {"X-API-KEY": "k"}}).then(r => say("swap", "read"), () => say("swap", "kept"))
  const ws = new WebSocket("%s")
  ws.onopen = () => say("stream", "read")
  ws.onerror = () => say("stream", "kept")
}
</script><body>`

// TestPagesInABrowser: a real page of an allowed origin reads all three surfaces, one of another
// origin none.
func TestPagesInABrowser(t *testing.T) {
	t.Parallel()
	browser := testkit.Chromium(t)
	up := launch(t, t.TempDir(), "--source", "none", "--rooms", "gateway,swap", "--rpc-allowed-origins", "http://127.0.0.1:*",
		"--swap-allowed-origins", "http://127.0.0.1:*", "--stream-allowed-origins", "http://127.0.0.1:*")
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, originsPage, up.addresses["rpc"], up.addresses["swap"], strings.Replace(up.addresses["stream"], "http", "ws", 1))
	}))
	defer pages.Close()
	surfaces := []string{"rpc", "swap", "stream"}
	for url, want := range map[string]string{pages.URL: "read", strings.Replace(pages.URL, "127.0.0.1", "localhost", 1): "kept"} {
		var dom string
		for range 5 { // a browser that does not come so far on a busy machine says nothing about us
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			out, err := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
				"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", url).Output()
			cancel()
			dom = string(out)
			if err == nil && !slices.ContainsFunc(surfaces, func(surface string) bool { return !strings.Contains(dom, "data-"+surface) }) {
				break
			}
		}
		for _, surface := range surfaces {
			require.Contains(t, dom, `data-`+surface+`="`+want+`"`, "%s: %s", url, dom)
		}
	}
}
