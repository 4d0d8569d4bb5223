package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

// domOf opens a page in a headless browser and returns its document after scripts have had their
// time.
func domOf(t *testing.T, browser, url string) string {
	t.Helper()
	var out []byte
	var err error
	for range 3 { // a browser that does not start on a busy machine says nothing about us
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		cmd := exec.CommandContext(ctx, browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
			"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", url)
		out, err = cmd.Output()
		cancel()
		if err == nil && len(out) > 0 {
			break
		}
	}
	require.NoError(t, err)
	return string(out)
}

// hostileSVG tries every way of running something or reaching somebody.
const hostileSVG = `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="40" height="40"
  onload="document.documentElement.setAttribute('data-ran','onload')">
  <style>@import url("%[1]s/import.css"); rect { fill: url("%[1]s/fill.svg#a") }</style>
  <script>document.documentElement.setAttribute("data-ran", "script"); fetch("%[1]s/fetch"); new Image().src = "%[1]s/image"</script>
  <rect width="40" height="40"/><image href="%[1]s/picture.png" width="9" height="9"/><use href="%[1]s/use.svg#a"/>
  <foreignObject width="40" height="40"><body xmlns="http://www.w3.org/1999/xhtml" onpageshow="document.documentElement.setAttribute('data-ran','x')">
    <iframe src="%[1]s/frame.html"></iframe></body></foreignObject>
  <animate attributeName="href" values="javascript:document.documentElement.setAttribute('data-ran','animate')"/>
</svg>`

func TestInARealBrowser(t *testing.T) {
	browser := testkit.Chromium(t)
	var reached atomic.Int64
	var clean atomic.Pointer[[]byte]
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/control.svg" {
			w.Header().Set("Content-Type", "image/svg+xml")
			fmt.Fprintf(w, hostileSVG, "http://"+r.Host)
			return
		}
		if body := clean.Load(); r.URL.Path == "/clean.svg" && body != nil {
			w.Header().Set("Content-Type", "image/svg+xml")
			_, _ = w.Write(*body)
			return
		}
		if r.URL.Path != "/favicon.ico" { // the browser's own doing
			reached.Add(1)
		}
	}))
	defer evil.Close()
	g, log := newGallery(t), apitest.NewLog()
	hostile := logo(log, 1, g.set("/x.svg", fmt.Appendf(nil, hostileSVG, evil.URL)))
	picture := logo(log, 2, g.set("/a.png", checkered(64, 1)))
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	given := n.awaitPicture(hostile).body
	clean.Store(&given)
	n.awaitPicture(picture)
	base := "http://" + n.Addr() + "/img/"

	// Without our headers the drawing does run: so the browser would show it if it did.
	require.Regexp(t, `<svg[^>]* data-ran="`, domOf(t, browser, evil.URL+"/control.svg"))
	require.Positive(t, reached.Swap(0))

	// What the node gives does not run without them either.
	dom := domOf(t, browser, evil.URL+"/clean.svg")
	require.Contains(t, dom, "<rect", "it is the drawing that was opened")
	require.NotContains(t, dom, "data-ran", "nothing ran")
	require.Zero(t, reached.Load(), "nobody was reached")

	dom = domOf(t, browser, base+hostile)
	require.Contains(t, dom, "<rect", "it is the drawing that was opened")
	require.NotRegexp(t, `<svg[^>]* data-ran="`, dom, "nothing ran")
	require.Zero(t, reached.Load(), "nobody was reached")

	// A page of another origin, and one that isolates itself, shows both, and may read the status.
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<body><script>
			for (const mint of ["%s", "%s"]) {
				const image = new Image();
				image.onload = () => document.body.dataset["w" + image.naturalWidth] = "shown";
				image.src = "%s" + mint;
			}
			fetch("%s%s").then(r => document.body.dataset.status = r.headers.get("X-Logo-Status"));
		</script></body>`, hostile, picture, base, base, picture)
	}))
	defer page.Close()
	dom = domOf(t, browser, page.URL)
	require.Contains(t, dom, `data-w64="shown"`)
	require.Contains(t, dom, `data-w40="shown"`, "as an image the drawing shows, and runs nothing either")
	require.Contains(t, dom, `data-status="unchecked"`)
	require.Zero(t, reached.Load())
}
