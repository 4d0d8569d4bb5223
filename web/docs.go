package web

import (
	"io/fs"
	"net/http"
)

// docsPolicy lets the page load its own files and call this node. Inline styles are allowed because
// its renderer inserts style elements; inline scripts are not.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Docs serves the API's reference: one page, whose files Handler serves. It returns nil in a binary
// that was built without `make web`.
func Docs() http.Handler {
	page, err := fs.ReadFile(dist, "dist/docs/index.html")
	if err != nil {
		return nil
	}
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", docsPolicy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		_, _ = w.Write(page)
	})
}
