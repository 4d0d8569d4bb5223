package jsonrpc

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailsOverAndPrefersTheFirst(t *testing.T) {
	for name, trouble := range map[string]func(http.ResponseWriter, string){
		"502":     fails(http.StatusBadGateway),
		"429":     fails(http.StatusTooManyRequests),
		"our key": fails(http.StatusUnauthorized),
		"redirect": func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", "http://x")
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"html":       says("<html>"),
		"hang up":    func(http.ResponseWriter, string) { panic(http.ErrAbortHandler) },
		"unhealthy":  says(`{"jsonrpc":"2.0","error":{"code":-32005,"message":"behind"},"id":1}`),
		"cut off":    func(w http.ResponseWriter, _ string) { w.Header().Set("Content-Length", "99"); fmt.Fprint(w, "{") },
		slowToAnswer: nil,
	} {
		t.Run(name, func(t *testing.T) {
			var healthy atomic.Bool
			healthy.Store(true)
			recovered := make(chan struct{})
			recovers := sync.OnceFunc(func() { healthy.Store(true); close(recovered) })
			if trouble == nil {
				trouble = func(http.ResponseWriter, string) { <-recovered }
			}
			first := newNode(t, func(w http.ResponseWriter, body string) {
				if healthy.Load() {
					fmt.Fprint(w, slot7)
					return
				}
				trouble(w, body)
			})
			second := newNode(t, says(`{"jsonrpc":"2.0","result":8,"id":1}`))
			t.Cleanup(recovers)
			cfg := Config{Upstreams: []string{first.URL, second.URL}, probeInterval: 300 * time.Millisecond}
			if name == slowToAnswer {
				cfg.attemptTimeout = 100 * time.Millisecond
			}
			key, store := oneKey(t)
			f := startThrough(t, cfg, store, &patient{hangs: func(host string) bool { return !healthy.Load() && first.URL == "http://"+host }})
			f.key = key
			_, body := f.post(t, getSlot(1))
			require.Contains(t, body, "7")
			healthy.Store(false)
			for range 5 {
				status, body := f.post(t, getSlot(1))
				require.Equal(t, http.StatusOK, status)
				require.Contains(t, body, "8")
			}
			require.LessOrEqual(t, first.calls(), 1+breakerFailures, "a server in trouble is asked by polls only")
			recovers()
			require.Eventually(t, func() bool {
				_, body := f.post(t, getSlot(1))
				return strings.Contains(body, "7")
			}, 2*time.Minute, 20*time.Millisecond)
		})
	}
}

// slowToAnswer is the trouble of a server that says nothing.
const slowToAnswer = "slow to come"

// patient is a transport that ends only the calls of who hangs: what will be answered is waited
// for, however slow the machine is.
type patient struct{ hangs func(host string) bool }

func (p *patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if !p.hangs(r.URL.Host) {
		r = r.WithContext(context.WithoutCancel(r.Context()))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestAnOldAnswerSaysNothingOfNow: a call whose answer was on its way when the breaker opened does
// not make the upstream look well.
func TestAnOldAnswerSaysNothingOfNow(t *testing.T) {
	p, err := newPool(Config{Upstreams: []string{"http://127.0.0.1:1"}, probeInterval: time.Hour, MaxLagSlots: 25}, nil, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	u := p.upstreams[0]
	_, old := u.allow()
	for range breakerFailures {
		allowed, done := u.allow()
		require.True(t, allowed)
		done(errUnhealthy)
	}
	require.True(t, u.broken())
	old(nil)
	require.True(t, u.broken())
	require.Zero(t, p.wellCount())
}

func TestErrorsOfTheCallAreAnswers(t *testing.T) {
	for _, status := range []int{200, 400} {
		n := newNode(t, func(w http.ResponseWriter, _ string) {
			w.WriteHeader(status)
			fmt.Fprint(w, `{"jsonrpc":"2.0","error":{"code":-32602,"message":"bad"},"id":1}`)
		})
		other := newNode(t, says(slot7))
		f := start(t, Config{Upstreams: []string{n.URL, other.URL}})
		_, body := f.post(t, getSlot(1))
		require.Contains(t, body, "-32602")
		require.Zero(t, other.calls())
	}
}

func TestAllUpstreamsAway(t *testing.T) {
	const dead = "http://127.0.0.1:1" // a port that no other test's server can have
	n := newNode(t, fails(http.StatusServiceUnavailable))
	f := start(t, Config{Upstreams: []string{dead + "/S3CRET", n.URL + "?apiKey=S3CRET"}})
	status, body := f.post(t, getSlot(4))
	require.Equal(t, http.StatusBadGateway, status)
	require.JSONEq(t, `{"jsonrpc":"2.0","error":{"code":-32005,"message":"no upstream is available: 2 configured, none answered; try again"},"id":4}`, body)
	require.Eventually(t, func() bool {
		resp, err := http.Get(f.url + "/readyz")
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode == http.StatusServiceUnavailable && strings.Contains(string(body), `"reason":"no upstream well"`)
	}, time.Minute, 20*time.Millisecond)
	require.Contains(t, f.log.String(), "in trouble")
	require.NotContains(t, f.log.String(), "S3CRET")

	f = start(t, Config{})
	status, body = f.post(t, getSlot(4))
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, body, "--rpc-upstream")
	require.Contains(t, body, `"id":4`)
}

func TestTheNodesOwnWordsWhenAllAreUnhealthy(t *testing.T) {
	n := newNode(t, says(`{"jsonrpc":"2.0","error":{"code":-32005,"message":"behind by 42 slots"},"id":1}`))
	f := start(t, Config{Upstreams: []string{n.URL, n.URL}})
	_, body := f.post(t, getSlot(1))
	require.Contains(t, body, "behind by 42 slots")
}

func TestAirdropsAreNotRepeatedTransactionsAre(t *testing.T) {
	for method, want := range map[string]int{"requestAirdrop": 0, "sendTransaction": 1} {
		first := newNode(t, func(w http.ResponseWriter, body string) {
			if isPoll(body) {
				fmt.Fprint(w, slot7)
				return
			}
			panic(http.ErrAbortHandler) // it may well have taken it
		})
		second := newNode(t, says(slot7))
		f := start(t, Config{Upstreams: []string{first.URL, second.URL}})
		f.post(t, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":["x"]}`)
		require.Equal(t, want, second.calls(), method)
	}
}
