package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mr-tron/base58"
	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/internal/testkit/apitest"
)

// result has the delays of all requests that one load sent.
type result struct {
	times   []time.Duration // sorted
	failed  int
	elapsed time.Duration
}

func (r *result) perSecond() float64 { return float64(len(r.times)) / r.elapsed.Seconds() }

// p returns a percentile of the delays; the greatest duration if there are none.
func (r *result) p(percent float64) time.Duration {
	if len(r.times) == 0 {
		return math.MaxInt64
	}
	return r.times[min(len(r.times)-1, int(float64(len(r.times))*percent/100))]
}

// String shows some percentiles and the failures.
func (r *result) String() string {
	return fmt.Sprintf("p50 %.2f, p99 %.2f, max %.2f ms, %d failed", milliseconds(r.p(50)), milliseconds(r.p(99)), milliseconds(r.p(100)), r.failed)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// better returns the result with fewer failures, then with the lower p99. a may be nil.
func better(a, b *result) *result {
	if a == nil || b.failed < a.failed || b.failed == a.failed && b.p(99) < a.p(99) {
		return b
	}
	return a
}

// ask sends one request: GET path, or POST if path is a path, a space and a body. prepare may
// change the request, look reads the response; both may be nil.
func ask(client *fasthttp.HostClient, base, path string, look func(*fasthttp.Response), prepare func(*fasthttp.Request)) error {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	if where, body, post := strings.Cut(path, " "); post {
		request.SetRequestURI(base + where)
		request.Header.SetMethod(fasthttp.MethodPost)
		request.Header.SetContentType("application/json")
		request.SetBodyString(body)
	} else {
		request.SetRequestURI(base + path)
	}
	if prepare != nil {
		prepare(request)
	}
	if err := client.DoTimeout(request, response, 10*time.Second); err != nil {
		return err
	}
	if response.StatusCode() != fasthttp.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode())
	}
	if look != nil {
		look(response)
	}
	return nil
}

func clientOf(url string, connections int) *fasthttp.HostClient {
	return &fasthttp.HostClient{Addr: strings.TrimPrefix(url, "http://"), MaxConns: connections, MaxIdleConnDuration: time.Minute, NoDefaultUserAgentHeader: true}
}

// closedLoop asks on each connection as soon as the answer before has come.
func closedLoop(url string, paths []string, connections int, length time.Duration) *result {
	client := clientOf(url, connections)
	var group sync.WaitGroup
	var mu sync.Mutex
	var r result
	begin := time.Now()
	for worker := range connections {
		group.Go(func() {
			var times []time.Duration
			failed := 0
			for i := worker; time.Since(begin) < length; i++ {
				at := time.Now()
				if ask(client, url, paths[i%len(paths)], nil, nil) != nil {
					failed++
					continue
				}
				times = append(times, time.Since(at))
			}
			mu.Lock()
			defer mu.Unlock()
			r.times = append(r.times, times...)
			r.failed += failed
		})
	}
	group.Wait()
	r.elapsed = time.Since(begin)
	slices.Sort(r.times)
	client.CloseIdleConnections()
	return &r
}

// openLoop asks at a fixed rate, however late answers are. A delay counts from when the request was
// due.
func openLoop(url string, paths []string, perSecond int, length time.Duration) *result {
	client := clientOf(url, 1024)
	var group sync.WaitGroup
	var failed atomic.Int64
	count := perSecond * int(length/time.Second)
	times := make([]time.Duration, count)
	begin := time.Now()
	for i := range count {
		due := begin.Add(time.Duration(i) * time.Second / time.Duration(perSecond))
		time.Sleep(time.Until(due))
		group.Go(func() {
			if ask(client, url, paths[i%len(paths)], nil, nil) != nil {
				failed.Add(1)
			}
			times[i] = time.Since(due)
		})
	}
	group.Wait()
	client.CloseIdleConnections()
	return newResult(times, int(failed.Load()), time.Since(begin))
}

// meanSize is the mean length of the bodies.
func meanSize(url string, paths []string) (int, error) {
	client := clientOf(url, 1)
	total, n := 0, min(len(paths), 200)
	for _, path := range paths[:n] {
		size := 0
		if err := ask(client, url, path, func(r *fasthttp.Response) { size = len(r.Body()) }, nil); err != nil {
			return 0, fmt.Errorf("ask the node: %w", err)
		}
		total += size
	}
	return total / n, nil
}

// searches are queries of all kinds (empty, symbol, name, mint), for twenty rows each, as a wallet
// shows them.
func searches() []string {
	var paths []string
	for i := range 1_000 {
		text := []string{"", fmt.Sprint("SYM", i), fmt.Sprint("sym", i%100), fmt.Sprint("name%20of%20token%20", i%100), mint(i)}[i%5]
		paths = append(paths, "/tokens?limit=20&q="+text)
	}
	return paths
}

func mint(i int) string { return base58.Encode(apitest.Mint(i)) }

// lookups are requests for mints of the registry. They leave out number 0, in whose place
// bench/server puts another mint.
func lookups(tokens int) []string {
	paths := make([]string, 10_000)
	for i := range paths {
		paths[i] = "/tokens/" + mint(1+i*7919%(tokens-1))
	}
	return paths
}

// batches are bodies of 500 mints.
func batches(tokens int) []string {
	paths := make([]string, 50)
	for b := range paths {
		mints := make([]string, 500)
		for i := range mints {
			mints[i] = mint(1 + (b*500+i)*104_729%(tokens-1))
		}
		body, _ := json.Marshal(map[string][]string{"mints": mints}) // strings
		paths[b] = "/tokens/batch " + string(body)
	}
	return paths
}

func newResult(times []time.Duration, failed int, elapsed time.Duration) *result {
	slices.Sort(times)
	return &result{times: times, failed: failed, elapsed: elapsed}
}
