package api_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/api"
	"github.com/mintlake/mintlake/internal/testkit/apitest"
	"github.com/mintlake/mintlake/schemas"
)

// manyTokens are enough rows for a body that is worth compressing.
func manyTokens() (*apitest.Log, string) {
	log := apitest.NewLog()
	for i := range 30 {
		log.Token(i, uint64(i), fmt.Sprintf("SYM%d", i), fmt.Sprintf("Name of token %d", i), time.Now())
	}
	return log, apitest.Address(apitest.Mint(0))
}

func TestKnownBodiesAreNotSentAgain(t *testing.T) {
	log, mint := manyTokens()
	n := startNode(t, log).awaitReady()
	for _, path := range []string{"/tokens", "/tokens?limit=1", "/tokens/" + mint, "/openapi.json", "/docs"} {
		first := n.get(path)
		require.Equal(t, 200, first.StatusCode)
		tag := first.Header.Get("ETag")
		require.Regexp(t, `^W/"[0-9a-z]+"$`, tag)
		for _, known := range []string{tag, strings.TrimPrefix(tag, "W/"), `"other", ` + tag, "*"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				again := n.do(method, path, "", "If-None-Match", known)
				require.Equal(t, 304, again.StatusCode, "%s %s", path, known)
				require.Empty(t, again.body)
				require.Equal(t, tag, again.Header.Get("ETag"))
				require.Equal(t, first.Header.Get("Cache-Control"), again.Header.Get("Cache-Control"))
				require.Equal(t, "*", again.Header.Get("Access-Control-Allow-Origin"))
			}
		}
		for _, other := range []string{`"other"`, "", `W/"`, tag[:len(tag)-2] + `"`, "nonsense"} {
			require.Equal(t, 200, n.do(http.MethodGet, path, "", "If-None-Match", other).StatusCode, "%s %s", path, other)
		}
	}
	tag := n.get("/tokens/" + mint).Header.Get("ETag")
	log.Message(schemas.TopicTokenEvents, mint, apitest.Named(apitest.Mint(0), 99, "NEW", "Renamed"), time.Now())
	require.Eventually(t, func() bool {
		return n.do(http.MethodGet, "/tokens/"+mint, "", "If-None-Match", tag).StatusCode == http.StatusOK
	}, hang, 10*time.Millisecond, "what changed is sent")

	other := startNode(t, log).awaitReady()
	require.Equal(t, n.get("/tokens/"+mint).Header.Get("ETag"), other.get("/tokens/"+mint).Header.Get("ETag"), "nodes agree")
}

func TestWhoMayKeepWhat(t *testing.T) {
	log, mint := manyTokens()
	n := startNode(t, log).awaitReady()
	for path, want := range map[string]string{
		"/tokens": "public, no-cache", "/tokens/" + mint: "public, no-cache", "/docs": "public, max-age=300", "/openapi.json": "public, max-age=300",
		"/status": "no-store", "/status/past": "no-store", "/healthz": "no-store", "/readyz": "no-store", "/tokens?limit=0": "no-store", "/tokens/x": "no-store", "/nothing": "no-store",
	} {
		r := n.get(path)
		require.Equal(t, want, r.Header.Get("Cache-Control"), path)
		require.Equal(t, want != "no-store", r.Header.Get("ETag") != "", path)
	}
	require.Equal(t, "no-store", n.do(http.MethodPost, "/tokens/batch", batchOf(1)).Header.Get("Cache-Control"))
}

func TestCompression(t *testing.T) {
	log, mint := manyTokens()
	n := startNode(t, log).awaitReady()
	plain := n.do(http.MethodGet, "/tokens", "", "Accept-Encoding", "identity")
	require.Empty(t, plain.Header.Get("Content-Encoding"))
	require.Equal(t, "Accept-Encoding", plain.Header.Get("Vary"))
	for accepted, want := range map[string]string{
		"gzip": "gzip", "br": "br", "zstd": "zstd", "gzip, deflate, br, zstd": "zstd", "gzip, br": "br", "GZIP": "gzip", "x-gzip": "gzip",
		"zstd;q=0.5, gzip": "gzip", "zstd;q=0, br;q=0, *": "gzip", "*": "zstd", "*;q=0": "", "deflate": "", "gzip;q=0": "", "gzip;q=nan": "",
		"gzip;q=0.5, identity": "", "identity;q=0.1, br;q=0.2": "br", ";;,,q=": "", "br;q=1.5": "", "gzip ; q=0.8": "gzip",
	} {
		r := n.do(http.MethodGet, "/tokens", "", "Accept-Encoding", accepted)
		require.Equal(t, want, r.Header.Get("Content-Encoding"), accepted)
		require.Equal(t, plain.Header.Get("ETag"), r.Header.Get("ETag"))
		require.Equal(t, string(plain.body), string(decompress(t, want, r.body)), accepted)
		require.Equal(t, "Accept-Encoding", r.Header.Get("Vary"))
		if want != "" {
			require.Less(t, len(r.body), len(plain.body)/2)
		}
		head := n.do(http.MethodHead, "/tokens", "", "Accept-Encoding", accepted)
		require.Equal(t, r.Header.Get("Content-Encoding"), head.Header.Get("Content-Encoding"))
		require.EqualValues(t, len(r.body), head.ContentLength, accepted)
	}
	small := n.do(http.MethodGet, "/tokens/"+mint, "", "Accept-Encoding", "gzip")
	require.Empty(t, small.Header.Get("Content-Encoding"), "a packet is a packet")
	require.Equal(t, "br", n.do(http.MethodPost, "/tokens/batch", batchOf(30), "Accept-Encoding", "br").Header.Get("Content-Encoding"))
	require.Equal(t, "zstd", n.do(http.MethodGet, "/docs", "", "Accept-Encoding", "zstd").Header.Get("Content-Encoding"))
}

