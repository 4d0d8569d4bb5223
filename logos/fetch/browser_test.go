package fetch

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

// TestURLsThatBrowsersFetch: each is fetched as a browser would fetch it.
func TestURLsThatBrowsersFetch(t *testing.T) {
	var mu sync.Mutex
	seen := ""
	w := newWeb(t, Config{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = r.Host + r.RequestURI
		mu.Unlock()
		jsonHandler(rw, r)
	}))
	for _, host := range []string{"xn--bcher-kva.test", "under_score.test"} {
		w.dns.answers[host] = [][]netip.Addr{addrs(publicAddress)}
	}
	for uri, want := range map[string]string{
		"http://good.test":                "good.test/",
		"HTTP://GOOD.test/A":              "good.test/A",
		"http:good.test/a":                "good.test/a",
		"http:/good.test/a":               "good.test/a",
		"http:////good.test/a":            "good.test/a",
		`http:\\good.test\a\b`:            "good.test/a/b",
		" \x01http://good.test/a\x00 ":    "good.test/a",
		"ht\ttp://good.test/a\r\nb":       "good.test/ab",
		"http://good.test/\r\nHost: evil": "good.test/Host:%20evil",
		"http://good.test/my logo.png":    "good.test/my%20logo.png",
		"http://good.test/?q=my logo&x=é": "good.test/?q=my%20logo&x=%C3%A9",
		"http://good.test/100%.png":       "good.test/100%25.png",
		"http://good.test/%zz?a=%":        "good.test/%25zz?a=%25",
		"http://good.test/a%20b%2Fc":      "good.test/a%20b%2Fc",
		"http://good.test/\x01\x7f":       "good.test/%01%7F",
		`http://good.test/"<a>"` + "`":    "good.test/%22%3Ca%3E%22%60",
		"http://good.test/[1]|{2}^3":      "good.test/%5B1%5D%7C%7B2%7D%5E3",
		"http://good.test/a#b c":          "good.test/a",
		"http://good.test/日本.png":         "good.test/%E6%97%A5%E6%9C%AC.png",
		"http://bücher.test/a":            "xn--bcher-kva.test/a",
		"http://b%C3%BCcher.test/a":       "xn--bcher-kva.test/a",
		"http://under_score.test/a":       "under_score.test/a",
		"http://good.test:/a":             "good.test/a",
		"http://good.test:81/a":           "good.test:81/a",
		"http://good.test:591/a":          "good.test:591/a",
		"http://good.test:65535/a":        "good.test:65535/a",
		"http://good.test?a":              "good.test/?a",
		"http://good.test/a?b?c":          "good.test/a?b?c",
	} {
		_, err := w.FetchJSON(context.Background(), uri)
		require.NoError(t, err, "%q", uri)
		mu.Lock()
		require.Equal(t, want, seen, "%q", uri)
		mu.Unlock()
	}
}

