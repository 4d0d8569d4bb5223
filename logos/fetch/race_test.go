package fetch

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// clock is a clock that stands until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// A gateway that hangs costs the hedge's delay and not its time-out.
func TestASlowGatewayIsOvertaken(t *testing.T) {
	hung := make(chan struct{})
	w := newWeb(t, Config{hedgeDelay: 10 * time.Millisecond, TryTimeout: time.Hour, Timeout: time.Hour}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host == "good.test" {
			close(hung) // it is asked once
			<-r.Context().Done()
			return
		}
		<-hung // on a busy machine the second request may be here before the first
		jsonHandler(w, r)
	}))
	w.dns.answers["second.test"] = [][]netip.Addr{addrs("8.8.8.8")}
	_, err := w.FetchJSON(context.Background(), "ipfs://"+cidV0)
	require.NoError(t, err)
	require.Nil(t, w.health.refuse("good.test:80", "http://good.test/any"), "a loser of the race is not held to have failed")
}

// TestAHostWithBadURLsIsAskedOn: those that hang up are asked again in a row, and what the host has
// is had all the same.
func TestAHostWithBadURLsIsAskedOn(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/good" {
			jsonHandler(w, r)
			return
		}
		panic(http.ErrAbortHandler)
	}))
	bad := func(i int) string { return fmt.Sprint("http://good.test/", i) }
	for i := range 2 * failuresUntilDown {
		_, err := w.FetchJSON(context.Background(), bad(i))
		require.Equal(t, ClassConnection, ClassOf(err))
		_, err = w.FetchJSON(context.Background(), "http://good.test/good")
		require.NoError(t, err)
	}
	for i := range 2 * failuresUntilDown {
		_, err := w.FetchJSON(context.Background(), bad(i))
		require.Equal(t, ClassConnection, ClassOf(err), "it is asked, %d in a row", i)
	}
	_, err := w.FetchJSON(context.Background(), "http://good.test/good")
	require.NoError(t, err)
}

func TestAPausedHostIsLeftAlone(t *testing.T) {
	requests := map[string]int{}
	w := newWeb(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests[r.Host]++
		if requests[r.Host] == 1 && r.Host == "good.test" {
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		jsonHandler(w, r)
	}))
	clock := &clock{at: time.Unix(1e9, 0)}
	w.health.now = clock.now
	_, err := w.FetchJSON(context.Background(), "http://good.test/1")
	require.Equal(t, ClassHTTPStatus, ClassOf(err))
	clock.add(20 * time.Second)
	_, err = w.FetchJSON(context.Background(), "http://good.test/2")
	var failed *Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, ClassHostPaused, failed.Class)
	require.Equal(t, 40*time.Second, failed.RetryAfter)
	require.True(t, Retryable(err))
	require.Equal(t, 1, requests["good.test"])

	// Content behind gateways goes to another one meanwhile.
	w.dns.answers["second.test"] = [][]netip.Addr{addrs("8.8.8.8")}
	_, err = w.FetchJSON(context.Background(), "ipfs://"+cidV0)
	require.NoError(t, err)
	require.Equal(t, map[string]int{"good.test": 1, "second.test": 1}, requests)

	clock.add(40 * time.Second)
	_, err = w.FetchJSON(context.Background(), "http://good.test/2")
	require.NoError(t, err)
}

func TestADeadHostIsTriedLessAndLess(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := w.(http.Hijacker).Hijack()
		_ = conn.Close()
	}))
	clock := &clock{at: time.Unix(1e9, 0)}
	w.health.now = clock.now
	classes := map[Class]int{}
	for range 100 {
		_, err := w.FetchJSON(context.Background(), "http://good.test/x")
		classes[ClassOf(err)]++
	}
	require.Equal(t, map[Class]int{ClassConnection: failuresUntilDown, ClassHostDown: 100 - failuresUntilDown}, classes)
	for _, wait := range []time.Duration{firstDown, 2 * firstDown, 4 * firstDown} {
		clock.add(wait)
		_, err := w.FetchJSON(context.Background(), "http://good.test/x")
		require.Equal(t, ClassConnection, ClassOf(err), "one trial after each wait")
		_, err = w.FetchJSON(context.Background(), "http://good.test/x")
		require.Equal(t, ClassHostDown, ClassOf(err))
	}
}

func TestConditionalRequests(t *testing.T) {
	w := newWeb(t, Config{}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
		if r.Header.Get("If-None-Match") == `"v1"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		jsonHandler(w, r)
	}))
	first, err := w.Do(context.Background(), Request{URI: "http://good.test/"})
	require.NoError(t, err)
	require.Equal(t, []string{`"v1"`, "Mon, 02 Jan 2006 15:04:05 GMT"}, []string{first.ETag, first.LastModified})
	again, err := w.Do(context.Background(), Request{URI: "http://good.test/", ETag: first.ETag, LastModified: first.LastModified})
	require.NoError(t, err)
	require.True(t, again.NotModified)
	require.Empty(t, again.Body)
	other, err := w.Do(context.Background(), Request{URI: "http://good.test/", ETag: `"v0"`})
	require.NoError(t, err)
	require.Equal(t, first.Body, other.Body)
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"7": 7 * time.Second, "99999": time.Hour, "-1": 0, "soon": 0, "": 0,
		"Fri, 20 Nov 2026 12:00:30 GMT": 30 * time.Second, "Fri, 20 Nov 2020 12:00:30 GMT": 0, "Fri, 20 Nov 2027 12:00:30 GMT": time.Hour,
	} {
		require.Equal(t, want, retryAfter(http.Header{"Retry-After": {text}}, now), text)
	}
}
