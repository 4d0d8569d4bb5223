package api_test

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/logos/blobs"
	"github.com/mintlake/mintlake/logos/decoder"
	"github.com/mintlake/mintlake/logos/fetch"
	"github.com/mintlake/mintlake/logos/imageload"
	"github.com/mintlake/mintlake/logos/picture"
	"github.com/mintlake/mintlake/schemas"
	"github.com/mintlake/mintlake/schemas/eventspb"
	"github.com/mintlake/mintlake/schemas/pubkey"
)

const scripted = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" fill="red"/><script>window.ran = true</script></svg>`

func checkered(size int, seed byte) []byte {
	picture := image.NewRGBA(image.Rect(0, 0, size, size))
	for y := range size {
		for x := range size {
			picture.Set(x, y, color.RGBA{byte(x * 255 / size), byte(y * 255 / size), seed * byte((x*8/size+y*8/size)%2), 255})
		}
	}
	var out bytes.Buffer
	_ = png.Encode(&out, picture)
	return out.Bytes()
}

// gallery is a web of images, and what an API node needs to fetch them.
type gallery struct {
	server *httptest.Server
	dir    string
	mu     sync.Mutex
	pages  map[string][]byte // nil: 404
	counts map[string]int
	hold   chan struct{} // not nil: answers wait for it
	// shut ends the store that was supplied last, as the end of a process does: what it holds is on
	// disk then.
	shut func()
}

func newGallery(t testing.TB) *gallery {
	g := &gallery{dir: t.TempDir(), pages: map[string][]byte{}, counts: map[string]int{}}
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.counts[r.URL.Path]++
		body, hold := g.pages[r.URL.Path], g.hold
		g.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		if body == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(g.server.Close)
	return g
}

func (g *gallery) set(path string, body []byte) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pages[path] = body
	return g.server.URL + path
}

func (g *gallery) count(path string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counts[path]
}

