package web_test

import (
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

var (
	docsLink   = regexp.MustCompile(`href="([^"]+)"`)
	docsAnchor = regexp.MustCompile(` id="([^"]+)"`)
)

// docsPages are the pages of /docs by their names.
func docsPages(t *testing.T, docs http.Handler) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("dist", "docs", "*.html"))
	require.NoError(t, err)
	require.Greater(t, len(files), 10)
	pages := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		recorder := httptest.NewRecorder()
		docs.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/docs?page="+name, nil))
		require.Equal(t, http.StatusOK, recorder.Code, name)
		pages[name] = recorder.Body.String()
	}
	return pages
}

// Every link of a page leads to a page, and to a place in it, that is there; to a path of the node;
// or to another host, which the page does not tell where it was read.
func TestDocsHaveNoDeadEnds(t *testing.T) {
	docs := web.Docs(web.Links{})
	testkit.NeedPages(t, docs != nil)
	pages := docsPages(t, docs)
	places := map[string]map[string]bool{}
	for name, page := range pages {
		places[name] = map[string]bool{}
		for _, match := range docsAnchor.FindAllStringSubmatch(page, -1) {
			places[name][match[1]] = true
		}
	}
	checked := 0
	for name, page := range pages {
		require.Regexp(t, `<title>[^<]+ · Mintlake</title>`, page)
		require.Equal(t, 1, strings.Count(page, "<h1"), name)
		require.NotRegexp(t, `<script[^>]*>[^<]|<!-- (title|menu|content) -->| style="`, page, name)
		for _, match := range docsLink.FindAllStringSubmatch(page, -1) {
			target, place, _ := strings.Cut(match[1], "#")
			switch {
			case target == "":
				target = name
			case strings.HasPrefix(target, "/docs?page="):
				target = strings.TrimPrefix(target, "/docs?page=")
			case strings.HasPrefix(target, "https://"), strings.HasPrefix(target, "http://"):
				require.Contains(t, page, `href="`+match[1]+`" rel="noopener noreferrer"`, name)
				continue
			default: // of the node, or a file of the pages
				require.Regexp(t, `^/(docs(\?plain)?|openapi\.json|llms\.txt|explorer/.+)?$`, target, name)
				continue
			}
			checked++
			require.Contains(t, pages, target, "%s leads to %s", name, match[1])
			require.True(t, place == "" || places[target][place], "%s leads to %s", name, match[1])
		}
	}
	require.Greater(t, checked, 300)
}

// A page that is not there is told, whatever name was asked for.
func TestDocsServeTheirPagesOnly(t *testing.T) {
	docs := web.Docs(web.Links{Swap: func() string { return "http://127.0.0.1:8081" }})
	testkit.NeedPages(t, docs != nil)
	for query, want := range map[string]int{
		"": 200, "?page=": 200, "?page=gateway": 200, "?page=nothing": 404, "?page=../index": 404, "?page=" + strings.Repeat("a", 5000): 404, "?page=%00": 404,
	} {
		recorder := httptest.NewRecorder()
		docs.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/docs"+query, nil))
		require.Equal(t, want, recorder.Code, query)
		require.Contains(t, recorder.Body.String(), `<a class="brand" href="/">`, "the way back to the explorer")
		require.Contains(t, recorder.Header().Get("Content-Security-Policy"), "script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' http://127.0.0.1:8081;")
		require.Contains(t, recorder.Body.String(), `<meta name="mintlake-swap" content="http://127.0.0.1:8081">`)
	}
	require.Equal(t, 200, get(t, "/explorer/docs/swap.json").Code, "the swap API's document is there without a swap API")
}

// What becomes markup is written by us, at build time: the pages' own script makes none.
func TestTheScriptOfDocsMakesNoMarkup(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("explorer", "docs", "*.ts*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotRegexp(t, `innerHTML|dangerouslySetInnerHTML|insertAdjacentHTML|document\.write`, string(text), file)
	}
}
