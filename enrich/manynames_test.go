package enrich

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/fetch"
)

// resolver gives each host the address of its answer function.
type resolver func(host string) string

func (r resolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr(r(host))}, nil
}

// internet is a real fetcher whose hosts all are one local server; those with "slow" in their name
// never answer.
func internet(t *testing.T, resolve resolver) *fetch.Fetcher {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.Host, "slow"):
			select {
			case <-over:
			case <-r.Context().Done():
			}
		case strings.Contains(r.Host, "short"):
			http.Redirect(w, r, "http://one.slow.test/", http.StatusFound)
		default:
			_, _ = io.WriteString(w, `{"name":"x"}`)
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	fetcher, err := fetch.New(fetch.Config{Timeout: 2 * hang, TryTimeout: 2 * hang}, fetch.Deps{
		Resolver: resolve,
		Connect: func(ctx context.Context, _ netip.Addr, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	})
	require.NoError(t, err)
	t.Cleanup(fetcher.Close)
	return fetcher
}

// TestSlowServersWithManyNames: whatever makes many names one server, the documents of others are
// fetched while it holds what it can get.
func TestSlowServersWithManyNames(t *testing.T) {
	own := func(host string) string { // an address for each host
		sum := digestOf(host)
		return netip.AddrFrom4([4]byte{8, sum[0], sum[1], sum[2]}).String()
	}
	for name, attack := range map[string]struct {
		url     string
		resolve resolver
	}{
		"a wildcard of one domain": {"http://n%d.slow.test/", own},
		"many domains at one address": {"http://n%d-slow.test/", func(host string) string {
			if strings.Contains(host, "slow") {
				return "9.9.9.9"
			}
			return own(host)
		}},
		"many domains in one network": {"http://n%d-slow.test/", func(host string) string {
			if sum := digestOf(host); strings.Contains(host, "slow") {
				return fmt.Sprintf("2606:4700:1:%x::%x", sum[0], sum[1])
			}
			return own(host)
		}},
		"many domains that redirect to one": {"http://n%d-short.test/", own},
		"many ports of one address":         {"http://slow.test:2%04d/", own},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.cfg.Sockets = 16
			w.deps.Fetcher = internet(t, attack.resolve)
			for i := range 200 {
				w.request(t, ask(mintKey(i), metadataSet, 1, fmt.Sprintf(attack.url, i)))
			}
			e, _ := w.start(t)
			require.Eventually(t, func() bool { return e.offchain.queues.Waiting() > 0 }, hang, time.Millisecond)
			for i := range 50 {
				w.request(t, ask(mintKey(1000+i), metadataSet, 1, fmt.Sprintf("http://quick%d.test/", i)))
			}
			require.Eventually(t, func() bool {
				read := 0
				for _, kind := range kinds(w.facts(t)) {
					if kind == "offchain" {
						read++
					}
				}
				return read == 50
			}, hang, time.Millisecond)
		})
	}
}
