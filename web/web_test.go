package web_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/web"
)

func get(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	web.Handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
	return recorder
}

// Every file that the page names is there, is its own, and comes under the policy.
func TestThePageLoadsItsOwnFilesOnly(t *testing.T) {
	page := get(t, "/")
	require.Equal(t, 200, page.Code)
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	references := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	require.NotEmpty(t, references)
	for _, reference := range references {
		path := reference[1]
		require.Regexp(t, `^/`, path)
		switch path {
		case "/docs", "/openapi.json", "/status": // the API's
		default:
			require.Equal(t, 200, get(t, path).Code, path)
		}
	}
	require.NotRegexp(t, `innerHTML|insertAdjacentHTML|document\.write`, get(t, "/explorer/explorer.js").Body.String(),
		"what token creators wrote must never become markup")
}
