// Package web holds the pages that people look at: the token explorer.
//
// In: nothing; the pages call the token API of the address they were loaded from. Out: an
// http.Handler. Guarantees: no resource comes from another host, and the content security policy
// holds the pages to that.
//
// The pages are written in explorer and built into dist by `make web`. A binary that is built
// without that has a page in their place that tells how to build them.
package web

import (
	"bytes"
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed all:dist
var dist embed.FS

//go:embed placeholder.html
var placeholder []byte

// contentSecurityPolicy lets the pages load their own files and the API's images, and ask this node
// and the swap API, nothing else.
func contentSecurityPolicy(swapURL string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' " + swapURL +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// swapMeta is where the document of the pages says where the swap API is.
const swapMeta = `<meta name="mintlake-swap" content="`

// prefix is where the files lie that the pages load.
const prefix = "/explorer/"

// Handler serves the explorer: its files under /explorer/, and the one document of all its pages at
// every other path. swapURL is the swap API as browsers reach it, scheme, host and port alone; nil,
// or an empty answer, where there is none.
func Handler(swapURL func() string) http.Handler {
	if swapURL == nil {
		swapURL = func() string { return "" }
	}
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		page = placeholder
	}
	server := http.StripPrefix(prefix, http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", contentSecurityPolicy(swapURL()))
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		if !strings.HasPrefix(r.URL.Path, prefix) {
			header.Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(bytes.Replace(page, []byte(swapMeta), []byte(swapMeta+swapURL()), 1))
			return
		}
		name := strings.TrimPrefix(r.URL.Path, prefix)
		if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		// these names hold a hash or a version
		if strings.HasPrefix(name, "assets/") || strings.HasPrefix(name, "docs/scalar-") {
			header.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		if packed, err := fs.ReadFile(files, name+".br"); err == nil && strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			header.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
			header.Set("Content-Encoding", "br")
			header.Set("Vary", "Accept-Encoding")
			_, _ = w.Write(packed) //nolint:gosec // a file that is embedded, by its name
			return
		}
		server.ServeHTTP(w, r)
	})
}