// TestRedirectsThatBrowsersFollow: Location headers are written by hand as well.
func TestRedirectsThatBrowsersFollow(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if to := r.URL.Query().Get("to"); to != "" {
			rw.Header()["Location"] = []string{to}
			rw.Header()["Set-Cookie"] = []string{"session=secret; Path=/"}
			rw.WriteHeader(http.StatusFound)
			return
		}
		if len(r.Cookies()) > 0 || r.Header.Get("Referer") != "" || r.Header.Get("Authorization") != "" {
			rw.WriteHeader(http.StatusTeapot)
			return
		}
		_, _ = fmt.Fprintf(rw, `{"uri":%q}`, r.RequestURI)
	}))
	for to, want := range map[string]string{
		"/my%20logo": "/my%20logo", "my%20logo": "/dir/my%20logo", "/a b": "/a%20b", "/100%": "/100%25", `\a\b`: "/a/b", "//good.test/x": "/x",
		"?q=a b": "/dir/?q=a%20b", "http:/good.test/y": "/y", "/日本": "/%E6%97%A5%E6%9C%AC",
	} {
		body, err := w.FetchJSON(context.Background(), "http://good.test/dir/?to="+strings.NewReplacer("%", "%25", "&", "%26", "?", "%3F", " ", "%20", `\`, "%5C").Replace(to))
		require.NoError(t, err, to)
		require.Equal(t, `{"uri":"`+want+`"}`, string(body), to)
	}
	for to, want := range map[string]Class{
		"http://127.0.0.1/": ClassRefusedAddress, "http://[::ffff:127.0.0.1]/": ClassRefusedAddress, `\\127.0.0.1\x`: ClassRefusedAddress, "//10.0.0.1/": ClassRefusedAddress,
		"http://[64:ff9b::7f00:1]/": ClassRefusedAddress, "http://[2002:7f00:1::]/": ClassRefusedAddress, "http:///169.254.169.254/": ClassRefusedAddress,
		"http://user:secret@good.test/": ClassBadURL, "file:///etc/passwd": ClassBadURL, "data:application/json,{}": ClassBadURL, "javascript:1": ClassBadURL,
		"http://good.test:22/": ClassBadURL, "http://2130706433/": ClassBadURL,
	} {
		_, err := w.FetchJSON(context.Background(), "http://good.test/?to="+strings.NewReplacer(`\`, "%5C").Replace(to))
		require.Equal(t, want, ClassOf(err), to)
	}
	for _, address := range w.dials() {
		require.Equal(t, publicAddress, address)
	}
}

const plainBody = `{"name":"Lake"}`

// squeeze writes plainBody, or what is given, with a writer.
func squeeze(body string, open func(w io.Writer) io.WriteCloser) string {
	var out bytes.Buffer
	w := open(&out)
	_, _ = io.WriteString(w, body)
	_ = w.Close()
	return out.String()
}

func gzipped(w io.Writer) io.WriteCloser   { return gzip.NewWriter(w) }
func zlibbed(w io.Writer) io.WriteCloser   { return zlib.NewWriter(w) }
func brotlied(w io.Writer) io.WriteCloser  { return brotli.NewWriter(w) }
func deflated(w io.Writer) io.WriteCloser  { f, _ := flate.NewWriter(w, 9); return f }
func zstandard(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z }

func TestContentCodings(t *testing.T) {
	answers := map[string][2]string{} // coding and body of each path
	w := newWeb(t, Config{MaxBytes: 1 << 20}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		answer := answers[r.URL.Path]
		if answer[0] != "" {
			rw.Header().Set("Content-Encoding", answer[0])
		}
		_, _ = io.WriteString(rw, answer[1])
	}))
	bomb := strings.Repeat(" ", 64<<20)
	for i, c := range []struct {
		coding, body string
		want         Class
	}{
		{"aws-chunked", plainBody, ClassOK}, {"x-gzip", plainBody, ClassOK}, {"utf-8", plainBody, ClassOK}, {"binary", plainBody, ClassOK}, {"none", plainBody, ClassOK},
		{"UTF8", plainBody, ClassOK}, {"identity", plainBody, ClassOK}, {"Identity", plainBody, ClassOK}, {"null", plainBody, ClassOK}, {"base64", plainBody, ClassOK},
		{"8bit", plainBody, ClassOK}, {"*", plainBody, ClassOK}, {"json", plainBody, ClassOK}, {"aws-chunked, utf-8,", plainBody, ClassOK}, {"zstd", plainBody, ClassOK},
		{"aws-chunked,gzip", squeeze(plainBody, gzipped), ClassOK}, {"gzip, aws-chunked", squeeze(plainBody, gzipped), ClassOK}, {"x-gzip", squeeze(plainBody, gzipped), ClassOK},
		{"X-GZIP", squeeze(plainBody, gzipped), ClassOK}, {"gzip", squeeze(plainBody, gzipped), ClassOK}, {"deflate", squeeze(plainBody, zlibbed), ClassOK},
		{"deflate", squeeze(plainBody, deflated), ClassOK}, {"br", squeeze(plainBody, brotlied), ClassOK}, {"zstd", squeeze(plainBody, zstandard), ClassOK},
		{"gzip, br", squeeze(squeeze(plainBody, gzipped), brotlied), ClassOK},
		{"br", plainBody, ClassBadEncoding}, {"gzip,gzip,gzip", plainBody, ClassBadEncoding}, {"x-gzip", squeeze(plainBody, gzipped)[:20], ClassConnection},
		{"x-gzip", squeeze(bomb, gzipped), ClassTooLarge}, {"br", squeeze(bomb, brotlied), ClassTooLarge}, {"zstd", squeeze(bomb, zstandard), ClassTooLarge},
		{"deflate", squeeze(bomb, zlibbed), ClassTooLarge}, {"gzip, br", squeeze(squeeze(bomb, gzipped), brotlied), ClassTooLarge}, {"br", "", ClassNotJSON}, {"zstd", "", ClassNotJSON},
	} {
		path := fmt.Sprint("/", i)
		answers[path] = [2]string{c.coding, c.body}
		body, err := w.FetchJSON(context.Background(), "http://good.test"+path)
		require.Equal(t, c.want, ClassOf(err), "%d %s: %v", i, c.coding, err)
		if err == nil {
			require.Equal(t, plainBody, string(body), c.coding)
		}
	}
}

// TestEndlessBodies: white space, and compressed data that stays empty, end at the limits.
func TestEndlessBodies(t *testing.T) {
	empty := squeeze("", gzipped)
	w := newWeb(t, Config{MaxBytes: 1 << 20, Timeout: 10 * time.Minute}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		chunk := strings.Repeat(" ", 1<<16)
		if r.URL.Path == "/empty" {
			rw.Header().Set("Content-Encoding", "x-gzip")
			chunk = strings.Repeat(empty, 1<<10)
		}
		for {
			if _, err := io.WriteString(rw, chunk); err != nil {
				return
			}
		}
	}))
	for path, want := range map[string]Class{"/white": ClassTooLarge, "/empty": ClassNotJSON} {
		_, err := w.FetchJSON(context.Background(), "http://good.test"+path)
		require.Contains(t, []Class{want, ClassConnection}, ClassOf(err), path)
	}
}
