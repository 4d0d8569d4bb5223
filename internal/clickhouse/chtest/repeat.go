package chtest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"time"
)

const (
	// firstAttempt is many times what a query of a test takes on a busy machine. Each further
	// attempt may take twice as long as the one before.
	firstAttempt = 30 * time.Second
	attempts     = 4
)

// repeating serves the engine at an address of its own, and repeats queries that get no answer.
//
// About once in ten thousand, an INSERT into the embedded engine never ends on a busy machine
// (docs/embedded-clickhouse.md, "When a query stands still"). The product kills such a query and
// writes again: so do tests, which mostly write without the parts of the product that do.
func repeating(addr string, first time.Duration) *httptest.Server {
	return httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: addr}) },
		Transport:     repeatingTransport{&http.Transport{DisableCompression: true}, first},
		FlushInterval: -1, // rows reach the test when the engine sends them
	})
}

type repeatingTransport struct {
	to    http.RoundTripper
	first time.Duration // the limit of the first attempt
}

// RoundTrip implements http.RoundTripper.
func (t repeatingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	limit := t.first
	for attempt := 1; ; attempt++ {
		answer, err := t.once(r, body, limit)
		if err == nil || attempt == attempts || r.Context().Err() != nil {
			return answer, err
		}
		limit *= 2
	}
}

// once sends the request, and gives up when the answer has not begun within limit.
func (t repeatingTransport) once(r *http.Request, body []byte, limit time.Duration) (*http.Response, error) {
	ctx, cancel := context.WithCancel(r.Context())
	late := time.AfterFunc(limit, cancel)
	request := r.Clone(ctx)
	request.Body = io.NopCloser(bytes.NewReader(body))
	answer, err := t.to.RoundTrip(request)
	if err != nil {
		cancel()
		return nil, err
	}
	late.Stop()
	answer.Body = cancelled{answer.Body, cancel}
	return answer, nil
}

// cancelled is a body that ends its request when it is closed.
type cancelled struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (c cancelled) Close() error {
	defer c.cancel()
	return c.ReadCloser.Close()
}
