package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// sample is what was seen at one moment.
type sample struct {
	at time.Duration
	// known is true if the node answered. If it did not, the figures are zero.
	known bool
	// lags are the records that wait, by reader; nil when the node did not know.
	lags map[string]float64
	// done counts what each room has finished; it only grows while the process lives.
	done map[string]float64
	// nodeMemory and engineMemory are resident bytes.
	nodeMemory, engineMemory float64
	descriptors, goroutines  float64
	engineDescriptors        float64
	restarts                 float64
	oldestQuery              float64
}

// progress has for each room the metric that shows its progress, and the lag that says whether it
// has work. A room without a lag always has work.
var progress = []struct{ room, metric, lag string }{
	{"ingest", "mintlake_ingest_slot", ""},
	{"projector", "mintlake_projector_records_total", "projector"},
	{"swaps", "mintlake_swaps_legs_total", "swaps"},
}

var client = &http.Client{Timeout: 5 * time.Second}

// look takes a sample.
func (n *node) look(ctx context.Context, at time.Duration) sample {
	s := sample{at: at, done: map[string]float64{}}
	families, err := n.readMetrics(ctx)
	if err != nil {
		return s
	}
	s.lags, _ = n.readLags(ctx) // nil lags say that they are not known
	for _, p := range progress {
		s.done[p.room] = total(families[p.metric])
	}
	s.goroutines = total(families["go_goroutines"])
	s.restarts = total(families["mintlake_embedded_clickhouse_restarts_total"])
	s.oldestQuery = total(families["mintlake_embedded_clickhouse_oldest_query_seconds"])
	s.nodeMemory, s.descriptors = resident(n.pid()), open(n.pid())
	if engine := n.engine(); engine != 0 {
		s.engineMemory, s.engineDescriptors = resident(engine), open(engine)
	}
	s.known = true
	return s
}

func (n *node) get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err == nil && response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	return response, err
}

func (n *node) readMetrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	response, err := n.get(ctx, n.metrics)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read only
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(response.Body)
}

// readLags returns the lags of /status. /status has one lag of all projectors for each topic. The
// topics of swaps and pools give the lag of swaps, the others that of the projector.
func (n *node) readLags(ctx context.Context) (map[string]float64, error) {
	response, err := n.get(ctx, n.api+"/status")
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }() // read only
	var status struct {
		Pipeline struct {
			Topics map[string]struct {
				ProjectorLag float64 `json:"projector_lag"`
				EnrichLag    float64 `json:"enrich_lag"`
				APILag       float64 `json:"api_lag"`
			} `json:"topics"`
		} `json:"pipeline"`
	}
	if err := json.NewDecoder(response.Body).Decode(&status); err != nil {
		return nil, err
	}
	if len(status.Pipeline.Topics) == 0 {
		return nil, fmt.Errorf("%s/status: the lags are not known", n.api)
	}
	sums := map[string]float64{}
	for topic, lags := range status.Pipeline.Topics {
		reader := "projector"
		if topic == "chain.swaps.v1" || topic == "chain.pools.v1" {
			reader = "swaps"
		}
		sums[reader] += lags.ProjectorLag
		sums["enrich"] += lags.EnrichLag
		sums["api"] += lags.APILag
	}
	return sums, nil
}

// total sums a family over its labels.
func total(family *dto.MetricFamily) (sum float64) {
	for _, m := range family.GetMetric() {
		sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
	}
	return sum
}

// resident returns the resident memory of a process in bytes, or 0 if the process is gone.
func resident(pid int) float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if fields := strings.Fields(string(text)); err == nil && len(fields) > 1 {
		pages, _ := strconv.ParseFloat(fields[1], 64) // the kernel writes digits
		return pages * float64(os.Getpagesize())
	}
	return 0
}

// open counts a process' descriptors.
func open(pid int) float64 {
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // of a process that is gone: none
	return float64(len(entries))
}
