package web_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/internal/testkit"
	"github.com/mintlake/mintlake/web"
)

func get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	web.Handler(web.Links{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder
}

// built says whether the explorer is in the test's binary; else the placeholder is.
func built(t *testing.T) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join("dist", "index.html"))
	return err == nil
}

// Every file that the page names is there, is its own, and comes under the policy. It holds for the
// placeholder too.
func TestThePageLoadsItsOwnFilesOnly(t *testing.T) {
	page := get(t, "/")
	require.Equal(t, 200, page.Code)
	require.Equal(t, "text/html; charset=utf-8", page.Header().Get("Content-Type"))
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	require.Equal(t, "no-cache", page.Header().Get("Cache-Control"), "the next release must be seen at once")
	require.NotRegexp(t, `<script[^>]*>[^<]`, page.Body.String(), "the policy lets no inline script run")
	references := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	require.NotEmpty(t, references)
	for _, reference := range references {
		path := reference[1]
		require.Regexp(t, `^/[^/]`, path)
		switch path {
		case "/docs", "/openapi.json", "/status": // the API's
			continue
		}
		file := get(t, path)
		require.Equal(t, 200, file.Code, path)
		require.Contains(t, file.Header().Get("Content-Security-Policy"), "default-src 'none'")
		if strings.Contains(path, "/assets/") {
			require.Contains(t, file.Header().Get("Cache-Control"), "immutable")
		}
	}
	require.Equal(t, page.Body.String(), get(t, "/token/abc").Body.String(), "each page has the one document")
	require.Equal(t, 404, get(t, "/explorer/assets/").Code, "folders are not listed")
	require.Equal(t, 404, get(t, "/explorer/nothing.js").Code)
}

// What a visitor loads at most, of all pages together, is small. The reference of the API, in
// dist/docs, is a page of its own.
func TestTheExplorerIsSmall(t *testing.T) {
	testkit.NeedPages(t, built(t))
	var out bytes.Buffer
	packed := gzip.NewWriter(&out)
	require.NoError(t, filepath.WalkDir("dist", func(path string, entry os.DirEntry, err error) error {
		if err == nil && path == filepath.Join("dist", "docs") {
			return filepath.SkipDir
		}
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = io.Copy(packed, file)
		return err
	}))
	require.NoError(t, packed.Close())
	require.Less(t, out.Len(), 300_000)
}

// What token creators wrote must never become markup: the framework sets it as text, unless it is
// asked not to.
func TestNothingBecomesMarkup(t *testing.T) {
	require.NoError(t, filepath.WalkDir(filepath.Join("explorer", "src"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		require.NotRegexp(t, `innerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write`, string(text), path)
		return nil
	}))
}

// The page of quotes asks the swap API at an address of its own: the policy must let it, and no
// other.
func TestThePagesMayAskTheSwapAPI(t *testing.T) {
	url := "" // not known before the room listens
	pages := web.Handler(web.Links{Swap: func() string { return url }, Chain: "https://chain.example"})
	ask := func() (policy, body string) {
		recorder := httptest.NewRecorder()
		pages.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/quote", nil))
		return recorder.Header().Get("Content-Security-Policy"), recorder.Body.String()
	}
	policy, _ := ask()
	require.Contains(t, policy, "connect-src 'self' ;")
	url = "http://127.0.0.1:8081"
	policy, body := ask()
	require.Contains(t, policy, "connect-src 'self' http://127.0.0.1:8081;")
	if built(t) {
		require.Contains(t, body, `<meta name="mintlake-swap" content="http://127.0.0.1:8081">`)
		require.Contains(t, body, `<meta name="mintlake-chain" content="https://chain.example">`)
	}
}
