package fetch

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	cidV0     = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbDG"
	cidV1     = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
	arweaveID = "sHx9JTNDbKhRQ2jBYzX8iX1Kj0Tt3Wd2aBcDeFgHiJk"
)

func TestContentAddressed(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Host+r.URL.Path)
		mu.Unlock()
		switch {
		case r.Host == "good.test" && strings.Contains(r.URL.Path, "gone"):
			w.WriteHeader(http.StatusNotFound)
		case r.Host == "good.test" && strings.Contains(r.URL.Path, "challenge"):
			_, _ = io.WriteString(w, "<html>")
		case r.Host == "good.test" && strings.Contains(r.URL.Path, "slow"):
			<-r.Context().Done()
		case strings.Contains(r.URL.Path, "nobody"):
			w.WriteHeader(http.StatusNotFound)
		default:
			jsonHandler(w, r)
		}
	})
	// Only the gateway that never answers is left for another one.
	patient := newWeb(t, Config{Timeout: 10 * time.Minute, TryTimeout: 5 * time.Minute, hedgeDelay: time.Hour}, handler)
	hasty := newWeb(t, Config{Timeout: 10 * time.Minute, TryTimeout: 2 * time.Second, hedgeDelay: time.Hour}, handler)
	for _, w := range []*web{patient, hasty} {
		w.dns.answers["second.test"] = [][]netip.Addr{addrs("8.8.8.8")}
		w.dns.answers["their.test"] = [][]netip.Addr{addrs("8.8.4.4")}
	}
	for uri, want := range map[string][]string{
		"ipfs://" + cidV0:                           {"good.test/ipfs/" + cidV0},
		"ipfs://ipfs/" + cidV0 + "/a.json":          {"good.test/ipfs/" + cidV0 + "/a.json"},
		"IPFS://" + cidV1 + "/1?x=y#z":              {"good.test/ipfs/" + cidV1 + "/1"},
		"ipfs:/" + cidV1:                            {"good.test/ipfs/" + cidV1},
		"/ipfs/" + cidV1:                            {"good.test/ipfs/" + cidV1},
		cidV0:                                       {"good.test/ipfs/" + cidV0},
		cidV1 + "/x.json":                           {"good.test/ipfs/" + cidV1 + "/x.json"},
		"ipfs://" + cidV1 + "/../../secret":         {"good.test/ipfs/" + cidV1 + "/secret"},
		"ipfs://" + cidV1 + "/%2e%2e/%2e%2e/secret": {"good.test/ipfs/" + cidV1 + "/secret"},
		"ar://" + arweaveID:                         {"good.test/ar/" + arweaveID},
		"ipfs://" + cidV1 + "/gone":                 {"good.test/ipfs/" + cidV1 + "/gone", "second.test/ipfs/" + cidV1 + "/gone"},
		"ipfs://" + cidV1 + "/challenge":            {"good.test/ipfs/" + cidV1 + "/challenge", "second.test/ipfs/" + cidV1 + "/challenge"},
		"ipfs://" + cidV1 + "/slow":                 {"good.test/ipfs/" + cidV1 + "/slow", "second.test/ipfs/" + cidV1 + "/slow"},
		"http://their.test/ipfs/" + cidV1 + "/a":    {"their.test/ipfs/" + cidV1 + "/a"},
		"http://dead.test/ipfs/" + cidV1 + "/b":     {"good.test/ipfs/" + cidV1 + "/b"},
		"http://" + cidV1 + ".ipfs.dead.test/c":     {"good.test/ipfs/" + cidV1 + "/c"},
		"http://127.0.0.1/ipfs/" + cidV1 + "/d":     {"good.test/ipfs/" + cidV1 + "/d"},
	} {
		seen = nil
		w := patient
		if strings.HasSuffix(uri, "/slow") {
			w = hasty
		}
		w.health = newHealth(time.Now) // one gateway's failure of before changes the order
		_, err := w.FetchJSON(context.Background(), uri)
		require.NoError(t, err, uri)
		mu.Lock()
		require.Equal(t, want, seen, uri)
		mu.Unlock()
	}
	_, err := patient.FetchJSON(context.Background(), "ipfs://"+cidV1+"/nobody")
	require.Equal(t, ClassHTTPStatus, ClassOf(err))
	require.True(t, Retryable(err), "content may yet arrive at a gateway")
	require.Equal(t, "ipfs", patient.Host("ipfs://"+cidV0))
	require.Equal(t, "their.test:80", patient.Host("http://THEIR.test/ipfs/"+cidV1))
	require.Equal(t, "x.test:443", patient.Host("https://x.test/a"))
	require.Empty(t, patient.Host("data:,{}"))
	require.Empty(t, patient.Host("nonsense"))
}

func TestDataURIs(t *testing.T) {
	w := newWeb(t, Config{MaxBytes: 100}, http.HandlerFunc(jsonHandler))
	for uri, want := range map[string]string{
		`data:application/json,{"name":"x"}`: `{"name":"x"}`,
		`data:,%7B%22name%22%3A%22y%22%7D`:   `{"name":"y"}`,
		`data:application/json;charset=utf-8;base64,` + base64.StdEncoding.EncodeToString([]byte(`{"a":1}`)): `{"a":1}`,
		`DATA:;base64,` + base64.RawURLEncoding.EncodeToString([]byte(`{"a":"???>>>"}`)):                     `{"a":"???>>>"}`,
		`data:,{"a":"100%"}`: `{"a":"100%"}`,
	} {
		body, err := w.FetchJSON(context.Background(), uri)
		require.NoError(t, err, uri)
		require.Equal(t, want, string(body))
	}
	_, err := w.FetchJSON(context.Background(), "data:,{"+strings.Repeat(" ", 200)+"}")
	require.Equal(t, ClassTooLarge, ClassOf(err))
	_, err = w.FetchJSON(context.Background(), "data:,"+strings.Repeat("a", 10000))
	require.Equal(t, ClassTooLarge, ClassOf(err))
	require.Empty(t, w.dials())
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"ipfs://" + cidV0, "http://127.0.0.1/", "data:,x", "ar://" + arweaveID, "http://[::ffff:1.2.3.4]:80/", "http://0x7f.1"} {
		f.Add(seed)
	}
	fetcher, err := New(Config{MaxBytes: 1000, AllowPrivate: []string{"127.0.0.1:8090"}}, Deps{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		found, err := fetcher.resolve(uri)
		if err != nil {
			require.Equal(t, true, ClassOf(err) == ClassBadURL || ClassOf(err) == ClassTooLarge)
			return
		}
		if found.data != nil {
			require.LessOrEqual(t, len(found.data.body), 1000)
			return
		}
		require.NotEmpty(t, found.urls)
		for _, u := range found.urls {
			// What is asked for is what was checked, also after the text went through a parser once
			// more.
			again, err := url.Parse(u.String())
			require.NoError(t, err)
			require.Contains(t, []string{"http", "https"}, again.Scheme)
			require.Nil(t, again.User)
			require.False(t, numericHost(again.Hostname()), fmt.Sprint(again))
			require.NotContains(t, again.Path, "/../")
		}
	})
}
