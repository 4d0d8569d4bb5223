package fetch

import (
	"io"
	"net/http"
	"sync"

	"github.com/mintlake/mintlake/access/shares"
)

// hostLimit bounds how many requests are under way to one host:port, redirects included. A request
// counts until its response's body is closed.
type hostLimit struct {
	next   http.RoundTripper
	groups func(host string) []string
	hosts  *shares.Places
}

func newHostLimit(next http.RoundTripper, limit func(host string) int, groups func(host string) []string) *hostLimit {
	return &hostLimit{next: next, groups: groups, hosts: shares.NewPlaces(limit)}
}

// RoundTrip implements http.RoundTripper.
func (h *hostLimit) RoundTrip(request *http.Request) (*http.Response, error) {
	host := hostPort(request.URL)
	// Each request asks the caller's Admission, because a redirect leads to hosts that the caller
	// did not know. It asks before it waits for the host's limit.
	for _, group := range h.groups(host) {
		if err := admit(request.Context(), group); err != nil {
			return nil, err
		}
	}
	if err := h.hosts.Take(request.Context(), host); err != nil {
		return nil, err
	}
	release := sync.OnceFunc(func() { h.hosts.Give(host) })
	response, err := h.next.RoundTrip(request)
	if err != nil {
		release()
		return nil, err
	}
	// net/http follows redirects, so it is given the target as browsers read it.
	if location := response.Header.Get("Location"); location != "" {
		response.Header.Set("Location", reference(location))
	}
	response.Body = &releasingBody{ReadCloser: response.Body, release: release}
	return response, nil
}

type releasingBody struct {
	io.ReadCloser
	release func()
}

func (b *releasingBody) Close() error {
	defer b.release()
	return b.ReadCloser.Close()
}
