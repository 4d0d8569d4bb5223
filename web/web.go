// Package web has the web pages: the token explorer, the operator's dashboard and the APIs'
// documentation.
//
// In: nothing; the pages call the APIs of the node that they were loaded from, and the explorer the
// swap API. Out: HTTP handlers.
//
// The explorer's source is in explorer; `make web` builds it into dist. A binary that was built
// without that serves a page that tells how to build it.
package web

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"strings"

	"github.com/mintlake/mintlake/schemas/openapi"
)

//go:embed all:dist
var dist embed.FS

//go:embed placeholder.html
var placeholder []byte

// contentSecurityPolicy lets the pages load their own files and the API's images, and call this
// node and the swap API. All else is forbidden.
func contentSecurityPolicy(swapURL string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' " + swapURL +
		"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// The texts in the page after which Handler inserts URLs.
const (
	swapMeta  = `<meta name="mintlake-swap" content="`
	chainMeta = `<meta name="mintlake-chain" content="`
)

// Links are the addresses of other servers that the pages name: scheme, host and port only.
type Links struct {
	// Swap returns the swap API's address for browsers, or "" if there is none. It may be nil.
	Swap func() string
	// Chain is an explorer of the chain, whose pages are /address/ADDRESS and /tx/SIGNATURE. If it
	// is empty, the pages have no such links.
	Chain string
}

// swapURL returns Swap, or a function that returns "" if Swap is nil.
func (l Links) swapURL() func() string {
	if l.Swap == nil {
		return func() string { return "" }
	}
	return l.Swap
}

// swapDocument is the name of the swap API's OpenAPI document, which the pages of Docs read. The
// swap API itself may be of another process, or of none.
const swapDocument = "docs/swap.json"

// prefix is the path of the files that the pages load.
const prefix = "/explorer/"

// Handler serves the explorer: its files under /explorer/, and its one HTML document at every other
// path.
func Handler(links Links) http.Handler {
	swapURL := links.swapURL()
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	page, err := fs.ReadFile(files, "index.html")
	if err != nil {
		page = placeholder
	}
	page = bytes.Replace(page, []byte(chainMeta), []byte(chainMeta+links.Chain), 1)
	document, err := openapi.SwapJSON()
	if err != nil {
		panic(err) // it is embedded
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
		if name == swapDocument {
			header.Set("Content-Type", "application/json")
			_, _ = w.Write(document)
			return
		}
		if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
			http.NotFound(w, r)
			return
		}
		// These names contain a hash, so the files never change.
		if strings.HasPrefix(name, "assets/") {
			header.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		server.ServeHTTP(w, r)
	})
}
