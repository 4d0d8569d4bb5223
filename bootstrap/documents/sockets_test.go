package documents_test

import (
	"context"
	"flag"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/logos/fetch"
)

var overSockets = flag.Int("documents.sockets", 0, "how many documents are read over sockets; 200000 take some six minutes")

// ServeHTTP serves the documents of all sites.
func (n *internet) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := n.sites[r.Host]
	if !s.ask(time.Now()) {
		if pause := s.retryAfter(); pause > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(pause.Seconds())))
		}
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	if s.serve(r.Context()) == nil {
		s.answer(time.Now())
		_, _ = io.WriteString(w, `{"name":"Lake","image":"https://img.test/x.png"}`)
	}
}

// LookupNetIP gives each site an address of its own.
func (n *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	i := slices.IndexFunc(n.order, func(s *site) bool { return s.name == host })
	return []netip.Addr{netip.AddrFrom4([4]byte{8, 8, byte(i >> 8), byte(i)})}, nil
}

// TestDocumentsOverSockets is TestEachHostWorksAtItsOwnPace with a real fetcher and real
// connections, in real time: the rates are such that it takes some minutes.
func TestDocumentsOverSockets(t *testing.T) {
	if *overSockets == 0 {
		t.Skip("-documents.sockets is not set: make test-documents")
	}
	web := newInternet(*overSockets, 189, 400, 25, 2, 150)
	server := httptest.NewServer(web)
	defer server.Close()
	fetcher, err := fetch.New(fetch.Config{PerHost: 64, Large: 64}, fetch.Deps{
		Resolver: web,
		Connect: func(ctx context.Context, _ netip.Addr, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", server.Listener.Addr().String())
		},
	})
	require.NoError(t, err)
	defer fetcher.Close()
	start := time.Now()
	l := walkAll(t, web, fetcher, time.Hour)
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	t.Logf("%d documents in %s, %s of processor time, servers included", *overSockets, time.Since(start).Round(time.Second),
		time.Duration(used.Utime.Nano()+used.Stime.Nano()).Round(time.Second))
	web.hold(t, start, time.Minute)
	require.Zero(t, l.letters)
}
