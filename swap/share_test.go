package swap

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mintlake/mintlake/access/keys"
	"github.com/mintlake/mintlake/access/proxies"
	"github.com/mintlake/mintlake/internal/testkit/swaptest"
	"github.com/mintlake/mintlake/swap/venue"
)

// TestTurnsGoAround: the search of a client that has just come is next after those that run,
// however many another client has waiting.
func TestTurnsGoAround(t *testing.T) {
	turns := newTurns(1)
	require.NoError(t, turns.take(t.Context(), "flood"))
	var mu sync.Mutex
	var order []string
	var wg sync.WaitGroup
	waits := func(client string, waiting int) {
		wg.Go(func() {
			if turns.take(t.Context(), client) == nil {
				mu.Lock()
				order = append(order, client)
				mu.Unlock()
				turns.give()
			}
		})
		require.Eventually(t, func() bool {
			turns.mu.Lock()
			defer turns.mu.Unlock()
			return len(turns.waiting[client]) == waiting
		}, hang, time.Millisecond)
	}
	for i := range 50 {
		waits("flood", i+1)
	}
	waits("other", 1)
	waits("other", 2)
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() { gone <- turns.take(ctx, "gone") }()
	cancel()
	require.ErrorIs(t, <-gone, context.Canceled)
	turns.give()
	wg.Wait()
	require.Len(t, order, 52)
	require.Equal(t, []string{"flood", "other", "flood", "other", "flood"}, order[:5])
	require.Empty(t, turns.waiting)
	require.Empty(t, turns.order)
	require.Equal(t, 1, turns.free)
}

// TestAKeysFloodDoesNotStopAnother: while one key has all the requests in flight that it may have,
// it is refused, and another key gets its quote.
func TestAKeysFloodDoesNotStopAnother(t *testing.T) {
	f, other := startWithTwo(t, Config{maxInFlight: 8})
	f.quoteOK(t, query(coin, taxed, "1000"))
	release := f.chain.Hold()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { f.do(t, http.MethodGet, query(coin, taxed, "1000"), "") })
	}
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.inFlight) == 4 }, hang, time.Millisecond)
	f.refused(t, http.MethodGet, query(coin, taxed, "1000"), "", http.StatusTooManyRequests, "too many requests in flight")
	alone := *f
	alone.key = other
	answers := make(chan int, 1)
	wg.Go(func() {
		status, _ := alone.do(t, http.MethodGet, query(coin, taxed, "1000"), "")
		answers <- status
	})
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.inFlight) == 5 }, hang, time.Millisecond)
	release()
	wg.Wait()
	require.Equal(t, http.StatusOK, <-answers)
}

// TestAStreamIsRefusedAsAQuoteIs: with 429 if the client alone has too many requests in flight.
func TestAStreamIsRefusedAsAQuoteIs(t *testing.T) {
	f, _ := startWithTwo(t, Config{maxInFlight: 2})
	release := f.chain.Hold()
	var wg sync.WaitGroup
	wg.Go(func() { f.do(t, http.MethodGet, query(coin, taxed, "1000"), "") })
	require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.inFlight) == 1 }, hang, time.Millisecond)
	path := strings.Replace(query(coin, taxed, "1000"), "/quote", "/quote/stream", 1)
	f.refused(t, http.MethodGet, path, "", http.StatusTooManyRequests, "you have too many requests in flight")
	release()
	wg.Wait()
}

// TestClientsBehindAProxyHaveSharesOfTheirOwn: where no key is needed, a client is the address that
// the proxy names.
func TestClientsBehindAProxyHaveSharesOfTheirOwn(t *testing.T) {
	store, err := keys.NewStatic()
	require.NoError(t, err)
	trusted, err := proxies.Parse([]string{"127.0.0.0/8"})
	require.NoError(t, err)
	f := serve(t, Config{maxInFlight: 8, TrustedProxies: trusted}, store, chain())
	release := f.chain.Hold()
	var wg sync.WaitGroup
	statuses := make(chan int, 16)
	ask := func(client string) {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.url+query(coin, taxed, "1000"), http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set(proxies.Header, client)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			statuses <- resp.StatusCode
		})
	}
	inFlight := func(want int) {
		t.Helper()
		require.Eventually(t, func() bool { return testutil.ToFloat64(f.metrics.inFlight) == float64(want) }, hang, time.Millisecond)
	}
	for range 5 {
		ask("10.0.0.1")
	}
	inFlight(4)
	require.Equal(t, http.StatusTooManyRequests, <-statuses)
	ask("10.0.0.2")
	inFlight(5)
	for n := range 5 { // the addresses of one subscriber: two are as many as are free beside them
		ask(fmt.Sprintf("2001:db8::%d", n+1))
	}
	for range 3 {
		require.Equal(t, http.StatusTooManyRequests, <-statuses)
	}
	inFlight(7)
	release()
	wg.Wait()
}

// startWithTwo starts a server with a pool and a second key, which it returns.
func startWithTwo(t testing.TB, cfg Config) (*fixture, string) {
	t.Helper()
	c := chain()
	c.CPMM(swaptest.Pool{Name: "p", Mints: [2]venue.Key{taxed, coin}, Amounts: [2]uint64{1_000_000_000, 1_000_000_000}, TradeRate: 2500})
	first, hash := keys.Generate(keys.Swap)
	second, hash2 := keys.Generate(keys.Swap)
	store, err := keys.NewStatic(keys.Entry{ID: "alice", Product: keys.Swap, Hash: hash}, keys.Entry{ID: "bob", Product: keys.Swap, Hash: hash2})
	require.NoError(t, err)
	f := serve(t, cfg, store, c)
	f.key = first
	return f, second
}

// serve starts a server with the keys of a store.
func serve(t testing.TB, cfg Config, store keys.Store, c *swaptest.Chain) *fixture {
	t.Helper()
	cfg.Addr = "127.0.0.1:0"
	cfg.timeout, cfg.stopTimeout = hang, hang
	cfg.Market.StateTTL = 1
	s, err := New(cfg, Deps{Keys: store, RPC: c, Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	<-s.Ready()
	return &fixture{s, c, "http://" + s.Addr(), "", nil}
}

// BenchmarkFlood is how long a quote takes for one key alone, and while another key sends as many
// requests as it may.
func BenchmarkFlood(b *testing.B) {
	for _, flooding := range []int{0, 200} {
		b.Run(strconv.Itoa(flooding), func(b *testing.B) {
			f, other := startWithTwo(b, Config{})
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: flooding + 1}}
			ask := func(key string) int {
				request, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, f.url+query(coin, taxed, "1000"), http.NoBody)
				request.Header.Set(keyHeader, key)
				response, err := client.Do(request)
				if err != nil {
					return 0
				}
				defer response.Body.Close()
				return response.StatusCode
			}
			ctx, stop := context.WithCancel(b.Context())
			var wg sync.WaitGroup
			for range flooding {
				wg.Go(func() {
					for ctx.Err() == nil {
						ask(f.key)
					}
				})
			}
			var times []time.Duration
			for b.Loop() {
				began := time.Now()
				if status := ask(other); status != http.StatusOK {
					b.Fatal(status)
				}
				times = append(times, time.Since(began))
			}
			stop()
			wg.Wait()
			slices.Sort(times)
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
		})
	}
}