// supply gives a node a fetcher and a store in the gallery's folder.
func (g *gallery) supply(t testing.TB) func(*api.Deps) {
	return func(deps *api.Deps) {
		fetcher, err := fetch.New(fetch.Config{AllowPrivate: []string{g.server.Listener.Addr().String()}}, fetch.Deps{})
		require.NoError(t, err)
		store, err := blobs.New(blobs.Config{Dir: g.dir}, blobs.Deps{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		require.NoError(t, store.Open())
		go func() { done <- store.Run(ctx) }()
		g.shut = sync.OnceFunc(func() {
			cancel()
			require.NoError(t, <-done)
		})
		t.Cleanup(g.shut)
		pool, err := decoder.New(decoder.Config{}, decoder.Deps{})
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		loader, err := imageload.New(imageload.Config{}, imageload.Deps{Fetcher: fetcher, Decoder: pool, Store: store})
		require.NoError(t, err)
		deps.Images, deps.ImageStore = loader, store
	}
}

// logo makes a token whose image is at url.
func logo(log *apitest.Log, i int, url string) string {
	mint := log.Token(i, 10, "SYM", "Name", time.Now())
	log.Message(schemas.TopicEnrichments, mint, &eventspb.Enrichment{Mint: apitest.Mint(i), Slot: 10, Fact: &eventspb.Enrichment_Offchain{
		Offchain: &eventspb.OffchainMetadata{Uri: []byte("https://example.org/x.json"), Image: url},
	}}, time.Now())
	return mint
}

// checked writes what enrichment found.
func checked(log *apitest.Log, i int, check uint64, found *eventspb.Logo, body []byte) {
	if found.Check = check; body != nil {
		key := blobs.KeyOf(body)
		found.ContentHash = key[:]
		info, _ := picture.Inspect(body, picture.Limits{})
		found.ContentType, found.PerceptualHash = info.Type, info.PerceptualHash
	}
	log.Message(schemas.TopicEnrichments, apitest.Address(apitest.Mint(i)), &eventspb.Enrichment{
		Mint: apitest.Mint(i), Slot: 10, Fact: &eventspb.Enrichment_Logo{Logo: found},
	}, time.Now())
}

func (n *node) awaitStatus(mint, status string) response {
	n.t.Helper()
	var last response
	require.Eventually(n.t, func() bool {
		last = n.get("/img/" + mint)
		return last.Header.Get("X-Logo-Status") == status
	}, hang, 2*time.Millisecond, status)
	return last
}

// awaitPicture asks until the picture came in the time that a request waits for it, which a busy
// machine may exceed.
func (n *node) awaitPicture(path string) response {
	n.t.Helper()
	var last response
	require.Eventually(n.t, func() bool {
		last = n.get("/img/" + path)
		return !strings.Contains(string(last.body), "<title>Unknown</title>")
	}, hang, 2*time.Millisecond, path)
	return last
}

func TestImageOfAToken(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	body := checkered(300, 200)
	url := g.set("/a.png", body)
	mint := logo(log, 1, url)
	bare := log.Token(2, 10, "BARE", "Without", time.Now())
	n := startNodeWith(t, log, g.supply(t)).awaitReady()

	first := n.awaitPicture(mint)
	require.Equal(t, []string{"image/png", "unchecked"}, []string{first.Header.Get("Content-Type"), first.Header.Get("X-Logo-Status")})
	require.Equal(t, body, first.body)
	require.Contains(t, first.Header.Get("Cache-Control"), "max-age=3600")
	require.Equal(t, "cross-origin", first.Header.Get("Cross-Origin-Resource-Policy"))
	require.Contains(t, first.Header.Get("Access-Control-Expose-Headers"), "X-Logo-Status")
	again := n.do(http.MethodGet, "/img/"+mint, "", "If-None-Match", first.Header.Get("ETag"))
	require.Equal(t, 304, again.StatusCode)
	require.Equal(t, 1, g.count("/a.png"), "asked for once")

	checked(log, 1, 1, &eventspb.Logo{Url: url, Status: eventspb.LogoStatus_LOGO_STATUS_OK}, body)
	require.Contains(t, n.awaitStatus(mint, "ok").Header.Get("Cache-Control"), "stale-while-revalidate")

	small := n.awaitPicture(mint + "?size=100&format=webp")
	require.Equal(t, "image/webp", small.Header.Get("Content-Type"))
	info, err := picture.Inspect(small.body, picture.Limits{})
	require.NoError(t, err)
	require.Equal(t, 128, info.Width, "the next of the sizes that there are")
	require.NotEqual(t, first.Header.Get("ETag"), small.Header.Get("ETag"))
	require.Equal(t, body, n.awaitPicture(mint+"?size=huge&format=exe").body, "what is no use is passed over")

	missing := n.get("/img/" + bare)
	require.Equal(t, []string{"image/svg+xml", "missing"}, []string{missing.Header.Get("Content-Type"), missing.Header.Get("X-Logo-Status")})
	unknown := n.get("/img/" + apitest.Address(apitest.Mint(77)))
	require.Equal(t, "unknown", unknown.Header.Get("X-Logo-Status"))

	// The next life of the node has it on disk.
	n.stop()
	g.shut()
	g.set("/a.png", nil)
	next := startNodeWith(t, log, g.supply(t)).awaitReady()
	require.Equal(t, body, next.awaitPicture(mint).body)
	require.Equal(t, 1, g.count("/a.png"))
}

// TestCachesOfImages: what a cache may key an image by. Only size and format choose another one;
// each has its own ETag; a range, another header or an unknown argument changes nothing.
func TestCachesOfImages(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	body := checkered(300, 200)
	mint := logo(log, 1, g.set("/a.png", body))
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	n.awaitPicture(mint)
	tags := map[string]string{}
	for _, query := range []string{"", "?size=32", "?size=48", "?size=512", "?format=webp", "?size=32&format=webp", "?format=png&size=48"} {
		first := n.awaitPicture(mint + query)
		tags[query] = first.Header.Get("ETag")
		require.Regexp(t, `^"[^"]+"$`, tags[query])
		for other, tag := range tags {
			if tag == tags[query] {
				require.Equal(t, first.body, n.awaitPicture(mint+other).body, "%q has the ETag of %q", query, other)
			}
		}
		for _, known := range []string{tags[query], "W/" + tags[query], "*", `"other", ` + tags[query]} {
			again := n.do(http.MethodGet, "/img/"+mint+query, "", "If-None-Match", known)
			require.Equal(t, []any{304, 0, tags[query]}, []any{again.StatusCode, len(again.body), again.Header.Get("ETag")}, "%q %s", query, known)
		}
		for _, other := range []string{`"other"`, tags[query][1:], strings.Repeat(`"x",`, 500), `"`, "W/"} {
			require.Equal(t, 200, n.do(http.MethodGet, "/img/"+mint+query, "", "If-None-Match", other).StatusCode, other)
		}
	}
	for same, as := range map[string]string{
		"?size=33": "?size=48", "?size=1": "?size=32", "?size=99999": "?size=512", "?size=0": "", "?size=-5": "", "?size=1e9": "", "?size=32&size=512": "?size=32", "?cachebust=1": "",
		"?format=": "", "?format=../../etc": "", "?SIZE=32": "", "?size=32%00": "", "?v=%f0%28": "", "?" + strings.Repeat("a=b&", 200): "",
	} {
		require.Equal(t, tags[as], n.awaitPicture(mint+same).Header.Get("ETag"), same)
	}
	for _, headers := range [][]string{
		{"Range", "bytes=0-0"}, {"Range", "bytes=-1"}, {"Range", "bytes=5-1"}, {"Range", "bytes=0-18446744073709551615"}, {"Range", "bytes=" + strings.Repeat("0-1,", 1000)},
		{"Range", "lines=1-2"}, {"If-Range", `"x"`, "Range", "bytes=0-9"}, {"Accept", "image/webp"}, {"Accept-Encoding", "br, gzip"}, {"X-Forwarded-Host", "evil.test"}, {"Cookie", "a=b"},
		{"If-Modified-Since", "Thu, 01 Jan 2099 00:00:00 GMT"}, {"X-Original-URL", "/admin"},
	} {
		r := n.do(http.MethodGet, "/img/"+mint, "", headers...)
		require.Equal(t, []any{200, body, tags[""]}, []any{r.StatusCode, r.body, r.Header.Get("ETag")}, headers[0])
		require.Empty(t, r.Header.Get("Content-Range"))
		require.Empty(t, r.Header.Get("Set-Cookie"))
	}
	require.Equal(t, 1, g.count("/a.png"), "none of it is another fetch")
}

// What takes long is not waited for: the fallback comes while the server still holds its answer
// back.
func TestASlowImageIsNotWaitedFor(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	g.hold = make(chan struct{})
	mint := logo(log, 1, g.set("/slow.png", checkered(64, 1)))
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	for range 3 {
		r := n.get("/img/" + mint)
		require.Equal(t, 200, r.StatusCode)
		require.Contains(t, string(r.body), "<title>Unknown</title>")
		require.Equal(t, "public, max-age=10", r.Header.Get("Cache-Control"))
	}
	close(g.hold)
	require.Eventually(t, func() bool { return n.get("/img/"+mint).Header.Get("Content-Type") == "image/png" }, hang, 5*time.Millisecond)
	require.Equal(t, 1, g.count("/slow.png"))
}

func TestABrokenLogo(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	was := checkered(64, 1)
	url := g.set("/a.png", was)
	mint := logo(log, 1, url)
	never := logo(log, 2, g.set("/never.png", nil))
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	require.Equal(t, was, n.awaitPicture(mint).body)
	n.get("/img/" + never)
	require.Eventually(t, func() bool { return g.count("/never.png") == 1 }, hang, time.Millisecond)

	g.set("/a.png", nil)
	checked(log, 1, 1, &eventspb.Logo{Url: url, Status: eventspb.LogoStatus_LOGO_STATUS_BROKEN}, was)
	require.Equal(t, was, n.awaitStatus(mint, "broken").body, "the last good bytes are kept")

	checked(log, 2, 1, &eventspb.Logo{Url: g.server.URL + "/never.png", Status: eventspb.LogoStatus_LOGO_STATUS_BROKEN}, nil)
	r := n.awaitStatus(never, "broken")
	require.Contains(t, string(r.body), "<title>Unknown</title>")
	before := g.count("/never.png")
	for range 5 {
		n.get("/img/" + never)
	}
	require.Equal(t, before, g.count("/never.png"), "enrichment looks again, not every request")
}

func TestOperatorsDecideWhatIsShown(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	own, ours := checkered(64, 1), checkered(64, 99)
	url, better := g.set("/own.png", own), g.set("/ours.png", ours)
	mint := logo(log, 1, url)
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	decide := func(decision *eventspb.LogoOverride) {
		log.Message(schemas.TopicEnrichments, mint, &eventspb.Enrichment{Mint: apitest.Mint(1), Fact: &eventspb.Enrichment_LogoOverride{LogoOverride: decision}}, time.Now())
	}
	shows := func(body []byte) {
		t.Helper()
		require.Eventually(t, func() bool { return bytes.Equal(body, n.get("/img/"+mint).body) }, hang, 2*time.Millisecond)
	}
	shows(own)
	decide(&eventspb.LogoOverride{Version: 1, Url: better})
	shows(ours)
	decide(&eventspb.LogoOverride{Version: 2, None: true})
	require.Contains(t, string(n.awaitStatus(mint, "missing").body), "<title>Unknown</title>")
	decide(&eventspb.LogoOverride{Version: 3})
	shows(own)

	// The picture behind the URL was replaced; a purge has it fetched anew, on every node.
	replaced := checkered(64, 7)
	g.set("/own.png", replaced)
	checked(log, 1, 1, &eventspb.Logo{Url: url, Status: eventspb.LogoStatus_LOGO_STATUS_OK}, own)
	require.Equal(t, own, n.awaitStatus(mint, "ok").body)
	time.Sleep(2 * time.Second) // when a name was fetched is known to the second
	purge := uint64(time.Now().UnixMilli())
	decide(&eventspb.LogoOverride{Version: purge, Purge: purge})
	shows(replaced)
}

func TestSVGIsServedInASandbox(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	mint := logo(log, 1, g.set("/x.png", []byte(scripted))) // its name is a lie
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	r := n.awaitPicture(mint + "?size=64&format=png")
	require.Equal(t, `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><rect width="20" height="20" fill="red"/></svg>`, string(r.body),
		"a drawing scales by itself, and comes clean")
	require.Equal(t, "image/svg+xml", r.Header.Get("Content-Type"))
	require.Equal(t, "nosniff", r.Header.Get("X-Content-Type-Options"))
	policy := r.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "sandbox")
	require.Contains(t, policy, "default-src 'none'")
	require.NotContains(t, policy, "script-src")
}

func TestCopiedLogos(t *testing.T) {
	g, log := newGallery(t), apitest.NewLog()
	body := checkered(64, 1)
	for i := 1; i <= 3; i++ {
		logo(log, i, g.set("/a.png", body))
	}
	n := startNodeWith(t, log, g.supply(t)).awaitReady()
	for i := 1; i <= 3; i++ {
		found := &eventspb.Logo{Url: g.server.URL + "/a.png", Status: eventspb.LogoStatus_LOGO_STATUS_OK}
		checked(log, i, 1, found, body)
	}
	require.Eventually(t, func() bool { return n.SimilarLogos(pubkey.Key(apitest.Mint(1))) == 3 }, hang, time.Millisecond)
	copied := 0
	for i := 1; i <= 3; i++ {
		if n.CopiedLogo(pubkey.Key(apitest.Mint(i))) {
			copied++
		}
	}
	require.Equal(t, 2, copied, "one of them was first")
	checked(log, 1, 2, &eventspb.Logo{Url: g.server.URL + "/a.png", Status: eventspb.LogoStatus_LOGO_STATUS_OK}, checkered(64, 250))
	require.Eventually(t, func() bool { return n.SimilarLogos(pubkey.Key(apitest.Mint(2))) == 2 }, hang, time.Millisecond)
}
