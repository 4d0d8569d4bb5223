package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// The page loads nothing from elsewhere, and nothing in it needs more than the policy allows.
func TestDashboard(t *testing.T) {
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		Dashboard().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w
	}
	page := get("/")
	require.Equal(t, http.StatusOK, page.Code)
	require.Equal(t, contentSecurityPolicy(""), page.Header().Get("Content-Security-Policy"))
	loads := regexp.MustCompile(`(?:href|src)="(/[^"#]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	require.Len(t, loads, 3)
	for _, load := range loads {
		require.Equal(t, http.StatusOK, get(load[1]).Code, load[1])
	}
	for _, path := range []string{"/dashboard/", "/dashboard/nothing", "/dashboard/../web.go", "/else"} {
		require.Equal(t, http.StatusNotFound, get(path).Code, path)
	}
	elsewhere := regexp.MustCompile(`(?:src|href|from|import)[=(\s]+["'](?:https?:)?//|\sstyle=|<script>|innerHTML|\son[a-z]+="`)
	require.NoError(t, fs.WalkDir(dashboard, "dashboard", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(dashboard, path)
		require.NoError(t, err)
		require.Empty(t, elsewhere.FindString(string(content)), path)
		return nil
	}))
}
