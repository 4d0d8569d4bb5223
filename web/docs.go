package web

import (
	"bytes"
	"io/fs"
	"net/http"
	"regexp"
)

// firstPage is the page of /docs without ?page=.
const firstPage = "apis"

var pageName = regexp.MustCompile(`^[a-z-]{1,40}$`)

// Docs serves the documentation of the APIs: the pages of explorer/docs/pages.mjs. ?page= has the
// name of a page; without it the first page is served. A page that is not there is answered with
// status 404 and the first page. Handler serves the files that they load. Docs returns nil in a
// binary that was built without `make web`.
func Docs(links Links) http.Handler {
	first, err := fs.ReadFile(dist, docsFile(firstPage))
	if err != nil {
		return nil
	}
	swapURL := links.swapURL()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Type", "text/html; charset=utf-8")
		header.Set("Content-Security-Policy", contentSecurityPolicy(swapURL()))
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		page := first
		if name := r.URL.Query().Get("page"); name != "" {
			named, err := fs.ReadFile(dist, docsFile(name))
			if err == nil && pageName.MatchString(name) {
				page = named
			} else {
				w.WriteHeader(http.StatusNotFound)
			}
		}
		_, _ = w.Write(bytes.Replace(page, []byte(swapMeta), []byte(swapMeta+swapURL()), 1)) //nolint:gosec // a page of ours and the address of a setting
	})
}

func docsFile(name string) string { return "dist/docs/" + name + ".html" }
