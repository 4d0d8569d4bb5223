package fetch

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroups: names that one may have for nothing are one group.
func TestGroups(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(jsonHandler))
	for uri, want := range map[string][]string{
		"https://a.slow.test/1":                        {"domain slow.test"},
		"https://b.c.SLOW.test:8443/":                  {"domain slow.test"},
		"https://x.co.uk/":                             {"domain x.co.uk"},
		"https://a.b.x.co.uk/":                         {"domain x.co.uk"},
		"https://me.github.io/a":                       {"domain me.github.io"},
		"https://github.io/a":                          {"domain github.io"},
		"http://localhost/":                            {"domain localhost"},
		"http://8.8.8.8:8080/":                         {"address 8.8.8.8"},
		"http://[2606:4700:1:2::3]/":                   {"address 2606:4700:1::/48"},
		"http://[2606:4700:1:ffff:ffff::1]/":           {"address 2606:4700:1::/48"},
		"https://evil.test/ipfs/" + cidV1 + "/picture": {"domain evil.test"},
		"ipfs://" + cidV1:                              nil,
		"ar://" + arweaveID:                            nil,
		"https://arweave.net/" + arweaveID:             nil,
		"http://second.test/ipfs/" + cidV1:             nil,
		"data:,{}":                                     nil,
		"nonsense":                                     nil,
		"https://user:secret@slow.test/":               nil,
	} {
		require.Equal(t, want, w.Groups(uri), uri)
	}
}

// admissions refuses some groups and notes all that it is asked for.
type admissions struct {
	mu      sync.Mutex
	refused map[string]bool
	asked   []string
}

func (a *admissions) admit(group string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, group)
	return !a.refused[group]
}

// TestFetchesAskWhereTheyGo: at the start, at each new connection, and at redirects, before they
// wait for a host. A refusal says nothing of the host's health.
func TestFetchesAskWhereTheyGo(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Host == "short.test" {
			http.Redirect(rw, r, "http://www.target.test/", http.StatusFound)
			return
		}
		jsonHandler(rw, r)
	}))
	w.dns.answers["short.test"] = [][]netip.Addr{addrs("8.8.8.8")}
	w.dns.answers["www.target.test"] = [][]netip.Addr{addrs("8.8.4.4")}
	fetch := func(a *admissions, uri string) error {
		w.transport.CloseIdleConnections()
		_, err := w.FetchJSON(WithAdmission(context.Background(), a.admit), uri)
		return err
	}
	open := &admissions{}
	require.NoError(t, fetch(open, "http://short.test/"))
	require.Equal(t, []string{"domain short.test", "address 8.8.8.8", "domain target.test", "address 8.8.4.4"}, open.asked)
	require.Equal(t, []string{"domain short.test", "address 8.8.8.8"}, w.Groups("http://short.test/"), "it is known from now on")

	before := len(w.dials())
	for _, group := range []string{"domain short.test", "address 8.8.8.8", "domain target.test", "address 8.8.4.4"} {
		for range 2 * failuresUntilDown {
			err := fetch(&admissions{refused: map[string]bool{group: true}}, "http://short.test/")
			require.Equal(t, ClassHostBusy, ClassOf(err), group)
			require.True(t, Retryable(err))
		}
	}
	require.NoError(t, fetch(open, "http://short.test/"), "the host counts as healthy")
	for _, address := range w.dials()[before:] {
		require.Contains(t, []string{"8.8.8.8", "8.8.4.4"}, address)
	}
	require.NoError(t, fetch(&admissions{refused: map[string]bool{"domain good.test": true, "address " + publicAddress: true}}, "ipfs://"+cidV1),
		"gateways are excepted")
}

// TestTheAddressThatIsConnectedToCounts, not the one that was known: a server may give each lookup
// another answer.
func TestTheAddressThatIsConnectedToCounts(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(jsonHandler))
	w.dns.answers["flux.test"] = [][]netip.Addr{addrs("8.8.8.8"), addrs("10.0.0.1"), addrs("8.8.4.4", "8.8.8.8"), addrs("::ffff:10.0.0.1", "1.1.1.1")}
	refuse := &admissions{refused: map[string]bool{"address 8.8.4.4": true}}
	ctx := WithAdmission(context.Background(), refuse.admit)
	for _, want := range []Class{ClassOK, ClassRefusedAddress, ClassHostBusy} {
		w.transport.CloseIdleConnections()
		_, err := w.FetchJSON(ctx, "http://flux.test/")
		require.Equal(t, want, ClassOf(err))
	}
	require.Equal(t, []string{"8.8.8.8"}, w.dials(), "neither the private address nor the second one of a busy host")
	require.Equal(t, []string{"domain flux.test", "address 8.8.4.4"}, w.Groups("http://flux.test/"))
	_, err := w.FetchJSON(ctx, "http://flux.test/")
	require.Equal(t, ClassHostBusy, ClassOf(err), "where it was last counts before it is looked up")
	_, err = w.FetchJSON(context.Background(), "http://flux.test/")
	require.NoError(t, err)
	require.Equal(t, []string{"8.8.8.8", "1.1.1.1"}, w.dials())
}
