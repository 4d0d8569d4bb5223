package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/mintlake/mintlake/bench/report"
)

const (
	// offered is how many quotes are asked for a second, for offeredTime.
	offered     = 500
	offeredTime = 20 * time.Second

	mostMedian = 2.0  // milliseconds
	mostP99    = 20.0 // milliseconds
)

// latency measures how long a quote over HTTP takes while as many are asked for as clients ask for,
// not as many as there can be. Each is asked for at its time, whether or not those before it are
// answered, and its time counts from then on.
func latency(r *report.Report) error {
	f, err := startAPI(routedPools)
	if err != nil {
		return err
	}
	defer f.stop()
	urls := f.questions()
	body, err := answered(urls)
	if err != nil {
		return err
	}
	paced(urls, offeredTime/4) // opens the connections, and decodes most of the hubs' pools
	taken, failed := paced(urls, offeredTime)
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d quotes failed, the first with %s", len(failed), len(failed)+len(taken), failed[0])
	}
	p50, p99 := median(taken), quantile(taken, 0.99)
	r.Add(report.Figure{
		Name: fmt.Sprintf("quote over %d pools over HTTP, p50", routedPools), Value: p50, Unit: "ms", Goal: fmt.Sprintf("<= %.0f", mostMedian), Met: p50 <= mostMedian,
		Note: fmt.Sprintf("%d bytes; %d quotes and %d account updates a second; client and server share the cores", len(body), offered, updatesPerSecond),
	})
	r.Add(report.Figure{Name: "its p99", Value: p99, Unit: "ms", Goal: fmt.Sprintf("<= %.0f", mostP99), Met: p99 <= mostP99})
	return nil
}

// paced asks for the URLs in turn, offered a second, and returns how many milliseconds each answer
// took, and what came instead of a quote.
func paced(urls []string, lasting time.Duration) (taken []float64, failed []string) {
	client := &fasthttp.Client{MaxConnsPerHost: offered}
	var mu sync.Mutex
	var asked sync.WaitGroup
	began := time.Now()
	for i := range int(lasting.Seconds() * offered) {
		due := began.Add(time.Duration(i) * time.Second / offered)
		time.Sleep(time.Until(due))
		asked.Go(func() {
			status, body, err := client.Get(nil, urls[i%len(urls)])
			took := time.Since(due).Seconds() * 1000
			mu.Lock()
			defer mu.Unlock()
			if err != nil || status != fasthttp.StatusOK {
				failed = append(failed, fmt.Sprintf("%d %s %v", status, body, err))
				return
			}
			taken = append(taken, took)
		})
	}
	asked.Wait()
	return taken, failed
}
