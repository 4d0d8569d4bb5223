package api_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzQuery: whatever is asked, the answer is a page or a 400, each in its form.
func FuzzQuery(f *testing.F) {
	log, _ := threeTokens()
	n := startNode(f, log).awaitReady()
	f.Add("usdc", "10", "1", "true")
	f.Add("\xff\x00", "0", "-1", "")
	f.Add("ＵＳＤＣ", "9999999999999999999", "9223372036854775807", "TRUE")
	f.Fuzz(func(t *testing.T, q, limit, page, include string) {
		if len(q)+len(limit)+len(page)+len(include) > 2_000 {
			t.Skip()
		}
		r := n.as(t).get("/tokens?" + url.Values{"q": {q}, "limit": {limit}, "page": {page}, "include_token22": {include}}.Encode())
		if r.StatusCode == http.StatusOK {
			conforms(t, "SearchResponse", r.body)
			return
		}
		r.refused(t, http.StatusBadRequest)
	})
}

// FuzzBatch: whatever is posted, the answer is a batch or a 400, each in its form.
func FuzzBatch(f *testing.F) {
	log, a := threeTokens()
	n := startNode(f, log).awaitReady()
	f.Add(`{"mints": ["` + a[0] + `", "x"]}`)
	f.Add(`{"mints": [["x"], {"y": 1}]}`)
	f.Add(`{"mints": ["\ud800"]}`)
	f.Fuzz(func(t *testing.T, body string) {
		r := n.as(t).do(http.MethodPost, "/tokens/batch", body)
		if r.StatusCode == http.StatusOK {
			conforms(t, "BatchResponse", r.body)
			return
		}
		require.Contains(t, []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, r.StatusCode)
		r.refused(t, r.StatusCode)
	})
}

// FuzzMint: whatever stands in the path, a lookup answers in form and an image is an image.
func FuzzMint(f *testing.F) {
	log, a := threeTokens()
	n := startNode(f, log).awaitReady()
	f.Add(a[0])
	f.Add("..")
	f.Add("\x00/\xff")
	f.Fuzz(func(t *testing.T, mint string) {
		if mint == "" || len(mint) > 2_000 {
			t.Skip()
		}
		path := url.PathEscape(mint)
		if r := n.as(t).get("/tokens/" + path); r.StatusCode != http.StatusOK {
			r.refused(t, http.StatusNotFound)
		}
		r := n.as(t).get("/img/" + path)
		if mint == "." || mint == ".." || r.StatusCode == http.StatusNotFound {
			return // the client or the server resolves the dots
		}
		require.Equal(t, "image/svg+xml", r.Header.Get("Content-Type"))
	})
}
