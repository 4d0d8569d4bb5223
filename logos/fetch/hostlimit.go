package fetch

import (
	"context"
	"io"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
)

// hostLimit bounds how many requests are under way to one host:port, redirects included. A request
// counts until its response's body is closed. A host's entry is removed when no request holds its
// semaphore or waits for it.
type hostLimit struct {
	next   http.RoundTripper
	limit  func(host string) int
	groups func(host string) []string

	mu    sync.Mutex
	hosts map[string]*hostEntry
}

type hostEntry struct {
	requests *semaphore.Weighted
	users    int // requests that hold the semaphore or wait for it
}

func newHostLimit(next http.RoundTripper, limit func(host string) int, groups func(host string) []string) *hostLimit {
	return &hostLimit{next: next, limit: limit, groups: groups, hosts: map[string]*hostEntry{}}
}

// RoundTrip implements http.RoundTripper.
func (h *hostLimit) RoundTrip(request *http.Request) (*http.Response, error) {
	host := hostPort(request.URL)
	// Before the wait for the host's limit: a redirect leads to hosts that the caller did not know.
	for _, group := range h.groups(host) {
		if err := admit(request.Context(), group); err != nil {
			return nil, err
		}
	}
	release, err := h.acquire(request.Context(), host)
	if err != nil {
		return nil, err
	}
	response, err := h.next.RoundTrip(request)
	if err != nil {
		release()
		return nil, err
	}
	if location := response.Header.Get("Location"); location != "" {
		response.Header.Set("Location", reference(location))
	}
	response.Body = &releasingBody{ReadCloser: response.Body, release: release}
	return response, nil
}

// acquire waits until a request to host may begin. release must be called when it has ended.
func (h *hostLimit) acquire(ctx context.Context, host string) (release func(), err error) {
	h.mu.Lock()
	entry := h.hosts[host]
	if entry == nil {
		entry = &hostEntry{requests: semaphore.NewWeighted(int64(h.limit(host)))}
		h.hosts[host] = entry
	}
	entry.users++
	h.mu.Unlock()

	leave := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if entry.users--; entry.users == 0 {
			delete(h.hosts, host)
		}
	}
	if err := entry.requests.Acquire(ctx, 1); err != nil {
		leave()
		return nil, err
	}
	return sync.OnceFunc(func() { entry.requests.Release(1); leave() }), nil
}

type releasingBody struct {
	io.ReadCloser
	release func()
}

func (b *releasingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
