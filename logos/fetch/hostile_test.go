package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// gzipBomb unfolds to 64 MiB. It is one gzip member many times, as compressing all of it takes the
// race detector seconds.
func gzipBomb() []byte {
	var member bytes.Buffer
	z := gzip.NewWriter(&member)
	_, _ = z.Write(bytes.Repeat([]byte("{"), 1<<20))
	_ = z.Close()
	return bytes.Repeat(member.Bytes(), 64)
}

func hostileMux(stop <-chan struct{}) *http.ServeMux {
	mux := http.NewServeMux()
	body := func(path, text string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	body("/html", "<!DOCTYPE html><html>Just a moment...</html>")
	body("/empty", "")
	body("/space", "  \n ")
	body("/string", `"just a string"`)
	body("/cut", `{"name":`)
	body("/comma", `{"name":"x",}`)
	body("/bom", "\xef\xbb\xbf{\"name\":\"x\"}")
	body("/utf16", "\xff\xfe{\x00}\x00")
	body("/array", `[{"name":"x"}]`)
	body("/error", `{"statusCode":404,"message":"no such object"}`)
	mux.HandleFunc("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "{}")
	})
	body("/large", `{"x":"`+strings.Repeat("a", 5000)+`"}`)
	bomb := gzipBomb()
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bomb)
	})
	mux.HandleFunc("/badgzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, "this is no gzip stream at all")
	})
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, `{"name":"x"}`)
		_ = z.Close()
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(bytes.Repeat([]byte("{"), 1024)); err != nil {
				return
			}
		}
	})
	slow := func(w http.ResponseWriter, r *http.Request, first string) {
		_, _ = io.WriteString(w, first)
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	}
	mux.HandleFunc("/slowbody", func(w http.ResponseWriter, r *http.Request) { slow(w, r, `{"name":`) })
	mux.HandleFunc("/slowheader", func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-stop:
		}
	})
	mux.HandleFunc("/liar", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "99999999") })
	mux.HandleFunc("/short", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "500")
		_, _ = io.WriteString(w, `{"name":"x"}`)
	})
	mux.HandleFunc("/reset", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
	})
	mux.HandleFunc("/garbage", func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_, _ = io.WriteString(conn, "\x00\x01garbage\r\n\r\n")
		_ = conn.Close()
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("a", 100<<10)) })
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"error":"x"}`)
	})
	return mux
}

func TestHostileServer(t *testing.T) {
	stop := make(chan struct{})
	mux := hostileMux(stop)
	patient := newWeb(t, Config{Timeout: 10 * time.Minute, TryTimeout: 10 * time.Minute, MaxBytes: 4096}, mux)
	hasty := newWeb(t, Config{Timeout: 400 * time.Millisecond, MaxBytes: 4096}, mux)
	defer close(stop)
	tests := []struct {
		path  string
		want  Class
		retry bool
	}{
		{"/html", ClassNotJSON, false}, {"/empty", ClassNotJSON, false}, {"/space", ClassNotJSON, false}, {"/string", ClassNotJSON, false},
		{"/cut", ClassNotJSON, false}, {"/comma", ClassNotJSON, false}, {"/bom", ClassOK, false}, {"/utf16", ClassOK, false},
		{"/array", ClassOK, false}, {"/large", ClassTooLarge, false}, {"/bomb", ClassTooLarge, false}, {"/badgzip", ClassBadEncoding, true},
		{"/gzip", ClassOK, false}, {"/endless", ClassTooLarge, false}, {"/slowbody", ClassTimeout, true}, {"/slowheader", ClassTimeout, true},
		{"/liar", ClassTooLarge, false}, {"/short", ClassConnection, true}, {"/reset", ClassConnection, true},
		{"/garbage", ClassConnection, true}, {"/headers", ClassConnection, true},
		{"/status/404", ClassHTTPStatus, false}, {"/status/403", ClassHTTPStatus, false}, {"/status/204", ClassHTTPStatus, false},
		{"/status/206", ClassHTTPStatus, false}, {"/status/429", ClassHTTPStatus, true}, {"/status/500", ClassHTTPStatus, true},
		{"/status/503", ClassHTTPStatus, true}, {"/status/304", ClassHTTPStatus, false},
		{"/error", ClassErrorBody, false}, {"/brotli", ClassBadEncoding, true},
	}
	for _, test := range tests {
		w := patient
		if test.want == ClassTimeout {
			w = hasty
		}
		w.health = newHealth(time.Now) // each as the first that is heard of the host
		body, err := w.FetchJSON(context.Background(), "http://good.test"+test.path)
		require.Equal(t, test.want, ClassOf(err), "%s: %v", test.path, err)
		require.Equal(t, test.retry, Retryable(err), test.path)
		require.LessOrEqual(t, len(body), 4096)
		if test.path == "/status/429" {
			var failed *Error
			require.ErrorAs(t, err, &failed)
			require.Equal(t, 7*time.Second, failed.RetryAfter)
			require.Equal(t, 429, failed.Status)
		}
	}
	var counted dto.Metric
	require.NoError(t, patient.metrics.fetches.WithLabelValues("ok").Write(&counted))
	require.InDelta(t, 4, counted.GetCounter().GetValue(), 0)
}

func TestTLSErrors(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(jsonHandler))
	defer server.Close()
	old := httptest.NewUnstartedServer(http.HandlerFunc(jsonHandler))
	old.TLS = &tls.Config{MaxVersion: tls.VersionTLS10, MinVersion: tls.VersionTLS10}
	old.StartTLS()
	defer old.Close()
	plain := httptest.NewServer(http.HandlerFunc(jsonHandler))
	defer plain.Close()
	for _, s := range []*httptest.Server{server, old, plain} {
		host := s.Listener.Addr().String()
		fetcher, err := New(Config{AllowPrivate: []string{host}}, Deps{})
		require.NoError(t, err)
		_, err = fetcher.Fetch(context.Background(), "https://"+host)
		require.Equal(t, ClassTLS, ClassOf(err), "%v", err)
	}
}

func TestCanceledByTheCaller(t *testing.T) {
	stop := make(chan struct{})
	w := newWeb(t, Config{}, hostileMux(stop))
	defer close(stop)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := w.FetchJSON(ctx, "http://good.test/slowbody")
	require.Equal(t, ClassCanceled, ClassOf(err))
	require.False(t, Retryable(err))
}

func TestErrorsDoNotRepeatTheURL(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(jsonHandler))
	for _, uri := range []string{"http://unknown.test/?token=s3cret", "http://10.0.0.1/s3cret", "http://good.test:25/s3cret", "s3cret://x"} {
		_, err := w.FetchJSON(context.Background(), uri)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