// TestCompressedBodiesAreNobodyElses: buffers are used again and again, and each answer is its own,
// whole, while others are sent.
func TestCompressedBodiesAreNobodyElses(t *testing.T) {
	log := apitest.NewLog()
	for i := range 1_000 {
		log.Token(i, uint64(i), fmt.Sprintf("SYM%d", i), fmt.Sprintf("Name %x", sha256.Sum256([]byte{byte(i), byte(i >> 8)})), time.Now())
	}
	n := startNode(t, log).awaitReady()
	var group sync.WaitGroup
	for worker, coding := range []string{"gzip", "br", "zstd", "gzip", "br", "zstd", "gzip", "zstd"} {
		mints := make([]string, 300)
		for i := range mints {
			mints[i] = `"` + address(worker*100+i) + `"`
		}
		asked := `{"mints":[` + strings.Join(mints, ",") + `]}`
		want := n.do(http.MethodPost, "/tokens/batch", asked, "Accept-Encoding", "identity").body
		group.Go(func() {
			for range 20 {
				r := n.do(http.MethodPost, "/tokens/batch", asked, "Accept-Encoding", coding)
				assert.Equal(t, string(want), string(decompress(t, coding, r.body)))
			}
		})
	}
	group.Wait()
}

func decompress(t *testing.T, coding string, body []byte) []byte {
	t.Helper()
	var reader io.Reader = bytes.NewReader(body)
	var err error
	switch coding {
	case "gzip":
		reader, err = gzip.NewReader(reader)
	case "br":
		reader = brotli.NewReader(reader)
	case "zstd":
		var decoder *zstd.Decoder
		decoder, err = zstd.NewReader(reader)
		reader = decoder
		defer decoder.Close()
	}
	require.NoError(t, err)
	plain, err := io.ReadAll(reader)
	require.NoError(t, err)
	return plain
}

// TestHeadSaysTheLength: HEAD has the headers of GET, the length too.
func TestHeadSaysTheLength(t *testing.T) {
	log, mint := manyTokens()
	n := startNode(t, log).awaitReady()
	for _, path := range []string{"/tokens", "/tokens/" + mint, "/tokens/x", "/img/" + mint, "/healthz", "/readyz", "/openapi.json", "/docs"} {
		get, head := n.get(path), n.do(http.MethodHead, path, "")
		for _, name := range []string{"Content-Length", "Content-Type", "ETag", "Cache-Control", "Vary", "Content-Encoding"} {
			// Go's client has taken the coding off
			if name == "Content-Length" && get.Uncompressed {
				continue
			}
			require.Equal(t, get.Header.Get(name), head.Header.Get(name), "%s %s", path, name)
		}
		require.Positive(t, head.ContentLength)
	}
}

func TestRequestIDs(t *testing.T) {
	log, _ := manyTokens()
	n := startNode(t, log).awaitReady()
	for _, own := range []string{"a", "0198b2f4-5a6b-7c8d-9e0f-112233445566", "Root=1-67891233-abcdef012345678912345678", strings.Repeat("x", 128)} {
		require.Equal(t, own, n.do(http.MethodGet, "/tokens", "", "X-Request-ID", own).Header.Get("X-Request-ID"))
		require.Equal(t, own, n.do(http.MethodGet, "/nothing", "", "X-Request-ID", own).Header.Get("X-Request-ID"))
	}
	seen := map[string]bool{}
	for _, bad := range []string{"", "with space", "<script>", "a\"b", "ünï", strings.Repeat("x", 129)} {
		id := n.do(http.MethodGet, "/tokens", "", "X-Request-ID", bad).Header.Get("X-Request-ID")
		require.Regexp(t, `^[0-9a-f]{32}$`, id)
		require.False(t, seen[id])
		seen[id] = true
	}
}

// TestCodedBodiesAreRefused: a few bytes of gzip may stand for gigabytes.
func TestCodedBodiesAreRefused(t *testing.T) {
	log, _ := manyTokens()
	n := startNode(t, log).awaitReady()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, err := w.Write(make([]byte, 8<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Contains(t, n.do(http.MethodPost, "/tokens/batch", bomb.String(), "Content-Encoding", "gzip").refused(t, 415), "content-encoding")
	require.Equal(t, 200, n.do(http.MethodPost, "/tokens/batch", batchOf(1), "Content-Encoding", "identity").StatusCode)
	form := "--x\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\n" + strings.Repeat("x", 1000) + "\r\n--x--\r\n"
	n.do(http.MethodPost, "/tokens/batch", form, "Content-Type", "multipart/form-data; boundary=x").refused(t, 400)
}

// TestDrain: a node that stops says so first, and serves on for a while.
func TestDrain(t *testing.T) {
	log, mint := manyTokens()
	n := startNode(t, log, ownAddress, func(c *api.Config) { c.DrainTime = 50 * time.Millisecond }).awaitReady()
	require.False(t, n.get("/tokens").Close)
	n.BeginDrain()
	n.get("/readyz").refused(t, 503)
	r := n.get("/tokens/" + mint)
	require.Equal(t, 200, r.StatusCode)
	require.True(t, r.Close, "clients are asked to connect elsewhere")
	require.Equal(t, 200, n.get("/healthz").StatusCode)
	log.Message(schemas.TopicTokenEvents, mint, apitest.Named(apitest.Mint(0), 99, "NEW", "Renamed"), time.Now())
	require.Eventually(t, func() bool { return n.get("/tokens/" + mint).decode(t)["symbol"] == "NEW" }, hang, time.Millisecond, "and stays fresh")
	n.stop()
	_, err := net.Dial("tcp", n.Addr())
	require.Error(t, err)
}
