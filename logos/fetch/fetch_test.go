package fetch

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// fakeDNS answers in turn from a host's list of answers; the last one stays.
type fakeDNS struct {
	mu      sync.Mutex
	answers map[string][][]netip.Addr
	lookups int
}

func (d *fakeDNS) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lookups++
	list := d.answers[host]
	if len(list) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(list) > 1 {
		d.answers[host] = list[1:]
	}
	return list[0], nil
}

func addrs(texts ...string) []netip.Addr {
	var out []netip.Addr
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

const publicAddress = "93.184.216.34"

// web is a Fetcher whose network is one local server: every public address leads there, and each
// address connected to is noted.
type web struct {
	*Fetcher
	dns    *fakeDNS
	server *httptest.Server
	mu     sync.Mutex
	dialed []string
}

func (w *web) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.dialed...)
}

func newWeb(t *testing.T, cfg Config, handler http.Handler) *web {
	t.Helper()
	w := &web{dns: &fakeDNS{answers: map[string][][]netip.Addr{"good.test": {addrs(publicAddress)}}}}
	w.server = httptest.NewServer(handler)
	t.Cleanup(w.server.Close)
	if cfg.IPFSGateways == nil {
		cfg.IPFSGateways = []string{"http://good.test/ipfs/", "http://second.test/ipfs/"}
	}
	if cfg.ArweaveGateways == nil {
		cfg.ArweaveGateways = []string{"http://good.test/ar/"}
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	fetcher, err := New(cfg, Deps{Resolver: w.dns, Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	t.Cleanup(fetcher.Close)
	w.Fetcher = fetcher
	fetcher.dialer.connect = func(ctx context.Context, address netip.Addr, port string, _ bool) (net.Conn, error) {
		w.mu.Lock()
		w.dialed = append(w.dialed, address.String())
		w.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, "tcp", w.server.Listener.Addr().String())
	}
	return w
}

func jsonHandler(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"name":"x"}`) }

func TestAddresses(t *testing.T) {
	for _, text := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.169.254", "172.16.0.1",
		"172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
		"224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "168.63.129.16",
		"::", "::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1",
		"2001::1", "2001:0:53aa:64c:0:fbff:fad5:fffe", "2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2606:4700::1%eth0",
	} {
		require.False(t, Public(netip.MustParseAddr(text)), text)
	}
	for _, text := range []string{publicAddress, "8.8.8.8", "1.1.1.1", "172.15.255.255", "172.32.0.1", "100.63.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450:4001::1"} {
		require.True(t, Public(netip.MustParseAddr(text)), text)
	}
	require.False(t, Public(netip.Addr{}))
}

func TestRefusedURLs(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(jsonHandler))
	w.dns.answers["private.test"] = [][]netip.Addr{addrs("10.0.0.1")}
	w.dns.answers["loop.test"] = [][]netip.Addr{addrs("127.0.0.1", "::1")}
	w.dns.answers["meta.test"] = [][]netip.Addr{addrs("169.254.169.254")}
	w.dns.answers["mapped.test"] = [][]netip.Addr{addrs("::ffff:10.0.0.1")}
	w.dns.answers["many.test"] = [][]netip.Addr{addrs("10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::1.2.3.4", "2002:a00:1::1", "0.0.0.0", "fe80::1%eth0", "255.255.255.255")}
	w.dns.answers["nat64.test"] = [][]netip.Addr{addrs("64:ff9b::7f00:1")}
	for uri, want := range map[string]Class{
		"http://127.0.0.1/x":                       ClassRefusedAddress,
		"http://127.0.0.1:8899/":                   ClassRefusedAddress,
		"http://[::1]/":                            ClassRefusedAddress,
		"http://[::ffff:127.0.0.1]/":               ClassRefusedAddress,
		"http://[::ffff:8.8.8.8]/":                 ClassRefusedAddress,
		"http://[::ffff:7f00:1]/":                  ClassRefusedAddress,
		"http://[64:ff9b::10.0.0.1]/":              ClassRefusedAddress,
		"http://[fe80::1]/":                        ClassRefusedAddress,
		"http://[fe80::1%25eth0]/":                 ClassBadURL,
		"http://169.254.169.254/latest/meta-data/": ClassRefusedAddress,
		"http://private.test/":                     ClassRefusedAddress,
		"https://loop.test/":                       ClassRefusedAddress,
		"http://meta.test/":                        ClassRefusedAddress,
		"http://mapped.test/":                      ClassRefusedAddress,
		"http://nat64.test/":                       ClassRefusedAddress,
		"http://2130706433/":                       ClassBadURL,
		"http://0x7f000001/":                       ClassBadURL,
		"http://0x7f.0.0.1/":                       ClassBadURL,
		"http://127.0.0.0x1/":                      ClassBadURL,
		"http://0177.0.0.1/":                       ClassBadURL,
		"http://127.1/":                            ClassBadURL,
		"http://017700000001/":                     ClassBadURL,
		"http://127.0.0.1./":                       ClassBadURL,
		"http://good.test./":                       ClassDNS,
		"http://user:secret@good.test/":            ClassBadURL,
		"http://user@good.test/":                   ClassBadURL,
		"http://good.test:22/":                     ClassBadURL,
		"http://good.test:25/":                     ClassBadURL,
		"http://good.test:99999/":                  ClassBadURL,
		"http://good.test:0/":                      ClassBadURL,
		"http:///x":                                ClassDNS,
		"http:":                                    ClassBadURL,
		"http://good.test:6000/":                   ClassBadURL,
		"http://good.test:6667/":                   ClassBadURL,
		"http://good.test:0x50/":                   ClassBadURL,
		"http:\\\\127.0.0.1\\x":                    ClassRefusedAddress,
		"http:/\t/127.0.0.1/":                      ClassRefusedAddress,
		"ht\ntp://169.254.169.254/":                ClassRefusedAddress,
		"https:\\good.test@127.0.0.1/":             ClassBadURL,
		"http://127.0.0.1\\@good.test/":            ClassRefusedAddress,
		"http://127.0.0.1?@good.test/":             ClassRefusedAddress,
		"http://127.0.0.1#@good.test/":             ClassRefusedAddress,
		"http://[2002:7f00:1::]/":                  ClassRefusedAddress,
		"http://[2001:0:53aa:64c::1]/":             ClassRefusedAddress,
		"http://[::127.0.0.1]/":                    ClassRefusedAddress,
		"http://１２７.0.0.1/":                        ClassBadURL, // IDNA maps full-width digits
		"http://many.test/":                        ClassRefusedAddress,
		"ftp://good.test/":                         ClassBadURL,
		"file:///etc/passwd":                       ClassBadURL,
		"gopher://good.test/":                      ClassBadURL,
		"javascript:alert(1)":                      ClassBadURL,
		"":                                         ClassBadURL,
		"not a url":                                ClassBadURL,
		"http://" + strings.Repeat("a", 3000):      ClassBadURL,
		"ipfs://notacid":                           ClassBadURL,
		"ipfs://../../etc":                         ClassBadURL,
		"ar://short":                               ClassBadURL,
		"http://unknown.test/":                     ClassDNS,
		"data:application/json":                    ClassBadURL,
		"data:;base64,@@@":                         ClassBadURL,
		"http://127。0。0。1/":                        ClassRefusedAddress, // IDNA maps the full stops
	} {
		_, err := w.FetchJSON(context.Background(), uri)
		require.Error(t, err, uri)
		require.Equal(t, want, ClassOf(err), "%q: %v", uri, err)
		require.False(t, Retryable(err), uri)
	}
	require.Empty(t, w.dials(), "no connection was made for any of them")
}

func TestConnectsToTheCheckedAddress(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(jsonHandler))
	// The name's answer changes between the check and any later look: only one look happens, and
	// its answer is used.
	w.dns.answers["rebind.test"] = [][]netip.Addr{addrs(publicAddress), addrs("127.0.0.1")}
	_, err := w.FetchJSON(context.Background(), "http://rebind.test/a")
	require.NoError(t, err)
	require.Equal(t, []string{publicAddress}, w.dials())
	require.Equal(t, 1, w.dns.lookups)
	w.Close()
	_, err = w.FetchJSON(context.Background(), "http://rebind.test/b")
	require.Equal(t, ClassRefusedAddress, ClassOf(err))
	require.Equal(t, []string{publicAddress}, w.dials())

	// Of a mixed answer only the public part is used.
	w.dns.answers["mixed.test"] = [][]netip.Addr{addrs("10.0.0.1", "8.8.8.8", "::1")}
	_, err = w.FetchJSON(context.Background(), "http://mixed.test/")
	require.NoError(t, err)
	require.Equal(t, []string{publicAddress, "8.8.8.8"}, w.dials())
}

func TestTheSocketIsCheckedToo(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(jsonHandler))
	_, err := w.dialer.dialAddress(context.Background(), netip.MustParseAddr("127.0.0.1"), "80", false)
	require.Equal(t, ClassRefusedAddress, ClassOf(err))
}

func TestAllowPrivateIsExact(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(jsonHandler))
	defer server.Close()
	other := httptest.NewServer(http.HandlerFunc(jsonHandler))
	defer other.Close()
	host := server.Listener.Addr().String()
	fetcher, err := New(Config{AllowPrivate: []string{host}}, Deps{})
	require.NoError(t, err)
	_, err = fetcher.FetchJSON(context.Background(), "http://"+host+"/x")
	require.NoError(t, err)
	_, err = fetcher.FetchJSON(context.Background(), "http://"+other.Listener.Addr().String()+"/x")
	require.Equal(t, ClassRefusedAddress, ClassOf(err))
	_, port, _ := net.SplitHostPort(host)
	_, err = fetcher.FetchJSON(context.Background(), "http://[::1]:"+port+"/x")
	require.Equal(t, ClassRefusedAddress, ClassOf(err))
}

func TestRedirects(t *testing.T) {
	mux := http.NewServeMux()
	to := func(location string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", location)
			w.WriteHeader(http.StatusFound)
		}
	}
	var referer, cookie atomic.Value
	mux.HandleFunc("/end", func(w http.ResponseWriter, r *http.Request) {
		referer.Store(r.Header.Get("Referer"))
		cookie.Store(r.Header.Get("Cookie") + r.Header.Get("Authorization"))
		jsonHandler(w, r)
	})
	mux.HandleFunc("/once", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "track", Value: "me"})
		http.Redirect(w, r, "/end", http.StatusFound)
	})
	mux.HandleFunc("/loop", to("/loop"))
	mux.HandleFunc("/private", to("http://10.0.0.1/"))
	mux.HandleFunc("/metadata", to("http://169.254.169.254/latest/"))
	mux.HandleFunc("/rebound", to("http://later-private.test/"))
	mux.HandleFunc("/decimal", to("http://2130706433/"))
	mux.HandleFunc("/file", to("file:///etc/passwd"))
	mux.HandleFunc("/user", to("http://a:b@good.test/end"))
	mux.HandleFunc("/port", to("http://good.test:6379/end"))
	mux.HandleFunc("/smtp", to("http://good.test:25/end"))
	mux.HandleFunc("/nowhere", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	w := newWeb(t, Config{}, mux)
	w.dns.answers["later-private.test"] = [][]netip.Addr{addrs("192.168.0.1")}

	_, err := w.FetchJSON(context.Background(), "http://good.test/once")
	require.NoError(t, err)
	require.Empty(t, referer.Load())
	require.Empty(t, cookie.Load(), "cookies and credentials are never sent")
	for path, want := range map[string]Class{
		"/loop": ClassRedirects, "/private": ClassRefusedAddress, "/metadata": ClassRefusedAddress, "/rebound": ClassRefusedAddress,
		"/decimal": ClassBadURL, "/file": ClassBadURL, "/user": ClassBadURL, "/smtp": ClassBadURL, "/nowhere": ClassConnection, "/port": ClassOK,
	} {
		_, err := w.FetchJSON(context.Background(), "http://good.test"+path)
		if path == "/nowhere" {
			require.Error(t, err)
			continue
		}
		require.Equal(t, want, ClassOf(err), "%s: %v", path, err)
	}
	for _, dialed := range w.dials() {
		require.Equal(t, publicAddress, dialed)
	}
}

func TestPerHostLimit(t *testing.T) {
	var now, most atomic.Int64
	w := newWeb(t, Config{PerHost: 3, IPFSGateways: []string{}, ArweaveGateways: []string{}}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for {
			old := most.Load()
			if n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
		if r.URL.Path == "/hop" {
			http.Redirect(w, r, "/end", http.StatusFound)
			return
		}
		jsonHandler(w, r)
	}))
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			path := "/end"
			if i%2 == 0 {
				path = "/hop"
			}
			_, err := w.FetchJSON(context.Background(), "http://good.test"+path)
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	limiter := w.client.Transport.(*hostLimit)
	require.Zero(t, limiter.hosts.Clients(), "no entry outlives its requests")
}

func TestConfigProblemsAreToldAtOnce(t *testing.T) {
	_, err := New(Config{AllowPrivate: []string{"nope"}, IPFSGateways: []string{"ftp://x/"}, ArweaveGateways: []string{"https://u:hunter2@x/"}, PerHost: -1}, Deps{})
	require.Error(t, err)
	for _, part := range []string{"nope", "ipfs_gateways", "arweave_gateways", "limits"} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "hunter2")
}
